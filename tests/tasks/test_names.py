"""Which tasks there are, and with how many examples they are asked."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import lm_eval.tasks
import pytest
from lm_eval.defaults import DEFAULT_OTHER_SEED
from lm_eval.tasks import TaskManager

from linattn_verify.configs.errors import UsageError
from linattn_verify.tasks.loading import load_tasks, reset_examples
from tests.tasks.fakes import ROWS, SUMS, asked, text

if TYPE_CHECKING:
    from tests.tasks.conftest import Defined


def refusal(*names: str) -> str:
    with pytest.raises(UsageError) as caught:
        load_tasks(names, ROWS, None)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("gsm8", "gsm8k"), ("gsm8k_cott", "gsm8k_cot"), ("hellaswg", "hellaswag")],
)
def test_an_unknown_task_names_the_nearest(quick: None, name: str, meant: str) -> None:
    text = refusal("gsm8k", name)
    assert f"Unknown task {name!r} in --task. Did you mean {meant!r}?" in text
    assert len(text) < 2000  # not all of the thousands


@pytest.mark.parametrize("name", ["../tasks/gsm8k", "gsm8k/gsm8k.yaml", "", "*"])
def test_a_path_or_a_pattern_is_no_task(quick: None, name: str) -> None:
    assert f"Unknown task {name!r} in --task." in refusal(name)


def test_a_folder_somewhere_else_is_not_looked_into(
    every_task: TaskManager, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def manager(**named: Any) -> TaskManager:
        assert named == {}
        return every_task

    monkeypatch.setattr(lm_eval.tasks, "TaskManager", manager)
    assert "Unknown task" in refusal(str(tmp_path))


@pytest.mark.parametrize("missing", ["lm_eval", "datasets"])
def test_without_lm_eval_the_way_to_it_is_told(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    for name in [n for n in sys.modules if n.split(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    text = refusal("gsm8k")
    assert "lm-eval is not installed" in text
    assert "pip install 'linattn-verify[gsm8k]'" in text
    assert "--skip task_score" in text


EXAMPLES = {
    # the task's own number, the flag, what is asked
    "none-given": (5, None, 5),
    "fewer": (5, 2, 2),
    "no-example": (5, 0, 0),
    "a-task-without-a-number": (None, 3, 3),
    "neither": (None, None, 0),
    "a-task-that-wants-none": (0, 3, 0),
}


@pytest.mark.parametrize(("own", "given", "expected"), EXAMPLES.values(), ids=EXAMPLES.keys())
def test_the_number_of_examples(
    defined: "Defined", own: int | None, given: int | None, expected: int
) -> None:
    defined(**{**SUMS, "num_fewshot": own})
    assert load_tasks(("sums",), ROWS, given)["sums"].get_config("num_fewshot") == expected


def test_examples_of_the_task_are_first_come_first_served_and_run_out(quick: None) -> None:
    two = load_tasks(("gsm8k_cot",), ROWS, 2)["gsm8k_cot"]
    first, *_ = asked(two).collect()
    assert text(first.token_ids).count("The answer is") == 2
    with pytest.raises(UsageError, match=r"exceeds the 8 that are available(.|\n)*--num-fewshot"):
        asked(load_tasks(("gsm8k_cot",), ROWS, 9)["gsm8k_cot"]).collect()


def test_the_seed_of_the_examples_is_lm_evals_own() -> None:
    seeds: list[int] = []
    reset_examples(SimpleNamespace(set_fewshot_seed=lambda seed: seeds.append(seed)))
    assert seeds == [DEFAULT_OTHER_SEED]
