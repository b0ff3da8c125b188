"""Which scenarios fail, which one to look into, and which of its requests are wrong."""

from collections.abc import Sequence

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.fault_class import classify
from linattn_verify.checks.judging import class_limits
from linattn_verify.checks.localised import ClassedScenario
from linattn_verify.checks.result import Verdict
from linattn_verify.checks.selection import everyone
from linattn_verify.checks.signs import Answer, computed, signs_of
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Scenario
from linattn_verify.traces.store import Trace

_FIRST = (Kind.CHUNKED, Kind.COLD, Kind.WARM, Kind.FULL)
"""What is nearer to the cause: what goes wrong in one prefill goes wrong in a cache too."""
WINDOW_FACTOR = 3
"""A mean of few positions is this much noisier than the limit for the mean of many."""
Deltas = dict[int, float]


def failing(evidence: Evidence, results: Sequence[Answer]) -> list[Scenario]:
    """Scenarios that serve the prompts, left a trace, and that a check fails: those nearest to the
    cause first, and of budgets the largest."""
    failed = {r.scenario for r in results if r.verdict is Verdict.FAIL}
    found = [
        s
        for s in evidence.judged()
        if s.name in failed and s.task is None and s.name in evidence.traces
    ]
    return sorted(
        found, key=lambda s: (s.tight, s.twin is not None, _FIRST.index(s.kind), -s.budget)
    )


def classed(evidence: Evidence, results: Sequence[Answer], scenario: Scenario) -> ClassedScenario:
    """The class of what is wrong in one scenario."""
    found = classify(signs_of(evidence, results, scenario))
    return ClassedScenario(
        scenario=scenario.name, fault_class=found.fault_class, because=found.because
    )


def output_limits(evidence: Evidence, scenario: Scenario) -> dict[str, float] | None:
    """What a script without this tool tolerates, nats: the `largest` |Δ| and the `mean` of a few
    positions in a row; None where the profile has no limits for the dtype."""
    trace = evidence.traces[scenario.name]
    limits, _ = class_limits(evidence, trace.record.engine)
    if not {"mean", "max"} <= limits.keys():
        return None
    return {"mean": WINDOW_FACTOR * limits["mean"].limit, "largest": limits["max"].limit}


def deltas(evidence: Evidence, scenario: Scenario, *legs: Leg) -> dict[int, Deltas]:
    """|Δ log-probability| by request and position, nats, NaN where the candidate has no number;
    of all that both sides have computed in these legs."""
    found: dict[int, Deltas] = {}
    for leg in legs:
        rows = computed(evidence, scenario, leg)
        for row in [] if rows is None else rows.to_dict("records"):
            gap = float("nan") if row["non_finite_candidate"] else float(row["abs_delta"])
            found.setdefault(int(row["request"]), {})[int(row["position"])] = gap
    return found


def first_edge(trace: Trace, scenario: Scenario, request: int, wrong_from: int) -> int | None:
    """The last edge, or end of a restored prefix, before position `wrong_from` of a request."""
    for record in everyone(scenario, trace.record, Leg.PROMPT).records:
        if record.request == request:
            starts = [s.start for s in record.prefill() if 0 < s.start < wrong_from]
            return max(starts, default=None)
    return None
