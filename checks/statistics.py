"""How far two sides are apart: every statistic of every segment of a comparison."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from linattn_verify.checks.alternatives import (
    Alternatives,
    alternatives,
    kl_top_k,
    near_tie,
    top1_differs,
    unit_in_last_place,
)
from linattn_verify.checks.compare import Comparison
from linattn_verify.configs.metrics import DISTANCE_BINS, STATISTICS, Segment

Floats = npt.NDArray[np.float64]
_NEEDED = ("segment", "edge_bin", "delta", "abs_delta", "compared", "non_finite_candidate")
_PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99_9": 99.9}


_AVERAGES = frozenset({"mean", "p50", "p90", "kl_k3", "kl_top_k"})
_SHARES = frozenset({"top1_changed", "near_ties"})


@dataclass(frozen=True)
class Least:
    """How many positions a segment must have for a statistic of its kind: one position's rounding
    is no mean, and one token that changed among three is no share."""

    averages: int = 1
    shares: int = 1

    def enough(self, statistic: str, positions: int) -> bool:
        """Whether `statistic` says anything of so many positions."""
        if statistic in _SHARES:
            return positions >= self.shares
        return statistic not in _AVERAGES or positions >= self.averages


def measure(
    comparison: Comparison, logits_dtype: str, top_logit: float | None, least: Least
) -> dict[str, float]:
    """`<leg>.<segment>.<statistic>` → value. A segment without a position has no metric, one with
    too few (`least`) has none of those that need more, and one in which none could be compared
    has NaN. `logits_dtype` and `top_logit` are the reference's: they say how near a near-tie is."""
    frame = comparison.frame
    frame = frame[frame["compared"] | frame["non_finite_candidate"]]
    frame = _with_divergences(frame, unit_in_last_place(logits_dtype, top_logit))
    return {
        f"{comparison.leg}.{segment}.{statistic}": value
        for segment in Segment
        if len(part := in_segment(frame, segment))
        for statistic, value in _statistics(part).items()
        if least.enough(statistic, len(part))
    }


def in_segment(frame: pd.DataFrame, segment: Segment) -> pd.DataFrame:
    """The rows of a comparison's frame that `segment` covers."""
    if segment is Segment.ALL:
        return frame
    column = "edge_bin" if segment in DISTANCE_BINS else "segment"
    return frame[frame[column] == segment.value]


def kl_k3(delta: Floats) -> float:
    """Schulman's k3 estimate of KL(reference‖candidate): mean of exp(d) - 1 - d, d [T] the
    log-ratio candidate over reference (http://joschu.net/blog/kl-approx.html), nats a token."""
    with np.errstate(over="ignore"):
        return float(np.mean(np.expm1(delta) - delta))


def _statistics(part: pd.DataFrame) -> dict[str, float]:
    compared = part[part["compared"]]
    bad = float(part["non_finite_candidate"].sum())
    if compared.empty:
        return {**dict.fromkeys(STATISTICS, float("nan")), "non_finite": bad}
    size = compared["abs_delta"].to_numpy(dtype=np.float64)
    changed, near = compared["top1_differs"], compared["near_tie"]
    return {
        "mean": float(size.mean()),
        **{name: float(np.percentile(size, q)) for name, q in _PERCENTILES.items()},
        "max": float(size.max()),
        "kl_k3": kl_k3(compared["delta"].to_numpy(dtype=np.float64)),
        "kl_top_k": float(compared["kl_top_k"].mean(skipna=False)),
        "top1_changed": float((changed & ~near).mean()),
        "near_ties": float((changed & near).mean()),
        "non_finite": bad,
    }


def _with_divergences(frame: pd.DataFrame, unit: float) -> pd.DataFrame:
    """What the statistics need of `frame`, with what the alternatives of both sides say."""
    reference, candidate = _alternatives(frame, "reference"), _alternatives(frame, "candidate")
    return frame[list(_NEEDED)].assign(
        kl_top_k=kl_top_k(reference, candidate),
        top1_differs=top1_differs(reference, candidate),
        near_tie=near_tie(reference, candidate, unit),
    )


def _alternatives(frame: pd.DataFrame, side: str) -> Alternatives:
    return alternatives(frame[f"{side}_top_tokens"], frame[f"{side}_top_logprobs"])
