"""The way from evidence to a verdict that every comparing check shares."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.proofs import proofs_of
from linattn_verify.checks.result import CheckResult, Verdict, without_scenario
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Scenario
from linattn_verify.configs.profile import Limit
from linattn_verify.traces.outcome import Outcome, Status
from linattn_verify.traces.store import Trace

VERDICT_OF_STATUS: dict[Status, Verdict] = {
    Status.CRASHED: Verdict.FAIL,
    Status.TIMED_OUT: Verdict.FAIL,
    Status.UNSUPPORTED: Verdict.UNSUPPORTED,
    Status.NOT_RUN: Verdict.VACUOUS,
    Status.ERROR: Verdict.ERROR,
}
"""What a scenario that did not end well says of itself, where it is not the reference."""


@dataclass(frozen=True)
class Pair:
    """One question put to one scenario and its reference, both proven."""

    check: str
    evidence: Evidence
    scenario: Scenario
    candidate: Trace
    reference: Trace

    def result(self, verdict: Verdict, message: str, **more: Any) -> CheckResult:
        """The check's answer for this scenario."""
        return result_of(self.check, self.scenario, verdict, message, **more)

    def prompt(self, request: int) -> str:
        """The name of a request's prompt."""
        return prompt_name(self.evidence, request)


Judge = Callable[[Pair], CheckResult]


def each_scenario(
    name: str, kinds: Sequence[Kind], evidence: Evidence, judge: Judge
) -> list[CheckResult]:
    """`judge`'s answer for every planned scenario of `kinds`; where the evidence does not allow
    the question, the verdict that says so. No such scenario at all is VACUOUS."""
    scenarios = [s for s in evidence.judged() if s.kind in kinds and is_plain(s)]
    return judged_each(name, kinds, scenarios, evidence, judge)


def judged_each(
    name: str,
    kinds: Sequence[Kind],
    scenarios: Sequence[Scenario],
    evidence: Evidence,
    judge: Judge,
) -> list[CheckResult]:
    """The same for `scenarios`, those of `kinds` that are meant."""
    if scenarios:
        return [_answer(name, scenario, evidence, judge) for scenario in scenarios]
    wanted = ", ".join(kinds)
    message = f"no {wanted} scenario was planned: plan one, or leave this check out"
    return [without_scenario(name, wanted, Verdict.VACUOUS, message)]


def is_plain(scenario: Scenario) -> bool:
    """Whether it serves the prompts for every check, not for one alone."""
    return scenario.task is None and not scenario.aside


def prompt_name(evidence: Evidence, request: int) -> str:
    """The name of a request's prompt, or its number where the workload has no such prompt."""
    names = evidence.prompt_names
    return names[request] if 0 <= request < len(names) else f"request {request}"


def dtype_of(evidence: Evidence, engine: str) -> str | None:
    """The dtype that the engine resolved, as profiles spell it."""
    settings = evidence.engines.get(engine)
    value = settings.resolved.get("dtype") if settings else None
    return None if value is None else str(value).removeprefix("torch.")


def class_limits(evidence: Evidence, engine: str) -> tuple[dict[str, Limit], str]:
    """The profile's limits for the dtype of an engine, and, where there are none, the reason."""
    dtype = dtype_of(evidence, engine)
    if dtype is None:
        return {}, "the engine did not say which dtype it resolved"
    by_dtype: dict[str, dict[str, Limit]] = dict(evidence.profile.limits.items())
    limits = by_dtype.get(dtype, {})
    if evidence.experts:
        limits = by_dtype.get(f"{dtype}-moe", limits)
    return limits, "" if limits else f"the profile has no limits for dtype {dtype}"


def ended_badly(evidence: Evidence, scenario: str) -> tuple[Status, str] | None:
    """Status and reason of a scenario that has no trace to judge; None where it has."""
    outcome = evidence.outcomes.get(scenario)
    if outcome is None:
        return Status.NOT_RUN, "it has no outcome"
    if outcome.status is not Status.DONE:
        return outcome.status, outcome.message or "no reason given"
    if scenario not in evidence.traces:
        return Status.ERROR, _without_trace(outcome)
    return None


def _without_trace(outcome: Outcome) -> str:
    return f"it ended well but its trace {outcome.trace or ''} is not there".replace("  ", " ")


def _answer(name: str, scenario: Scenario, evidence: Evidence, judge: Judge) -> CheckResult:
    refused = refusal(evidence, scenario)
    if refused:
        return result_of(name, scenario, *refused)
    assert scenario.reference is not None  # _not_served refuses such a scenario
    traces = evidence.traces
    pair = Pair(name, evidence, scenario, traces[scenario.name], traces[scenario.reference])
    return judge(pair)


def refusal(evidence: Evidence, scenario: Scenario) -> tuple[Verdict, str] | None:
    """The verdict where the scenario cannot be judged: it, or its reference, did not end well or
    is not proven. None where it can."""
    names = tuple(filter(None, (scenario.name, scenario.reference)))
    return _not_served(evidence, scenario) or unproven(evidence, names)


def _not_served(evidence: Evidence, scenario: Scenario) -> tuple[Verdict, str] | None:
    """The verdict where the scenario or its reference did not end well."""
    own = ended_badly(evidence, scenario.name)
    if scenario.reference is None:
        if scenario.kind is not Kind.FULL:
            return Verdict.ERROR, f"{scenario.name} was planned without a reference"
        if own is None:
            return None
        verdict = Verdict.UNSUPPORTED if own[0] is Status.UNSUPPORTED else Verdict.ERROR
        return verdict, f"the reference {scenario.name} {own[0]}: {own[1]}"
    reference = ended_badly(evidence, scenario.reference)
    if own and own[0] is not Status.NOT_RUN:
        return VERDICT_OF_STATUS[own[0]], f"{scenario.name} {own[0]}: {own[1]}"
    if reference:
        text = f"the reference {scenario.reference} {reference[0]}: {reference[1]}"
        return _without_reference(evidence, scenario, reference[0], ran=own is None), text
    return (Verdict.VACUOUS, f"{scenario.name} {own[0]}: {own[1]}") if own else None


def _without_reference(
    evidence: Evidence, scenario: Scenario, status: Status, ran: bool
) -> Verdict:
    """A broken reference of the run is an ERROR: it says nothing of what was to be compared with
    it. Where a scenario under test is itself the reference, its own FAIL is enough."""
    if status is Status.UNSUPPORTED:
        return Verdict.UNSUPPORTED
    of_the_run = evidence.scenario(scenario.reference or "").reference is None
    return Verdict.ERROR if of_the_run or ran else Verdict.VACUOUS


def unproven(evidence: Evidence, names: Sequence[str]) -> tuple[Verdict, str] | None:
    """VACUOUS where a proof of one of these scenarios does not hold."""
    for name in names:
        for proof in proofs_of(evidence, name):
            if not proof.holds:
                text = f"expected {proof.expected}, observed {proof.observed}"
                return Verdict.VACUOUS, f"{name}: proof {proof.name} does not hold: {text}"
    return None


def result_of(
    name: str, scenario: Scenario, verdict: Verdict, message: str, **more: Any
) -> CheckResult:
    """A check's answer for a scenario."""
    return CheckResult(
        name=name,
        scenario=scenario.name,
        reference=scenario.reference,
        verdict=verdict,
        message=message,
        **more,
    )


def planned_legs(pair: Pair, legs: Sequence[Leg]) -> tuple[Leg, ...]:
    """Those of `legs` that the scenario has."""
    return tuple(leg for leg in legs if leg in pair.scenario.legs)
