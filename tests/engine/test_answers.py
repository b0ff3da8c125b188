"""From made-up engine outputs to the rows of a task's trace."""

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from linattn_verify.configs.legs import Leg
from linattn_verify.engine.answers import answer_of, answer_record
from linattn_verify.traces.schema import RequestRecord, Slice, TraceRecord
from linattn_verify.traces.store import read_trace, write_trace

PIECES = [(0, 0, 4), (2, 4, 4), (3, 8, 1), (4, 9, 1), (5, 10, 1)]
"""Of a prompt of nine tokens and three outputs, as (step, start, tokens)."""


def entry(logprob: float) -> SimpleNamespace:
    return SimpleNamespace(logprob=logprob)


def output() -> SimpleNamespace:
    """Three tokens: the likeliest, the second, and one that stands alone."""
    completion = SimpleNamespace(
        text=" so 3",
        token_ids=[60, 61, 62],
        logprobs=[
            {60: entry(-0.25), 7: entry(-1.75)},
            {61: entry(-2.5), 7: entry(-0.5), 8: entry(-1.5)},
            {62: entry(-0.125)},
        ],
        finish_reason="stop",
    )
    return SimpleNamespace(
        prompt_token_ids=list(range(9)), outputs=[completion], num_cached_tokens=None
    )


def slices() -> list[Slice]:
    return [Slice(step=a, start=b, tokens=c) for a, b, c in PIECES]


def test_the_record_keeps_the_prefill_and_how_the_answer_ended() -> None:
    out = output()
    out.num_cached_tokens = 4
    assert answer_record(17, out, slices(), forced=False) == RequestRecord(
        request=17,
        leg=Leg.ANSWER,
        prompt_tokens=9,
        output_tokens=3,
        cached_tokens=4,
        slices=tuple(slices()[:3]),
        finish_reason="stop",
    )


def test_an_engine_that_says_nothing_of_its_cache_has_cached_nothing() -> None:
    assert answer_record(0, output(), [], forced=False).cached_tokens == 0


def test_a_forced_answer_has_no_end_of_its_own() -> None:
    assert answer_record(17, output(), slices(), forced=True).finish_reason is None


def test_an_answer_has_its_text_its_tokens_and_the_best_of_the_others() -> None:
    assert answer_of(17, output()) == {
        "request": 17,
        "output": " so 3",
        "tokens": [60, 61, 62],
        "logprobs": [-0.25, -2.5, -0.125],
        "runners_up": [-1.75, -0.5, None],
    }


def test_an_answer_without_a_token() -> None:
    out = output()
    out.outputs[0].text, out.outputs[0].token_ids, out.outputs[0].logprobs = "", [], []
    assert answer_of(3, out) == {
        "request": 3, "output": "", "tokens": [], "logprobs": [], "runners_up": []
    }  # fmt: skip


def test_tokens_without_logprobs_are_an_error() -> None:
    out = output()
    out.outputs[0].logprobs.pop()
    with pytest.raises(ValueError, match="zip"):
        answer_of(17, out)


def test_answers_are_what_a_trace_of_answers_holds(tmp_path: Path) -> None:
    record = TraceRecord(
        table="answers",
        scenario="sums/full",
        engine="plain",
        budget=37,
        largest_step=31,
        prefix_caching=False,
        block_size=16,
        logits_dtype="bfloat16",
        requests=(answer_record(0, output(), slices(), forced=False),),
        pool_blocks=50,
        allocated_blocks=3,
        seconds=1.5,
    )
    path = tmp_path / "answers.parquet"
    write_trace(path, record, [answer_of(0, output())])
    trace = read_trace(path)
    assert trace.record == record
    (row,) = trace.rows.to_dict("records")
    assert (row["output"], list(row["tokens"])) == (" so 3", [60, 61, 62])
    assert list(row["logprobs"]) == [-0.25, -2.5, -0.125]
    assert list(row["runners_up"][:2]) == [-1.75, -0.5]
    assert pd.isna(row["runners_up"][2])
