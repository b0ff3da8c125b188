"""Tasks from the lm-eval that is installed, about the hub's data and about ours."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import datasets
import pytest

from linattn_verify.configs.errors import UsageError
from linattn_verify.tasks.data import as_data_set
from linattn_verify.tasks.loading import load_tasks
from tests.tasks.fakes import ROWS, SUMS, asked, text

if TYPE_CHECKING:
    from tests.tasks.conftest import Defined


def test_gsm8k_with_own_questions_needs_neither_network_nor_all_definitions(
    hub: list[str], folder_only: None
) -> None:
    task = load_tasks(("gsm8k",), ROWS, None)["gsm8k"]
    assert list(task.test_docs()) == ROWS["test"]
    assert list(task.fewshot_docs()) == ROWS["train"]
    assert task.get_config("num_fewshot") == 5
    assert hub == []


def test_gsm8k_cot_with_own_questions_has_its_own_examples(hub: list[str], quick: None) -> None:
    loaded = load_tasks(("gsm8k", "gsm8k_cot"), ROWS, None)
    assert list(loaded) == ["gsm8k", "gsm8k_cot"]
    first, *_ = asked(loaded["gsm8k_cot"]).collect()
    prompt = text(first.token_ids)
    assert prompt.startswith("Q: There are 15 trees in the grove.")
    assert prompt.count("The answer is") == 8
    assert prompt.endswith("\n\nQ: Three and ten?\nA:")
    assert hub == []


def test_other_data_is_not_replaced_and_told_from_where_it_comes(
    hub: list[str], quick: None
) -> None:
    with pytest.raises(UsageError) as caught:
        load_tasks(("arc_easy",), ROWS, None)
    said = str(caught.value)
    assert hub == ["allenai/ai2_arc"]
    assert "Task 'arc_easy' cannot be loaded: Couldn't reach 'allenai/ai2_arc'\n" in said
    assert "Its data comes from the Hugging Face hub" in said
    assert "--gsm8k-data" not in said
    assert "--skip task_score" in said


def test_gsm8k_without_own_questions_comes_from_the_hub(hub: list[str], folder_only: None) -> None:
    with pytest.raises(UsageError, match="Task 'gsm8k' cannot be loaded"):
        load_tasks(("gsm8k",), None, None)
    assert hub == ["openai/gsm8k"]


OFFLINE = """
from linattn_verify.configs.errors import UsageError
from linattn_verify.tasks.data import as_data_set
from linattn_verify.tasks.loading import load_tasks

try:
    load_tasks(("gsm8k",), None, None)
except UsageError as error:
    print(error)
"""


def test_without_network_and_cache_all_ways_on_are_in_one_message(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", OFFLINE],
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1",
             "HF_DATASETS_OFFLINE": "1", "HF_DATASETS_CACHE": str(tmp_path / "datasets")},
        timeout=120,
    )  # fmt: skip
    assert ended.stdout.startswith("Task 'gsm8k' cannot be loaded: "), ended.stderr
    for way in ("network or a filled cache", "--gsm8k-data DIR with train.jsonl and test.jsonl",
                "--skip task_score"):  # fmt: skip
        assert way in ended.stdout
    assert ended.stderr == ""


def test_a_definition_may_include_another_and_functions(
    defined: "Defined", hub: list[str], tmp_path: Path
) -> None:
    (tmp_path / "base").write_text(json.dumps(SUMS))  # YAML, too
    (tmp_path / "words.py").write_text("def loud(row):\n    return row['question'].upper()\n")
    (tmp_path / "sums.yaml").write_text(
        "task: loud_sums\ninclude: base\ndoc_to_text: !function words.loud\n"
    )
    defined()
    first, *_ = asked(load_tasks(("loud_sums",), ROWS, 0)["loud_sums"]).collect()
    assert text(first.token_ids) == "THREE AND TEN?"
    assert hub == []


def test_whether_questions_were_replaced(
    defined: "Defined", monkeypatch: pytest.MonkeyPatch
) -> None:
    defined(**SUMS)
    assert asked(load_tasks(("sums",), ROWS, None)["sums"]).replaced
    data = as_data_set(ROWS)
    monkeypatch.setattr(datasets, "load_dataset", data)
    assert not asked(load_tasks(("sums",), None, None)["sums"]).replaced
    defined(**{**SUMS, "dataset_path": "another/gsm8k"})
    assert not asked(load_tasks(("sums",), ROWS, None)["sums"]).replaced
