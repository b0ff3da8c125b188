"""How far states may be from a single-step prefill's: the profile's limits, by part of a state."""

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.judging import class_limits
from linattn_verify.checks.limits import judge_limit
from linattn_verify.checks.result import LimitOutcome
from linattn_verify.checks.states import Carried, Equivalence
from linattn_verify.configs.metrics import STATE_METRICS
from linattn_verify.configs.plan import Scenario
from linattn_verify.traces.states import Part

CHANGED = "states_changed_between_steps"
_UNIT_ROUNDOFF = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24}


def error_of(part: object) -> str:
    """The metric of a part's largest relative error."""
    return f"{part}.error"


def largest_errors(found: Equivalence) -> dict[str, float]:
    """The largest relative error of each part, by metric; inf where one is no number."""
    by_part = found.rows.groupby("part", sort=True)["error"].max()
    return {error_of(part): float(error) for part, error in by_part.items()}


def judge_states(
    evidence: Evidence, scenario: Scenario, found: Equivalence, between: Carried
) -> tuple[dict[str, LimitOutcome], str]:
    """Every limit kept or broken, and the reason where the profile has none for the errors. What a
    step finds has to be exact."""
    changed = int((~between.rows["same"].astype(bool)).sum())
    exact = {CHANGED: judge_limit(float(changed), 0.0, "rule of the check")}
    trace = evidence.traces[scenario.name].record
    limits, no_limits = class_limits(evidence, trace.engine)
    parts = [part for part in Part if (found.rows["part"] == part.value).any()]
    missing = [part for part in parts if STATE_METRICS[part] not in limits]
    if missing:
        return exact, no_limits or f"the profile has no limit {STATE_METRICS[missing[0]]}"
    errors = largest_errors(found)
    for part in parts:
        limit = limits[STATE_METRICS[part]]
        factor, origin = _scaled(found, part, trace.logits_dtype, limit.origin)
        name = error_of(part)
        exact[name] = judge_limit(errors[name], limit.limit * factor, origin)
    return exact, ""


def _scaled(found: Equivalence, part: Part, activations: str, origin: str) -> tuple[float, str]:
    """A state kept in a coarser dtype than the activations is given the rounding of its own."""
    own = {str(dtype) for dtype in found.rows.loc[found.rows["part"] == part.value, "dtype"]}
    factor = max(1.0, *(_coarser(dtype, activations) for dtype in own))
    times = f", times {factor:.3g} for states in {', '.join(sorted(own))}"
    return factor, origin + (times if factor > 1 else "")


def _coarser(state: str, activations: str) -> float:
    """How much more a state's dtype rounds than the activations'."""
    unknown = _UNIT_ROUNDOFF["float32"]
    return _UNIT_ROUNDOFF.get(state, unknown) / _UNIT_ROUNDOFF.get(activations, unknown)
