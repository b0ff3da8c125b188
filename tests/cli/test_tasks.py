"""The tasks of a run, from its flags to scores on disk; with lm-eval's own gsm8k."""

import json
from pathlib import Path
from typing import Any

import pytest

from linattn_verify.cli.folder import RunFolder
from linattn_verify.cli.tasks import Tasks, load
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.profile import load_profile
from linattn_verify.configs.request import Request, overridden
from linattn_verify.configs.tasks import TaskShape
from linattn_verify.tasks.data import as_data_set, gsm8k_rows
from linattn_verify.traces.schema import RequestRecord, TraceRecord
from linattn_verify.traces.store import Trace, read_scores, read_trace, write_trace

QUESTIONS = {"train": [("3 and 4?", "#### 7")], "test": [("9 and 4?", "#### 13"), ("2?", "#### 2")]}
LENGTHS = (61, 55)
"""Bytes of the two prompts with one example."""


class Bytes:
    """A tokenizer whose tokens are bytes."""

    eos_token: str | None = None
    eos_token_id: int | None = None

    def encode(self, texts: list[str], special_tokens: bool) -> list[tuple[int, ...]]:
        return [tuple(text.encode()) for text in texts]

    def chat(self, messages: list[dict[str, str]], generation_prompt: bool) -> str:
        return "|".join(turn["content"] for turn in messages)


class Spoilt(dict[str, str]):
    """A pipeline that remembers what was spoilt, and why."""

    def spoil(self, scenario: str, why: str) -> None:
        self[scenario] = why


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for split, pairs in QUESTIONS.items():
        rows = [json.dumps({"question": q, "answer": a}) for q, a in pairs]
        (folder / f"{split}.jsonl").write_text("\n".join(rows))
    return folder


def request(model: str = "pocket", limit: int | None = None, **changes: Any) -> Request:
    rules = {"limit": limit, "num_fewshot": 1, "max_gen_toks": 11}
    return Request(model=model, profile=overridden(load_profile("quick"), task=rules), **changes)


def tasks_of(asked: Request) -> Tasks:
    return Tasks(asked, load(asked), Bytes())


def trace(folder: Path, outputs: list[str], table: Any = "answers") -> Trace:
    """Of a scenario that answered so."""
    records = [
        RequestRecord(request=i, leg=Leg.ANSWER, prompt_tokens=61, output_tokens=2,
                      cached_tokens=0, slices=(), finish_reason="stop")
        for i in range(len(outputs))
    ]  # fmt: skip
    record = TraceRecord(
        table=table, scenario="made", engine="plain", budget=37, largest_step=31,
        prefix_caching=False, block_size=16, logits_dtype="bfloat16", requests=tuple(records),
        pool_blocks=50, allocated_blocks=3, seconds=1,
    )  # fmt: skip
    rows: list[dict[str, object]] = [
        {"request": i, "output": output, "tokens": [5, 6], "logprobs": [-0.5, -0.25],
         "runners_up": [-1.5, -2.5]}
        for i, output in enumerate(outputs)
    ]  # fmt: skip
    path = folder / "made.parquet"
    write_trace(path, record, rows if table == "answers" else [])
    return read_trace(path)


def test_a_plan_learns_the_lengths_of_every_request(data: Path) -> None:
    tasks = tasks_of(request(gsm8k_data=data))
    assert tasks.shapes() == (TaskShape(name="gsm8k", lengths=LENGTHS, outputs=(11, 11)),)


def test_the_rules_of_the_profile_reach_the_task(data: Path) -> None:
    (first,) = tasks_of(request(gsm8k_data=data, limit=1)).requests["gsm8k"]
    assert bytes(first.token_ids).decode() == (
        "Question: 3 and 4?\nAnswer: #### 7\n\nQuestion: 9 and 4?\nAnswer:"
    )
    assert first.max_tokens == 11
    assert "Question:" in first.until


def test_the_flags_about_chat_reach_the_task(data: Path) -> None:
    asked = request(limit=1, gsm8k_data=data, chat_template=True, enable_thinking=True)
    (first,) = tasks_of(asked).requests["gsm8k"]
    assert bytes(first.token_ids).decode() == (
        "Question: 3 and 4?\nAnswer:|#### 7|Question: 9 and 4?\nAnswer:"
    )
    assert first.until == ()


def test_an_embedded_model_is_asked_its_own_kind_of_problem() -> None:
    (first,) = tasks_of(request(limit=1)).requests["gsm8k"]
    (example, asked) = bytes(first.token_ids).decode().split("\n\n")
    assert "How many" in example and "How many" in asked


def test_a_folder_goes_before_the_pocket_models_problems(data: Path) -> None:
    tasks = tasks_of(request("pocket", gsm8k_data=data))
    assert len(tasks.requests["gsm8k"]) == 2


SOURCES = {
    "folder": ("made", True, None),
    "folder-for-the-pocket-model": ("pocket", True, None),
    "pocket": ("pocket", False, "the pocket model's problems"),
    "random": ("random", False, "the pocket model's problems"),
    "hub": ("made", False, "hub"),
}


@pytest.mark.parametrize(("model", "given", "said"), SOURCES.values(), ids=SOURCES.keys())
def test_the_report_says_what_was_asked_and_from_where(
    data: Path, monkeypatch: pytest.MonkeyPatch, model: str, given: bool, said: str | None
) -> None:
    monkeypatch.setattr("datasets.load_dataset", as_data_set(gsm8k_rows(data)))
    asked = request(model, limit=2, gsm8k_data=data if given else None)
    (told,) = tasks_of(asked).asked(asked)
    assert told.data == (said or str(data))
    assert (told.name, told.requests, told.num_fewshot, told.max_gen_toks) == ("gsm8k", 2, 1, 11)
    assert (told.chat_template, told.thinking) == (False, False)
    if said in (None, "hub"):
        assert told.tokens == sum(LENGTHS)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    (tmp_path / "run").mkdir()
    return RunFolder(tmp_path / "run")


def test_the_scores_of_every_scenario_that_answered_are_on_disk(
    data: Path, run: RunFolder, tmp_path: Path
) -> None:
    tasks, spoilt = tasks_of(request(gsm8k_data=data)), Spoilt()
    pipeline: Any = spoilt
    traces = {
        "full": trace(tmp_path, [], "positions"),
        "gsm8k/full": trace(tmp_path, ["#### 13", "#### 2"]),
        "gsm8k/warm": trace(tmp_path, ["#### 12", "so"]),
    }
    scores = tasks.score(pipeline, traces, run)
    assert spoilt == {}
    strict = {n: list(s[s["filter"] == "strict-match"]["score"]) for n, s in scores.items()}
    assert strict == {"gsm8k/full": [1, 1], "gsm8k/warm": [0, 0]}
    for name, found in scores.items():
        assert read_scores(run.scores(name)).equals(found)
    assert len(list((run.path / "scores").iterdir())) == 2


def test_answers_that_cannot_be_scored_spoil_their_scenario_alone(
    data: Path, run: RunFolder, tmp_path: Path
) -> None:
    tasks, spoilt = tasks_of(request(gsm8k_data=data)), Spoilt()
    pipeline: Any = spoilt
    traces = {
        "gsm8k/full": trace(tmp_path, ["#### 13"]),  # one answer to two requests
        "gsm8k/warm": trace(tmp_path, ["#### 13", "so"]),
    }
    assert set(tasks.score(pipeline, traces, run)) == {"gsm8k/warm"}
    assert list(spoilt) == ["gsm8k/full"]
    assert "could not be scored: 1 answers to 2 requests" in spoilt["gsm8k/full"]
