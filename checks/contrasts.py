"""A scenario's errors beside each other: near chunk edges and far from them, in later chunks and in
the first, at this budget and at larger ones.

What a healthy engine's rounding comes to depends on model, dtype and machine, and is the same on
both sides of such a ratio. Both sides have the noise added below which nothing is told apart: the
larger of the floor that was measured in the same run, and of what rounding the logits to their
dtype alone comes to.
"""

from collections.abc import Iterator

import pandas as pd

from linattn_verify.checks.alternatives import unit_in_last_place
from linattn_verify.checks.compare import Comparison, compare
from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.judging import refusal
from linattn_verify.checks.selection import select
from linattn_verify.checks.statistics import in_segment
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.metrics import Segment
from linattn_verify.configs.plan import Kind, Scenario

_NEAR = (Segment.EDGE_0, Segment.EDGE_1_3)
_KINDS = (Kind.CHUNKED, Kind.COLD, Kind.WARM)


def contrasts(evidence: Evidence, scenario: Scenario, comparison: Comparison) -> dict[str, float]:
    """`linattn_verify.configs.metrics.CONTRASTS` → value, of the prompt leg of a scenario. What has
    too few positions on either side is left out."""
    if not evidence.profile.contrasts or scenario.kind not in _KINDS:
        return {}
    least = evidence.profile.min_positions_mean
    noise = _noise(evidence, scenario)
    first = _mean(comparison, (Segment.FIRST,), least)
    later = _mean(comparison, (Segment.LATER,), least)
    near = _mean(comparison, _NEAR, least)
    far = _mean(comparison, (Segment.EDGE_64,), least)
    larger = min(_at_larger_budgets(evidence, scenario, least), default=None)
    found = {
        "contrast.noise": noise,
        "contrast.first": None if first is None else first / noise,
        "contrast.later": _ratio(later, first, noise),
        "contrast.edge": _ratio(near, far, noise),
        "contrast.budget": _ratio(later, larger, noise),
    }
    return {name: value for name, value in found.items() if value is not None}


def _ratio(error: float | None, beside: float | None, noise: float) -> float | None:
    if error is None or beside is None:
        return None
    return (error + noise) / (beside + noise)


def _noise(evidence: Evidence, scenario: Scenario) -> float:
    """Nats. Rounding to the nearest is off by a quarter of a unit in the mean."""
    reference = evidence.traces[scenario.reference or ""].record
    rounding = unit_in_last_place(reference.logits_dtype, reference.top_logit) / 4
    again = (s for s in evidence.plan.scenarios() if s.kind is Kind.AGAIN)
    return max(rounding, *(m for s in again if (m := _error(evidence, s, (Segment.ALL,)))), 0.0)


def _at_larger_budgets(evidence: Evidence, scenario: Scenario, least: int) -> Iterator[float]:
    """Errors in later chunks where the same prompts were cut at fewer places."""
    if scenario.kind is not Kind.CHUNKED:
        return
    for other in evidence.plan.scenarios():
        same = other.kind is Kind.CHUNKED and other.task is None and not other.aside
        if same and other.budget > scenario.budget:
            error = _error(evidence, other, (Segment.LATER,), least)
            if error is not None:
                yield error


def _error(
    evidence: Evidence, scenario: Scenario, segments: tuple[Segment, ...], least: int = 1
) -> float | None:
    """Mean |Δ log-probability| of the prompt leg, nats; None where the scenario cannot be judged or
    has too few positions there."""
    if refusal(evidence, scenario):
        return None
    traces = evidence.traces
    candidate, reference = traces[scenario.name], traces[scenario.reference or ""]
    chosen = select(scenario, candidate.record, Leg.PROMPT, evidence.profile)
    return _mean(compare(candidate, reference, chosen), segments, least)


def _mean(comparison: Comparison, segments: tuple[Segment, ...], least: int) -> float | None:
    compared = comparison.frame[comparison.frame["compared"]]
    rows = pd.concat([in_segment(compared, segment) for segment in segments])
    return float(rows["abs_delta"].mean()) if len(rows) >= least else None
