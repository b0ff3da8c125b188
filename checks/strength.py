"""How strongly a check would have answered: its largest value as a multiple of its limit."""

import math
from dataclasses import dataclass

from linattn_verify.checks.result import CheckResult, LimitOutcome, Score, Verdict

_EXPONENTIAL = "kl_k3"
"""It grows with the exponential of a difference: a multiple of its limit says nothing of how much
smaller a loss would still be seen."""


@dataclass(frozen=True)
class Strength:
    """The statistic that speaks loudest."""

    statistic: str
    value: float | None
    limit: float | None
    ratio: float
    """value / limit: infinite where anything at all is too much, and where a rule without a
    measure is broken."""


def strength(result: CheckResult, margin: float) -> Strength:
    """The strongest of the result's statistics. `margin`: the drop of a task's score that must be
    excluded, as a share; a task is measured by the drop that was seen, not by the one that so few
    questions cannot exclude."""
    found = (
        [_drop(score, margin) for score in result.scores]
        if result.scores
        else [_of(n, o) for n, o in result.limits.items() if not n.endswith(_EXPONENTIAL)]
    )
    if result.verdict is Verdict.FAIL and all(one.ratio <= 1 for one in found):
        found.append(Strength(result.message, None, None, math.inf))
    return max(found, key=lambda one: one.ratio, default=Strength("nothing", None, None, 0.0))


def _of(name: str, outcome: LimitOutcome) -> Strength:
    if outcome.value is None:
        return Strength(name, None, outcome.limit, math.inf)
    return Strength(name, outcome.value, outcome.limit, _ratio(outcome.value, outcome.limit))


def _drop(score: Score, margin: float) -> Strength:
    drop = max(0.0, -score.paired.difference) if score.paired else 0.0
    return Strength(f"{score.filter}.drop", drop, margin, _ratio(drop, margin))


def _ratio(value: float, limit: float) -> float:
    if limit > 0:
        return value / limit
    return math.inf if value > 0 else 0.0
