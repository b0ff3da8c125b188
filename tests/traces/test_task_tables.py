"""A task's answers and scores on disk: what is written is what is read, or it is refused."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from linattn_verify.configs.legs import Leg
from linattn_verify.traces.schema import (
    ANSWERS,
    SCHEMA_VERSION,
    SCORES,
    RequestRecord,
    Slice,
    TraceRecord,
)
from linattn_verify.traces.store import (
    TraceError,
    read_scores,
    read_trace,
    write_scores,
    write_trace,
)

Row = dict[str, object]


def record(table: str = "answers") -> TraceRecord:
    request = RequestRecord(
        request=3,
        leg=Leg.ANSWER,
        prompt_tokens=19,
        output_tokens=5,
        cached_tokens=16,
        slices=(Slice(step=2, start=16, tokens=3),),
        finish_reason="stop",
    )
    values = {
        **{"table": table, "scenario": "gsm8k/warm", "engine": "caching", "budget": 64},
        **{"largest_step": 61, "prefix_caching": True, "block_size": 16, "seconds": 2.5},
        **{"logits_dtype": "bfloat16", "requests": (request,)},
        **{"pool_blocks": 64, "allocated_blocks": 9},
    }
    return TraceRecord.model_validate(values)


def answer(request: int, **changes: object) -> Row:
    values: Row = {
        "request": request,
        "output": " Füünf\n#### 5",
        "tokens": [16_777_217, 7, 2],  # the first is beyond what a float32 holds exactly
        "logprobs": [-0.5, -0.25, -1.5],
        "runners_up": [-1.0, -2.25, -0.125],
    }
    return {**values, **changes}


def score(question: int, **changes: object) -> Row:
    values: Row = {
        "task": "gsm8k",
        "question": question,
        "requests": [2 * question, 2 * question + 1],
        "filter": "strict-match",
        "metric": "exact_match",
        "score": 1.0,
        "answer": "5",
        "valid": True,
        "text": "Wie viel ist [red]2 + 3[/red]?",
        "target": "2 + 3 = 5\n#### 5",
    }
    return {**values, **changes}


def plain(frame: pd.DataFrame) -> list[Row]:
    """Rows as they were before they were written."""
    rows = frame.to_dict("records")
    return [
        {str(k): v.tolist() if isinstance(v, np.ndarray) else v for k, v in row.items()}
        for row in rows
    ]


def test_answers_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "gsm8k" / "warm.parquet"
    rows = [answer(3), answer(0, output="", tokens=[], logprobs=[], runners_up=[])]
    write_trace(path, record(), rows)
    trace = read_trace(path)
    assert trace.record == record()
    assert trace.record.requests[0].prefill() == (Slice(step=2, start=16, tokens=3),)
    assert list(trace.rows.columns) == ANSWERS.names
    assert plain(trace.rows) == rows


def test_a_runner_up_that_is_missing_or_no_number_is_nan(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_trace(path, record(), [answer(1, runners_up=[None, math.nan, -0.125])])
    assert np.isnan(read_trace(path).rows["runners_up"][0]).tolist() == [True, True, False]


def test_scores_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "scores" / "warm.parquet"
    rows = [
        score(3),
        score(0, score=0.0, answer="[invalid]", valid=False),
        score(0, filter="flexible-extract", score=0.25, requests=[]),
    ]
    write_scores(path, rows)
    scores = read_scores(path)
    assert list(scores.columns) == SCORES.names
    assert plain(scores) == rows
    assert scores["valid"].dtype == pd.BooleanDtype()
    assert list(path.parent.iterdir()) == [path]


def test_a_table_without_rows_keeps_its_columns(tmp_path: Path) -> None:
    write_trace(tmp_path / "a.parquet", record(), [])
    assert list(read_trace(tmp_path / "a.parquet").rows.columns) == ANSWERS.names
    write_scores(tmp_path / "b.parquet", [])
    assert list(read_scores(tmp_path / "b.parquet").columns) == SCORES.names


def test_one_table_is_not_taken_for_another(tmp_path: Path) -> None:
    """The record says which table it is about: rows of another are refused."""
    path = tmp_path / "a.parquet"
    write_trace(path, record(), [answer(1)])
    answers = pq.read_table(path)
    write_trace(path, record("positions"), [])
    positions = pq.read_table(path)
    pq.write_table(answers.replace_schema_metadata(positions.schema.metadata), path)
    refused = f"its columns are not those of schema version {SCHEMA_VERSION}"
    with pytest.raises(TraceError, match=refused):
        read_trace(path)
    with pytest.raises(TraceError, match=refused):
        read_scores(path)
    write_scores(path, [score(1)])
    with pytest.raises(TraceError, match="not a whole trace"):
        read_trace(path)


@pytest.mark.parametrize("keep", [0, 0.5, 0.99], ids=["none", "half", "all-but-end"])
def test_broken_scores_are_refused(tmp_path: Path, keep: float) -> None:
    path = tmp_path / "a.parquet"
    write_scores(path, [score(i) for i in range(37)])
    whole = path.read_bytes()
    path.write_bytes(whole[: int(keep * len(whole))])
    with pytest.raises(TraceError, match="not a whole trace") as caught:
        read_scores(path)
    assert str(path) in str(caught.value)


def test_scores_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="nowhere"):
        read_scores(tmp_path / "nowhere.parquet")
