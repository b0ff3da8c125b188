"""States on disk, and their bytes as numbers."""

import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from linattn_verify.traces.states import STATES, numbers
from linattn_verify.traces.store import TraceError, read_states, write_states, write_trace
from tests.traces.test_store import record
from tests.traces.test_store import row as trace_row


def words(*patterns: int) -> bytes:
    return struct.pack(f"{len(patterns)}H", *patterns)


DTYPES = {
    # 1, -2.5, the largest finite number below 1 + 2^-7, and 2^-133, below every normal number
    "bfloat16": (words(0x3F80, 0xC020, 0x3F81, 0x0001), [1.0, -2.5, 1.0078125, 2.0**-133]),
    # 0.1 as near as ten bits of fraction come
    "float16": (words(0x3C00, 0xC100, 0x2E66), [1.0, -2.5, 0.0999755859375]),
    "float32": (struct.pack("3f", 1.0, -2.5, 2.0**-149), [1.0, -2.5, 2.0**-149]),
    "float64": (struct.pack("1d", 1 + 2.0**-52), [1 + 2.0**-52]),
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_number_is_exactly_what_its_bytes_say(dtype: str) -> None:
    data, expected = DTYPES[dtype]
    found = numbers(data, dtype)
    assert found.dtype == np.float64
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("dtype", "data"),
    [
        ("bfloat16", words(0x7FC0, 0x7FFF, 0x7F80, 0xFF80)),
        ("float16", words(0x7E00, 0x7FFF, 0x7C00, 0xFC00)),
    ],
    ids=["bfloat16", "float16"],
)
def test_nan_and_infinity_survive(dtype: str, data: bytes) -> None:
    found = numbers(data, dtype)
    assert np.isnan(found).tolist() == [True, True, False, False]
    assert found[2:].tolist() == [math.inf, -math.inf]


@pytest.mark.parametrize(("dtype", "size"), [("bfloat16", 5), ("float16", 3), ("float32", 7)])
def test_bytes_that_are_no_whole_numbers_are_refused(dtype: str, size: int) -> None:
    with pytest.raises(ValueError):
        numbers(bytes(size), dtype)


def test_no_bytes_are_no_numbers() -> None:
    assert numbers(b"", "bfloat16").tolist() == []


def row(**changes: Any) -> dict[str, object]:
    values: dict[str, object] = {
        **{"request": 3, "position": 37, "edge": 2, "moment": "left", "rank": 1},
        **{"layer": "model.layers.5", "index": 4, "kind": "gdn_attn", "part": "recurrent"},
        **{"dtype": "bfloat16", "norm": 1.5, "digest": "00ff", "data": b"\x80\x3f\x00"},
    }
    return {**values, **changes}


def written(folder: Path, *rows: dict[str, object]) -> Path:
    path = folder / "states" / "a.parquet"
    write_states(path, list(rows))
    return path


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    rows = [row(), row(moment="found", data=None, norm=math.nan), row(data=b"")]
    frame = read_states(written(tmp_path, *rows))
    assert list(frame.columns) == STATES.names
    assert frame.iloc[0].to_dict() == rows[0]
    assert frame["edge"].dtype == pd.Int32Dtype()
    assert frame["data"].isna().tolist() == [False, True, False]  # none kept is not none there
    assert frame["norm"].isna().tolist() == [False, True, False]


def test_no_rows_keep_the_columns(tmp_path: Path) -> None:
    frame = read_states(written(tmp_path))
    assert (len(frame), list(frame.columns)) == (0, STATES.names)


def test_a_row_of_the_wrong_type_is_not_written(tmp_path: Path) -> None:
    with pytest.raises((pa.ArrowException, TypeError)):
        written(tmp_path, row(position="last"))
    assert list(tmp_path.rglob("*.parquet")) == []


@pytest.mark.parametrize("keep", [0, 4, 0.5, 0.99], ids=["none", "magic", "half", "all-but-end"])
def test_a_broken_file_is_refused(tmp_path: Path, keep: float) -> None:
    path = written(tmp_path, *(row(position=i) for i in range(41)))
    whole = path.read_bytes()
    path.write_bytes(whole[: keep if isinstance(keep, int) else int(keep * len(whole))])
    with pytest.raises(TraceError, match=r"a\.parquet: not a whole trace"):
        read_states(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"nowhere\.parquet"):
        read_states(tmp_path / "nowhere.parquet")


def test_a_table_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_trace(path, record(), [trace_row(1)])
    with pytest.raises(TraceError, match="its columns are not those of schema version"):
        read_states(path)
