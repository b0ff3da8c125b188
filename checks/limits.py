"""Metrics against what a profile tolerates."""

import math
from collections.abc import Mapping

from linattn_verify.checks.result import LimitOutcome, Paired
from linattn_verify.configs.metrics import most_specific
from linattn_verify.configs.profile import Limit


def judge_limits(
    metrics: Mapping[str, float], limits: Mapping[str, Limit]
) -> dict[str, LimitOutcome]:
    """An outcome for every metric that a limit governs, the most specific one."""
    governed = {metric: most_specific(limits, metric) for metric in metrics}
    return {
        metric: judge_limit(metrics[metric], limits[key].limit, limits[key].origin)
        for metric, key in governed.items()
        if key is not None
    }


def judge_limit(value: float, limit: float, origin: str) -> LimitOutcome:
    """One value against one limit. A value that is not finite never holds."""
    if not math.isfinite(value):
        return LimitOutcome(value=None, limit=limit, origin=origin, holds=False, margin=None)
    margin = limit / value if value > 0 else math.inf
    return LimitOutcome(
        value=value,
        limit=limit,
        origin=origin,
        holds=value <= limit,
        margin=margin if math.isfinite(margin) else None,
    )


def judge_floor(value: float, floor: float, origin: str) -> LimitOutcome:
    """One value against the smallest that passes; its margin is value / floor."""
    margin = value / floor if floor > 0 else None
    return LimitOutcome(
        value=value, limit=floor, origin=origin, holds=value >= floor, margin=margin
    )


def tightest(outcomes: Mapping[str, LimitOutcome]) -> str | None:
    """The metric with the smallest margin, those that could not be measured first."""
    return min(outcomes, key=lambda metric: room(outcomes[metric]), default=None)


def broken(outcomes: Mapping[str, LimitOutcome]) -> dict[str, LimitOutcome]:
    """The outcomes that do not hold."""
    return {metric: outcome for metric, outcome in outcomes.items() if not outcome.holds}


def finite(metrics: Mapping[str, float]) -> dict[str, float]:
    """The metrics that have a value."""
    return {metric: value for metric, value in metrics.items() if math.isfinite(value)}


def described(metric: str, outcome: LimitOutcome) -> str:
    """One metric in words: value, limit and margin."""
    if outcome.value is None:
        return f"{metric} could not be measured (limit {outcome.limit:.4g})"
    margin = "" if outcome.margin is None else f", margin {outcome.margin:.3g}"
    return f"{metric} {outcome.value:.4g} (limit {outcome.limit:.4g}{margin})"


def points(share: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    return f"{100 * share:+.1f}"


def difference(paired: Paired) -> str:
    """A paired difference in points, with its 95 % interval."""
    return f"{points(paired.difference)} [{points(paired.low)}, {points(paired.high)}]"


def room(outcome: LimitOutcome) -> float:
    """The margin, as a number to sort by: a value that could not be measured comes first."""
    if outcome.value is None:
        return -1.0
    return math.inf if outcome.margin is None else outcome.margin
