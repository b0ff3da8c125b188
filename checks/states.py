"""States against states: within rounding of a single-step prefill; bit for bit between steps."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from linattn_verify.traces.states import KEY, Moment, numbers

_ORDER = ["edge", "position", "request", "index", "part"]
"""What comes first: the earliest edge, then the first layer, convolution before recurrence."""


@dataclass(frozen=True)
class Equivalence:
    """A scenario's states against those that single-step prefills of the same prefixes left."""

    rows: pd.DataFrame
    """One a state: KEY, edge, index, kind, dtype, prompt position, `error` (relative, inf where
    either side holds NaN or infinity)."""
    unmatched: int
    """States at whose position no prefix was prefilled."""
    without_numbers: int
    """States of which only a digest was kept."""


def equivalence(states: pd.DataFrame, prefixes: pd.DataFrame) -> Equivalence:
    """Relative error ‖a - b‖ / ‖b‖ (Euclidean, over all elements of a layer's state) of each state
    that a step left, b being the single-step prefill's."""
    left = states[states["moment"] == Moment.LEFT.value]
    of = prefixes[prefixes["moment"] == Moment.LEFT.value][[*KEY, "data", "dtype"]]
    both = left.merge(of, on=KEY, how="left", suffixes=("", "_reference"), indicator=True)
    matched = both[both["_merge"] == "both"]
    known = matched[matched["data"].notna() & matched["data_reference"].notna()]
    errors = [
        _relative_error(numbers(a, x), numbers(b, y))
        for a, x, b, y in zip(
            known["data"],
            known["dtype"],
            known["data_reference"],
            known["dtype_reference"],
            strict=True,
        )
    ]
    rows = known.drop(columns=["data", "data_reference", "_merge"]).assign(error=errors)
    return Equivalence(
        rows=rows.sort_values(_ORDER, kind="stable", ignore_index=True),
        unmatched=len(left) - len(matched),
        without_numbers=len(matched) - len(known),
    )


def _relative_error(candidate: np.ndarray, reference: np.ndarray) -> float:
    """inf where they cannot be compared; 0 where both are zero."""
    if candidate.shape != reference.shape:
        return float("inf")
    size = float(np.linalg.norm(reference))
    apart = float(np.linalg.norm(candidate - reference))
    if not np.isfinite(apart):
        return float("inf")
    return apart / size if size else (float("inf") if apart else 0.0)


@dataclass(frozen=True)
class Carried:
    """What steps found, against what the steps before them had left, bit for bit."""

    rows: pd.DataFrame
    """One a state: KEY, edge, index, kind, `same`, `norm` (found), `norm_left`, `restored`."""
    unmatched: int
    """States found that nobody was seen to leave."""


def carried(states: pd.DataFrame, saved: pd.DataFrame | None) -> Carried:
    """`saved`: the states of the scenario that filled the cache, for those restored from it."""
    found = states[states["moment"] == Moment.FOUND.value]
    restored = found["edge"] == 0
    within = _matched(found[~restored], states, [*KEY, "edge"])
    from_cache = _matched(found[restored], states.head(0) if saved is None else saved, KEY)
    both = pd.concat([within.assign(restored=False), from_cache.assign(restored=True)])
    matched = both[both["digest_left"].notna()]
    rows = matched.assign(same=matched["digest"] == matched["digest_left"])
    return Carried(
        rows=rows.sort_values(_ORDER, kind="stable", ignore_index=True),
        unmatched=len(both) - len(matched),
    )


def _matched(found: pd.DataFrame, states: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    left = states[states["moment"] == Moment.LEFT.value].drop_duplicates(key)
    return found.drop(columns=["data"]).merge(
        left[[*key, "digest", "norm"]], on=key, how="left", suffixes=("", "_left")
    )
