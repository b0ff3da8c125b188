"""Made states: two layers, of which every number is known beforehand."""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from linattn_verify.traces.schema import RequestRecord
from linattn_verify.traces.states import STATES, Moment, Part
from linattn_verify.traces.store import NULLABLE

Row = dict[str, Any]
LAYERS = ("model.layers.0", "model.layers.2")
SHAPES = {Part.CONVOLUTION: (3.0, 4.0, 0.0), Part.RECURRENT: (2.0, 1.0, 0.0, 2.0, 4.0)}
"""The direction of every state. Both have the norm 5, and an element that is 0: with d in its
place, the relative error is d / 5."""
ZERO_AT = 2


def scale(request: int, position: int, index: int, rank: int) -> float:
    """No two places hold the same state."""
    return 1.0 + position + 100 * request + 1000 * index + 10_000 * rank


def state_row(
    request: int,
    position: int,
    edge: int,
    moment: Moment = Moment.LEFT,
    index: int = 0,
    part: Part = Part.CONVOLUTION,
    rank: int = 0,
) -> Row:
    """One right state."""
    row: Row = {
        **{"request": request, "position": position, "edge": edge, "moment": moment.value},
        **{"rank": rank, "layer": LAYERS[index], "index": index, "kind": "gdn_attn"},
        **{"part": part.value, "dtype": "float32"},
    }
    return held(row, np.array(SHAPES[part]) * scale(request, position, index, rank))


def held(row: Row, numbers: Any, dtype: str = "float32") -> Row:
    """The row with these numbers in it."""
    data = np.asarray(numbers, dtype="float32" if dtype == "bfloat16" else dtype).tobytes()
    if dtype == "bfloat16":  # the upper half of a float32
        data = (np.frombuffer(data, dtype=np.uint32) >> 16).astype(np.uint16).tobytes()
    with np.errstate(invalid="ignore"):
        norm = float(np.linalg.norm(np.asarray(numbers, dtype=float)))
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    kept = data if row["moment"] == Moment.LEFT.value else None
    row.update(dtype=dtype, norm=norm, digest=digest, data=kept)
    return row


def off_by(row: Row, error: float) -> Row:
    """The row with a relative error, which is put where the right state holds 0."""
    part = Part(row["part"])
    numbers = np.array(SHAPES[part])
    numbers[ZERO_AT] = 5 * error
    by = scale(row["request"], row["position"], row["index"], row["rank"])
    return held(row, numbers * by)


def every_state(request: int, position: int, edge: int, moment: Moment, ranks: int) -> list[Row]:
    """Of every layer, part and worker."""
    return [
        state_row(request, position, edge, moment, index, part, rank)
        for rank in range(ranks)
        for index in range(len(LAYERS))
        for part in SHAPES
    ]


def rows_of(record: RequestRecord, ranks: int = 1, block: int | None = None) -> list[Row]:
    """What the steps of a request found and left. `block`: a cache whose last whole block is saved
    as well."""
    rows: list[Row] = []
    for edge, part in enumerate(record.slices):
        if part.start:
            rows += every_state(record.request, part.start, edge, Moment.FOUND, ranks)
        rows += every_state(record.request, part.start + part.tokens, edge + 1, Moment.LEFT, ranks)
    if block:
        last = (record.prompt_tokens - 1) // block * block
        rows += every_state(record.request, last, 1, Moment.LEFT, ranks)
    return rows


def frame(rows: Iterable[Row]) -> pd.DataFrame:
    """As the store would read them."""
    table = pa.Table.from_pylist(list(rows), schema=STATES)
    found: pd.DataFrame = table.to_pandas(types_mapper=NULLABLE.get)
    return found
