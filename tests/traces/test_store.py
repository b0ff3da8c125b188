"""Traces on disk: what is written is what is read, or the file is refused."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from linattn_verify.configs.legs import Leg
from linattn_verify.traces.schema import ROWS, SCHEMA_VERSION, RequestRecord, Slice, TraceRecord
from linattn_verify.traces.store import TraceError, read_trace, write_trace


def record(**changes: Any) -> TraceRecord:
    request = RequestRecord(
        request=0,
        leg=Leg.DECODE,
        prompt_tokens=11,
        output_tokens=3,
        cached_tokens=4,
        slices=(Slice(step=0, start=4, tokens=7), Slice(step=1, start=11, tokens=1)),
        finish_reason="length",
    )
    values: dict[str, Any] = {
        "scenario": "chunked@7",
        "engine": "plain",
        "budget": 7,
        "largest_step": 7,
        "prefix_caching": False,
        "block_size": 16,
        "logits_dtype": "bfloat16",
        "top_logit": 12.5,
        "requests": (request,),
        "pool_blocks": 64,
        "allocated_blocks": 9,
        "faults": {"logits_swapped": 3},
        "seconds": 1.25,
    }
    return TraceRecord(**{**values, **changes})


def row(position: int, **changes: Any) -> dict[str, object]:
    values = {
        "request": 0,
        "leg": "prompt",
        "position": position,
        "token": 16_777_217,  # beyond what a float32 holds exactly
        "text": " Wörter",
        "logprob": -0.5,
        "rank": 2,
        "top_tokens": [7, 5, 3],
        "top_logprobs": [-0.25, -0.5, -4.0],
        "step": 1,
        "chunk": 1,
        "edge_distance": 3,
        "cached": False,
    }
    return {**values, **changes}


CACHED: dict[str, object] = {
    "logprob": None,
    "rank": None,
    "top_tokens": [],
    "top_logprobs": [],
    "step": None,
    "chunk": None,
    "edge_distance": None,
    "cached": True,
}


def written(folder: Path, rows: list[dict[str, object]]) -> Path:
    path = folder / "traces" / "a.parquet"
    write_trace(path, record(), rows)
    return path


def test_record_and_rows_come_back_as_they_were(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, [row(1, **CACHED), row(5), row(6, leg="free")]))
    assert trace.record == record()
    assert list(trace.rows.columns) == ROWS.names
    assert trace.rows["position"].tolist() == [1, 5, 6]
    assert trace.rows["leg"].tolist() == ["prompt", "prompt", "free"]
    last = trace.rows.iloc[2]
    assert (last["text"], last["logprob"], last["rank"]) == (" Wörter", -0.5, 2)
    assert last["top_tokens"].tolist() == [7, 5, 3]
    assert last["top_logprobs"].tolist() == [-0.25, -0.5, -4.0]


def test_a_record_says_how_many_tokens_the_largest_step_had() -> None:
    """A default would be taken for a step within any budget."""
    fields = record().model_dump(exclude={"largest_step"})
    with pytest.raises(ValidationError, match="largest_step"):
        TraceRecord.model_validate(fields)


def test_whole_numbers_stay_whole_beside_missing_ones(tmp_path: Path) -> None:
    rows = read_trace(written(tmp_path, [row(1, **CACHED), row(5)])).rows
    for column in ("request", "position", "token", "rank", "step", "chunk", "edge_distance"):
        assert rows[column].dtype == pd.Int32Dtype(), column
    assert rows["token"].tolist() == [16_777_217, 16_777_217]
    assert rows["edge_distance"].isna().tolist() == [True, False]
    assert rows["cached"].dtype == pd.BooleanDtype()
    assert rows["cached"].tolist() == [True, False]


def test_a_trace_without_rows_keeps_its_columns(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, []))
    assert len(trace.rows) == 0
    assert list(trace.rows.columns) == ROWS.names
    assert trace.rows["rank"].dtype == pd.Int32Dtype()


def test_the_file_tells_a_missing_logprob_from_one_that_is_not_a_number(tmp_path: Path) -> None:
    rows = [row(1, **CACHED), row(2, logprob=math.nan), row(3, logprob=-math.inf), row(4)]
    column = pq.read_table(written(tmp_path, rows))["logprob"]
    assert column.null_count == 1
    values = column.to_pylist()
    assert values[0] is None
    assert math.isnan(values[1])
    assert values[2:] == [-math.inf, -0.5]


def test_what_is_read_tells_them_apart_by_the_cached_column(tmp_path: Path) -> None:
    """Once read, null and NaN are both NaN: that a position was served from the cache is what
    `cached` says, and what is NaN without being cached is a fault."""
    rows = read_trace(written(tmp_path, [row(1, **CACHED), row(2, logprob=math.nan), row(3)])).rows
    assert np.isnan(rows["logprob"]).tolist() == [True, True, False]
    broken = rows[np.isnan(rows["logprob"]) & ~rows["cached"]]
    assert broken["position"].tolist() == [2]


def test_nan_among_the_alternatives_is_kept(tmp_path: Path) -> None:
    rows = read_trace(written(tmp_path, [row(1, top_logprobs=[math.nan, -1.0, -2.0])])).rows
    assert np.isnan(rows["top_logprobs"][0]).tolist() == [True, False, False]


class Interrupted(BaseException):
    """As a KeyboardInterrupt, which is no Exception either."""


@pytest.mark.parametrize("error", [OSError("no space left"), Interrupted()], ids=["disk", "key"])
@pytest.mark.parametrize("there", [True, False], ids=["over-an-old-file", "nothing-there-yet"])
def test_a_write_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, there: bool
) -> None:
    path = tmp_path / "a.parquet"
    if there:
        write_trace(path, record(), [row(1)])
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    def half(table: pa.Table, file: Any, **options: Any) -> None:
        file.write(b"PAR1 and then")
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(pq, "write_table", half)
        with pytest.raises(type(error)):
            write_trace(path, record(budget=9), [row(1), row(2)])
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert len(before) == int(there)


def test_a_write_replaces_the_old_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = written(tmp_path, [row(1)])
    write_trace(path, record(budget=9), [row(1), row(2)])
    trace = read_trace(path)
    assert (trace.record.budget, len(trace.rows)) == (9, 2)
    assert list(path.parent.iterdir()) == [path]


def test_a_row_with_a_value_of_the_wrong_type_is_not_written(tmp_path: Path) -> None:
    with pytest.raises((pa.ArrowException, TypeError)):
        write_trace(tmp_path / "a.parquet", record(), [row(1, token="seven")])
    assert list(tmp_path.iterdir()) == []


def refusal(path: Path) -> str:
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("keep", [0, 4, 0.5, 0.99], ids=["none", "magic", "half", "all-but-end"])
def test_a_broken_file_is_refused(tmp_path: Path, keep: float) -> None:
    path = written(tmp_path, [row(i) for i in range(1, 40)])
    whole = path.read_bytes()
    path.write_bytes(whole[: keep if isinstance(keep, int) else int(keep * len(whole))])
    assert "not a whole trace" in refusal(path)
    assert "Run the scenario again" in refusal(path)


def test_a_missing_file_and_a_text_file_are_refused(tmp_path: Path) -> None:
    assert "not a whole trace" in refusal(tmp_path / "nowhere.parquet")
    text = tmp_path / "a.parquet"
    text.write_text("words " * 99)
    assert "not a whole trace" in refusal(text)


def rewritten(path: Path, table: pa.Table) -> Path:
    pq.write_table(table, path)
    return path


def test_a_table_without_our_record_is_refused(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([row(1)], schema=ROWS)
    assert "not a whole trace" in refusal(rewritten(tmp_path / "a.parquet", table))


@pytest.mark.parametrize(
    "extra", [{}, {"a_field_of_the_future": 1}], ids=["same-fields", "other-fields"]
)
def test_another_schema_version_is_named(tmp_path: Path, extra: dict[str, object]) -> None:
    path = written(tmp_path, [row(1)])
    table = pq.read_table(path)
    ((key, _),) = table.schema.metadata.items()
    document = record(schema_version=SCHEMA_VERSION + 1).model_dump(mode="json") | extra
    changed = table.replace_schema_metadata({key: json.dumps(document).encode()})
    text = refusal(rewritten(path, changed))
    assert f"schema version {SCHEMA_VERSION + 1}" in text
    assert f"reads {SCHEMA_VERSION}" in text


@pytest.mark.parametrize("column", ["logprob", "cached", "top_logprobs"])
def test_a_missing_column_is_refused(tmp_path: Path, column: str) -> None:
    path = written(tmp_path, [row(1)])
    text = refusal(rewritten(path, pq.read_table(path).drop_columns([column])))
    assert "its columns are not those of schema version" in text


def test_a_column_of_another_type_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, [row(1)])
    table = pq.read_table(path)
    place = table.schema.get_field_index("logprob")
    wider = table.set_column(place, "logprob", table["logprob"].cast(pa.float64()))
    assert "its columns are not those" in refusal(rewritten(path, wider))
