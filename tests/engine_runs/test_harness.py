"""Our door to lm-eval against lm-eval's own HF backend: same model, same prompts, same scores."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from linattn_verify.cli.pipeline import engine_environment
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Scenario
from linattn_verify.engine.messages import Load, Prepare, Prepared, Serve
from linattn_verify.engine.process import EngineProcess
from linattn_verify.engine.tokenizer import RemoteTokenizer
from linattn_verify.tasks.harness import Harness, answers_of
from linattn_verify.tasks.request import Answer, TaskRequest
from linattn_verify.traces.store import read_trace
from linattn_verify.workloads.pocket.checkpoint import pocket_checkpoint
from linattn_verify.workloads.prompts import Prompt
from tests.engine_runs.harness_tasks import LIMIT, Sample, tasks

pytestmark = pytest.mark.engine
MODEL = str(pocket_checkpoint())


@dataclass(frozen=True)
class Ours:
    """One task through our door."""

    requests: tuple[TaskRequest, ...]
    answers: list[Answer]
    rows: list[dict[str, Any]]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Sample]]:
    """The HF backend's samples, by task."""
    output = tmp_path_factory.mktemp("hf") / "samples.json"
    ended = subprocess.run(
        [sys.executable, "-m", "tests.engine_runs.harness_tasks", MODEL, str(output)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_WAIT_POLICY": "passive"},
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    found: dict[str, list[Sample]] = json.loads(output.read_text())
    return found


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Ours]]:
    """The same tasks, asked of one engine process."""
    from linattn_verify.tasks.adapter import Adapter

    folder = tmp_path_factory.mktemp("engine")
    with EngineProcess(folder / "engine.log", engine_environment(MODEL)) as process:
        prompt = Prompt(id="one", text="Question: none.\n")
        prepared = process.ask(
            Prepare(
                model=MODEL,
                revision=None,
                trust_remote_code=False,
                prompts=(prompt,),
                engine_args=(),
            ),
            300,
        )
        assert isinstance(prepared, Prepared)
        tokenizer = RemoteTokenizer(process, prepared.tokenizer, thinking=False)
        harnesses = {
            name: Harness(name, task, Adapter(tokenizer, False, False, None), LIMIT, False)
            for name, task in tasks().items()
        }
        requests = {name: harness.collect() for name, harness in harnesses.items()}
        settings = {
            "enforce_eager": True,
            "max_model_len": 2048,
            "max_num_batched_tokens": 2048,
            "kv_cache_memory_bytes": 2**30,
            "enable_prefix_caching": False,
        }
        process.ask(Load(engine="plain", model=MODEL, engine_args=settings), 300)
        answers = {name: serve(process, name, requests[name], folder) for name in harnesses}
        yield {
            name: Ours(requests[name], answers[name], harness.score(answers[name]))
            for name, harness in harnesses.items()
        }


def serve(
    process: EngineProcess, task: str, requests: tuple[TaskRequest, ...], folder: Path
) -> list[Answer]:
    """The engine's answers, by way of a trace."""
    path = folder / f"{task}.parquet"
    scenario = Scenario(
        name=f"{task}/full",
        kind=Kind.FULL,
        reference=None,
        budget=2048,
        legs=(Leg.ANSWER,),
        task=task,
    )
    command = Serve(scenario=scenario, requests=requests, concurrency=7, trace=str(path))
    process.ask(command, 300)
    return answers_of(read_trace(path).rows)


def test_the_prompts_are_the_same_token_by_token(
    ours: dict[str, Ours], theirs: dict[str, list[Sample]]
) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(f"{MODEL}/tokenizer.json")
    prompts = [s["arguments"][0][0] for s in theirs["gsm8k"] if s["filter"] == "strict-match"]
    assert len(prompts) == LIMIT and len(set(prompts)) == LIMIT
    assert [r.token_ids for r in ours["gsm8k"].requests] == [
        tuple(tokenizer.encode(prompt).ids) for prompt in prompts
    ]


def test_gsm8k_scores_the_same_question_by_question(
    ours: dict[str, Ours], theirs: dict[str, list[Sample]]
) -> None:
    expected = {
        (s["doc_id"], s["filter"]): (s["exact_match"], s["filtered_resps"][0])
        for s in theirs["gsm8k"]
    }
    found = {
        (row["question"], row["filter"]): (row["score"], row["answer"])
        for row in ours["gsm8k"].rows
    }
    assert len(found) == 2 * LIMIT
    # Two implementations in bfloat16: one near-tie may go the other way.
    differing = {key[0] for key in expected if found[key] != expected[key]}
    assert len(differing) <= 1, differing
    right = [score for score, _ in found.values()]
    assert sum(right) > 0.6 * len(right)


def test_outputs_are_cut_where_the_hf_backend_cuts_them(
    ours: dict[str, Ours], theirs: dict[str, list[Sample]]
) -> None:
    expected = [s["resps"][0][0] for s in theirs["gsm8k"] if s["filter"] == "strict-match"]
    same = sum(a.output == text for a, text in zip(ours["gsm8k"].answers, expected, strict=True))
    assert same >= LIMIT - 1


def test_likelihoods_of_choices_are_the_same_to_rounding(
    ours: dict[str, Ours], theirs: dict[str, list[Sample]]
) -> None:
    expected = [pair[0] for sample in theirs["choice"] for pair in sample["resps"]]
    assert len(expected) == 4 * LIMIT == len(ours["choice"].answers)
    for answer, (logprob, greedy) in zip(ours["choice"].answers, expected, strict=True):
        # The HF backend rounds its log-probabilities to bfloat16: 8 bits of their size.
        assert answer.logprob == pytest.approx(float(logprob), rel=0.1, abs=0.3)
        if abs(float(logprob)) > 1:
            assert str(answer.greedy) == str(greedy)


def test_the_choice_that_the_likelihoods_favour_is_the_same(
    ours: dict[str, Ours], theirs: dict[str, list[Sample]]
) -> None:
    expected = {sample["doc_id"]: sample["acc"] for sample in theirs["choice"]}
    found = {row["question"]: row["score"] for row in ours["choice"].rows}
    assert found == expected
    assert sum(found.values()) > LIMIT / 2
