"""Candidate against reference, position by position."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from linattn_verify.checks.selection import Selection
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.metrics import DISTANCE_BINS, Segment
from linattn_verify.traces.store import Trace

_KEY = ["request", "position"]
_COLUMNS = [
    *("token", "text", "logprob", "top_tokens", "top_logprobs"),
    *("chunk", "edge_distance", "cached"),
]
_FLAGS = (
    *("missing", "unexpected", "cached", "token_mismatch"),
    *("non_finite_reference", "non_finite_candidate", "compared"),
)
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Comparison:
    """One leg, aligned.

    `frame` has a row per (request, position) of either side: `reference_*` and `candidate_*`
    columns of the trace, one boolean column per count below, `delta` = candidate - reference in
    nats and `abs_delta` (NaN where not compared), `segment` and `edge_bin` of the candidate.
    """

    leg: Leg
    frame: pd.DataFrame
    reference_rows: int
    candidate_rows: int
    compared: int
    cached: int
    """Served from the cache, so rightly without a log-probability."""
    missing: int
    """In the reference, not in the candidate."""
    unexpected: int
    """In the candidate, not in the reference."""
    token_mismatch: int
    """Forced along another token than the reference's."""
    non_finite_reference: int
    non_finite_candidate: int
    """NaN, infinite, or null where nothing was cached."""

    def counts(self) -> dict[str, int]:
        """Every count by name."""
        names = ("reference_rows", "candidate_rows", *_FLAGS)
        return {name: int(getattr(self, name)) for name in names}


def compare(candidate: Trace, reference: Trace, selection: Selection) -> Comparison:
    """Align the judged requests of one leg; raises ValueError where a trace has a row twice.

    The cut leg is compared with the reference's prompt leg: both speak of the prompt's next token.
    """
    right = _side(candidate.rows, selection.leg, "candidate")
    left = _side(reference.rows, _reference_leg(selection.leg), "reference")
    if selection.leg is Leg.CUT:
        keys = _cut_keys(selection)
        left, right = keys.merge(left, on=_KEY, how="left"), keys.merge(right, on=_KEY)
    else:
        left, right = _of_requests(left, selection), _of_requests(right, selection)
    frame = left.merge(right, on=_KEY, how="outer", indicator="side", validate="one_to_one")
    frame = _flagged(frame.reset_index(drop=True), selection)
    counts = {flag: int(frame[flag].sum()) for flag in _FLAGS}
    return Comparison(selection.leg, frame, len(left), len(right), **counts)


def non_finite(logprobs: pd.Series, alternatives: pd.Series) -> Mask:
    """Where a log-probability is NaN, infinite or null, or one of its alternatives is NaN or
    +inf: [T]. An alternative of -inf is a token that was ruled out."""
    alone = ~np.isfinite(_numbers(logprobs))
    beside = [isinstance(v, np.ndarray) and not bool((v < np.inf).all()) for v in alternatives]
    return np.asarray(alone | np.array(beside, dtype=bool))


def _reference_leg(leg: Leg) -> Leg:
    return Leg.PROMPT if leg is Leg.CUT else leg


def _side(rows: pd.DataFrame, leg: Leg, side: str) -> pd.DataFrame:
    chosen = rows.loc[rows["leg"] == leg.value, [*_KEY, *_COLUMNS]]
    chosen = chosen.astype({"request": "int64", "position": "int64"})
    twice = chosen[chosen.duplicated(_KEY)]
    if len(twice):
        request, position = twice.iloc[0][_KEY]
        raise ValueError(f"the {side} has request {request}, {leg} position {position} twice")
    return chosen.rename(columns={column: f"{side}_{column}" for column in _COLUMNS})


def _of_requests(side: pd.DataFrame, selection: Selection) -> pd.DataFrame:
    return side[side["request"].isin(list(selection.requests))]


def _cut_keys(selection: Selection) -> pd.DataFrame:
    keys = sorted({(r.request, r.prompt_tokens) for r in selection.records})
    return pd.DataFrame(keys, columns=_KEY, dtype="int64")


def _flagged(frame: pd.DataFrame, selection: Selection) -> pd.DataFrame:
    """`frame` with its flags, differences and segments."""
    missing = (frame["side"] == "left_only").to_numpy()
    unexpected = (frame["side"] == "right_only").to_numpy()
    cached = ~missing & _rightly_cached(frame, selection)
    reference = ~unexpected & _broken(frame, "reference")
    candidate = ~missing & ~cached & _broken(frame, "candidate")
    mismatch = ~missing & ~unexpected & ~reference & _other_token(frame, selection.leg)
    bad = missing | unexpected | cached | reference | candidate | mismatch
    flags = (missing, unexpected, cached, mismatch, reference, candidate, ~bad)
    frame = frame.drop(columns="side").assign(**dict(zip(_FLAGS, flags, strict=True)))
    delta = _numbers(frame["candidate_logprob"]) - _numbers(frame["reference_logprob"])
    frame["delta"] = np.where(~bad, delta, np.nan)
    frame["abs_delta"] = frame["delta"].abs()
    return _with_segments(frame)


def _broken(frame: pd.DataFrame, side: str) -> Mask:
    return non_finite(frame[f"{side}_logprob"], frame[f"{side}_top_logprobs"])


def _rightly_cached(frame: pd.DataFrame, selection: Selection) -> Mask:
    """Said to be cached, without a value, and within the tokens that the engine counted as hits:
    the row of position p is computed from token p - 1."""
    said = frame["candidate_cached"].astype("boolean").fillna(False).to_numpy(dtype=bool)
    empty = np.isnan(_numbers(frame["candidate_logprob"]))
    hits = {r.request: r.cached_tokens for r in selection.records}
    within = frame["position"].to_numpy() <= frame["request"].map(hits).fillna(0).to_numpy()
    return np.asarray(said & empty & within & (selection.leg is Leg.PROMPT), dtype=bool)


def _other_token(frame: pd.DataFrame, leg: Leg) -> Mask:
    if leg is Leg.FREE:
        return np.zeros(len(frame), dtype=bool)
    differs = frame["reference_token"] != frame["candidate_token"]
    return differs.astype("boolean").fillna(True).to_numpy(dtype=bool)


def _with_segments(frame: pd.DataFrame) -> pd.DataFrame:
    chunk, distance = _numbers(frame["candidate_chunk"]), _numbers(frame["candidate_edge_distance"])
    first = (chunk == 0) & np.isnan(distance)
    frame["segment"] = np.where(first, Segment.FIRST.value, Segment.LATER.value)
    frame["edge_bin"] = _edge_bins(distance)
    return frame


def _edge_bins(distance: npt.NDArray[np.float64]) -> Sequence[str]:
    bins = np.full(len(distance), "", dtype=object)
    for name, (start, end) in DISTANCE_BINS.items():
        inside = (distance >= start) & (distance < (np.inf if end is None else end))
        bins[inside] = name.value
    return bins.tolist()


def _numbers(column: pd.Series) -> npt.NDArray[np.float64]:
    return column.to_numpy(dtype=np.float64, na_value=np.nan)
