"""A task on the real engine: what is served, what is proven, and when a score proves nothing."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from linattn_verify.tasks.data import pocket_rows
from linattn_verify.traces.store import Trace, read_scores, read_trace
from tests.conftest import OUTPUTS_ONLY, Invocation, invoke

pytestmark = pytest.mark.engine
BUDGETS = (512, 256, 128, 100)
QUESTIONS = 100


def trace(run: Invocation, scenario: str) -> Trace:
    return read_trace(run.folder / f"traces/gsm8k-{scenario}.parquet")


def test_the_trained_model_has_a_score_to_lose(clean_run: Invocation) -> None:
    scores = clean_run.check("task_score", "gsm8k/full")["scores"]
    assert [s["filter"] for s in scores] == ["strict-match", "flexible-extract"]
    assert all(s["questions"] == QUESTIONS and s["score"] >= 0.8 for s in scores)


def test_every_prompt_spans_several_chunks(clean_run: Invocation) -> None:
    lengths = [r.prompt_tokens for r in trace(clean_run, "full").record.requests]
    assert len(lengths) == QUESTIONS and min(lengths) >= 600
    for budget in BUDGETS:
        record = trace(clean_run, f"chunked@{budget}").record
        assert min(len(r.prefill()) for r in record.requests) >= 2
        assert 0 < record.largest_step <= budget


def test_the_reference_prefills_every_prompt_in_one_step(clean_run: Invocation) -> None:
    record = trace(clean_run, "full").record
    assert {len(r.prefill()) for r in record.requests} == {1}


def test_cold_is_cold_though_the_prompts_share_their_examples(clean_run: Invocation) -> None:
    prompts = json.loads((clean_run.folder / "tasks/gsm8k.json").read_text())
    assert len({tuple(p["token_ids"][:3]) for p in prompts}) < len(prompts)
    assert {r.cached_tokens for r in trace(clean_run, "cold").record.requests} == {0}
    for scenario in ("warm", "warm-2"):
        record = trace(clean_run, scenario).record
        assert [r.cached_tokens for r in record.requests] == [
            (r.prompt_tokens - 1) // record.block_size * record.block_size for r in record.requests
        ]


def test_answers_end_by_themselves_and_are_scored_one_by_one(clean_run: Invocation) -> None:
    for scenario in ("full", "chunked@100", "warm-2"):
        answers = trace(clean_run, scenario)
        assert {r.finish_reason for r in answers.record.requests} == {"stop"}
        assert answers.rows["output"].str.contains("#### ").mean() > 0.95
        scores = read_scores(clean_run.folder / f"scores/gsm8k-{scenario}.parquet")
        strict = scores[scores["filter"] == "strict-match"]
        assert list(strict["question"]) == list(range(QUESTIONS))
        assert all(agrees(row) for row in strict.to_dict("records"))


def agrees(row: Mapping[Any, object]) -> bool:
    """Whether lm-eval's score is what comparing the numbers by hand gives."""
    return (str(row["answer"]) == str(row["target"]).rsplit("#### ", 1)[1]) == (row["score"] == 1)


def test_every_difference_is_made_of_the_two_outputs(clean_run: Invocation) -> None:
    theirs = trace(clean_run, "full").rows.set_index("request")["output"]
    for budget in BUDGETS:
        ours = trace(clean_run, f"chunked@{budget}").rows.set_index("request")["output"]
        same: pd.Series = ours == theirs
        flips = clean_run.check("task_score", f"gsm8k/chunked@{budget}")["flips"]
        assert {f["question"] for f in flips} <= set(same.index[~same])


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Invocation:
    """Seven questions from a folder: too few for any margin."""
    folder = tmp_path_factory.mktemp("few")
    for split, rows in pocket_rows().items():
        lines = [json.dumps(row) + "\n" for row in rows[100:107]]
        (folder / f"{split}.jsonl").write_text("".join(lines))
    flags = ["--only", "task_score", "--budgets", "100", "--num-fewshot", "3"]
    return invoke(folder / "run", *flags, "--gsm8k-data", str(folder))


def test_too_few_questions_are_inconclusive(few: Invocation) -> None:
    assert few.code == 3, few.out + few.err
    assert few.report["verdict"] == "INCONCLUSIVE"
    check = few.check("task_score", "gsm8k/chunked@100")
    paired = check["scores"][0]["paired"]
    assert check["verdict"] == "INCONCLUSIVE"
    assert paired["questions_needed"] > 7 and str(paired["questions_needed"]) in check["message"]


@pytest.mark.slow
def test_random_weights_prove_nothing(tmp_path: Path) -> None:
    run = invoke(
        tmp_path / "run",
        *("--model", "random", "--limit", "12", "--max-gen-toks", "24", "--budgets", "256"),
        *OUTPUTS_ONLY,
    )
    assert run.code == 3, run.out + run.err
    assert run.report["verdict"] == "VACUOUS"
    for scenario in ("gsm8k/full", "gsm8k/chunked@256", "gsm8k/warm-2"):
        check = run.check("task_score", scenario)
        assert check["verdict"] == "VACUOUS", check
        assert "reference" in check["message"] and "--" in check["message"]
    # The log-probabilities say what the score cannot; the shape is that of Qwen3.5-0.8B.
    assert run.report["model"]["architecture"] == "Qwen3_5ForConditionalGeneration"
    assert run.check("chunked_prefill", "chunked@256")["verdict"] == "PASS"
    rows = read_trace(run.folder / "traces/chunked@256.parquet").rows
    decode = rows[rows["leg"] == "decode"]
    assert (decode["logprob"] < -0.1).all()  # forced logits would give 0
    assert (decode["rank"] > 1).any()  # a near-tie that the reference took the other way


def test_questions_come_from_the_folder_that_was_given(few: Invocation) -> None:
    texts = read_scores(few.folder / "scores/gsm8k-full.parquet")["text"]
    first = pocket_rows()["test"][100]["question"]
    assert len(texts) == 2 * 7 and texts.iloc[0] == f"Question: {first}\nAnswer:"
    (asked,) = few.report["workload"]["tasks"]
    assert (asked["num_fewshot"], asked["requests"]) == (3, 7)
    assert asked["data"].endswith(few.folder.parent.name)
