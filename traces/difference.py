"""Where two traces that must be the same, bit for bit, are not."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

_KEY = ["request", "position", "leg"]
_SAME = ["token", "rank", "cached"]


@dataclass(frozen=True)
class Difference:
    """The first row that differs, and how many do."""

    request: int
    leg: str
    position: int
    chunk: int | None
    edge_distance: int | None
    reference_logprob: float | None
    candidate_logprob: float | None
    """Nats; None where the row or the number is missing."""
    rows: int
    compared: int
    nan: int
    """Rows of the candidate that hold NaN or infinity."""


def first_difference(reference: pd.DataFrame, candidate: pd.DataFrame) -> Difference | None:
    """The first row in which the candidate differs in any bit, in the order of request,
    position and leg; None where there is none. Of the reference only the candidate's legs count."""
    if candidate.empty:  # nor has pandas 3 an outer join of nothing with nothing
        return None
    of = reference[reference["leg"].isin(set(candidate["leg"]))]
    both = of.merge(candidate, on=_KEY, how="outer", suffixes=("_r", "_c"), indicator=True)
    differs = (both["_merge"] != "both").to_numpy() | ~_equal_bits(both, "logprob")
    for name in _SAME:
        left, right = both[f"{name}_r"], both[f"{name}_c"]
        differs |= ~((left == right).fillna(False) | (left.isna() & right.isna())).to_numpy(bool)
    for name in ("top_tokens", "top_logprobs"):
        pairs = zip(both[f"{name}_r"], both[f"{name}_c"], strict=True)
        differs |= np.array([not _equal_lists(a, b) for a, b in pairs], dtype=bool)
    if not differs.any():
        return None
    row = both[differs].sort_values(_KEY, kind="stable").iloc[0].to_dict()
    return Difference(
        request=int(row["request"]),
        leg=str(row["leg"]),
        position=int(row["position"]),
        chunk=_whole(row["chunk_c"]),
        edge_distance=_whole(row["edge_distance_c"]),
        reference_logprob=_number(row["logprob_r"]),
        candidate_logprob=_number(row["logprob_c"]),
        rows=int(differs.sum()),
        compared=len(both),
        nan=non_finite(candidate),
    )


def non_finite(rows: pd.DataFrame) -> int:
    """Rows that hold NaN or infinity, or nothing where something was computed."""
    known = rows[~rows["cached"].fillna(False).astype(bool)]
    return int((~np.isfinite(known["logprob"].to_numpy(dtype=float))).sum())


def _equal_bits(both: pd.DataFrame, name: str) -> np.ndarray:
    left = both[f"{name}_r"].to_numpy(dtype=np.float32).view(np.uint32)
    right = both[f"{name}_c"].to_numpy(dtype=np.float32).view(np.uint32)
    return np.asarray(left == right)


def _equal_lists(left: object, right: object) -> bool:
    return (
        isinstance(left, np.ndarray)
        and isinstance(right, np.ndarray)
        and (left.tobytes() == right.tobytes())
    )


def _whole(value: Any) -> int | None:
    return None if pd.isna(value) else int(value)


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)
