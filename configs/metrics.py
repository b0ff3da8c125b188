"""The names that a metric can have: `<leg>.<segment>.<statistic>`."""

from collections.abc import Mapping
from enum import StrEnum

from linattn_verify.configs.errors import unknown
from linattn_verify.configs.legs import Leg

STATISTICS: dict[str, str] = {
    "mean": "mean of |Δ log-probability|, nats",
    "p50": "median of |Δ log-probability|, nats",
    "p90": "90th percentile of |Δ log-probability|, nats",
    "p99": "99th percentile of |Δ log-probability|, nats",
    "p99_9": "99.9th percentile of |Δ log-probability|, nats",
    "max": "largest |Δ log-probability|, nats",
    "kl_k3": "KL(reference‖candidate) by the k3 estimate over the forced tokens, nats a token",
    "kl_top_k": "KL(reference‖candidate) over the reference's top k and the rest, nats a token",
    "top1_changed": "share of positions whose most likely token changed, near-ties left out",
    "near_ties": "share of positions whose most likely token changed within one unit in the "
    "last place of the logits' dtype",
    "non_finite": "positions where the candidate's log-probability is NaN or infinite",
}
"""Every statistic, with what it says and its unit."""


STATE_METRICS: dict[str, str] = {
    "convolution": "state.convolution",
    "recurrent": "state.recurrent",
}
"""By part of a state, the metric that a profile limits: the largest relative error of any layer's
state, Euclidean, against the one that a single-step prefill of the same prefix leaves."""

CONTRASTS: dict[str, str] = {
    "contrast.noise": "what cannot be told from rounding, mean |Δ log-probability|, nats",
    "contrast.first": "error in first chunks, over the noise",
    "contrast.later": "error in later chunks, over that in first chunks",
    "contrast.edge": "error up to 3 tokens after a chunk's edge, over that from 64 tokens on",
    "contrast.budget": "error in later chunks, over the least at any larger budget",
}
"""Ratios of errors on the prompt leg, mean |Δ log-probability|, both sides with the noise added."""
DOUBTS: dict[str, str] = {
    "contrast.first": "the first chunk, which continues nothing, is not the reference's: the "
    "scenarios differ in something other than chunking",
}
"""Metrics that say no more, where they alone are beyond their limits, than that others cannot be
believed; and why."""


class Segment(StrEnum):
    """Which positions a statistic covers, by the chunk that computed them."""

    ALL = "all"
    FIRST = "first"
    LATER = "later"
    EDGE_0 = "edge+0"
    EDGE_1_3 = "edge+1..3"
    EDGE_4_15 = "edge+4..15"
    EDGE_16_63 = "edge+16..63"
    EDGE_64 = "edge+64.."


DISTANCE_BINS: dict[Segment, tuple[int, int | None]] = {
    Segment.EDGE_0: (0, 1),
    Segment.EDGE_1_3: (1, 4),
    Segment.EDGE_4_15: (4, 16),
    Segment.EDGE_16_63: (16, 64),
    Segment.EDGE_64: (64, None),
}
"""Distance of the computing position from the last chunk edge, half-open [from, to). The first
four positions are what a lost convolution window of width 4 can touch."""


def check_key(key: str) -> None:
    """Raise UsageError where `key` governs no metric (see `most_specific`)."""
    if key.startswith("state."):
        if key not in STATE_METRICS.values():
            raise unknown("metric", key, STATE_METRICS.values())
        return
    if key.startswith("contrast."):
        if key not in CONTRASTS:
            raise unknown("metric", key, CONTRASTS)
        return
    *narrowed, statistic = key.rsplit(".", 1)
    if statistic not in STATISTICS:
        raise unknown("statistic", statistic, STATISTICS, key)
    legs, segments = tuple(map(str, Leg)), tuple(map(str, Segment))
    if not narrowed or narrowed[0] in (*legs, *segments):
        return
    leg, _, segment = narrowed[0].partition(".")
    if leg not in legs:
        raise unknown("leg or segment", narrowed[0], (*legs, *segments), key)
    if segment not in segments:
        raise unknown("segment", segment, segments, key)


def most_specific(limits: Mapping[str, object], metric: str) -> str | None:
    """The key of `limits` that governs `metric`: `leg.segment.statistic`, `leg.statistic`,
    `segment.statistic` or `statistic`, the longest that is there. Leg and statistic hold no dot,
    so a segment such as `edge+1..3` may."""
    if metric in CONTRASTS:
        return metric if metric in limits else None
    leg, rest = metric.split(".", 1)
    segment, statistic = rest.rsplit(".", 1)
    candidates = (metric, f"{leg}.{statistic}", f"{segment}.{statistic}", statistic)
    return next((key for key in candidates if key in limits), None)
