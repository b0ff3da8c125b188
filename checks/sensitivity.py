"""Could the check have failed? What every check would have seen of a state lost on purpose."""

import math
from collections.abc import Iterable, Sequence

from linattn_verify.checks.as_if import as_if
from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.judging import ended_badly
from linattn_verify.checks.registry import CheckSpec, run_checks
from linattn_verify.checks.result import CheckResult, Sensitivity, Verdict
from linattn_verify.checks.signal import without_signal
from linattn_verify.checks.strength import Strength, strength
from linattn_verify.configs.faults import parse_fault
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Scenario

LEAST = 3.0
"""How far above its limit a check's loudest statistic must be when the state is lost: a smaller
part of the state, or a loss at fewer edges, would not be seen at all."""


def sensitivity(
    specs: Sequence[CheckSpec], evidence: Evidence, results: Iterable[CheckResult]
) -> tuple[Sensitivity, ...]:
    """What each check says of each mutation of a scenario that it has answered for. A model that
    keeps no state has none to lose."""
    if evidence.linear_attention is False:
        return ()
    answered = {(result.name, result.scenario) for result in results}
    found = [
        _seen(spec, evidence, mutation)
        for mutation in evidence.plan.scenarios()
        if mutation.mutates is not None
        for spec in specs
        if (spec.name, mutation.mutates) in answered
    ]
    return _weighed(found, {spec.name for spec in specs if spec.coarse})


def held_to(
    results: Iterable[CheckResult], found: Iterable[Sensitivity]
) -> tuple[CheckResult, ...]:
    """The results; a PASS that a lost state would have passed as well is VACUOUS."""
    blind = {(one.check, one.scenario): one for one in found if not one.seen}
    return tuple(_held(result, blind.get((result.name, result.scenario))) for result in results)


def _held(result: CheckResult, blind: Sensitivity | None) -> CheckResult:
    if blind is None or result.verdict is not Verdict.PASS:
        return result
    return result.model_copy(update={"verdict": Verdict.VACUOUS, "message": blind.message})


def _seen(spec: CheckSpec, evidence: Evidence, mutation: Scenario) -> Sensitivity:
    assert mutation.mutates is not None
    fault = parse_fault(mutation.faults[0]).name
    fired = _fired(evidence, mutation)
    if isinstance(fired, str):
        return _sensitivity(spec, mutation, 0, False, Strength("nothing", None, None, 0.0), fired)
    instead = as_if(evidence, mutation)
    (answer,) = (
        result for result in run_checks((spec,), instead) if result.scenario == mutation.mutates
    )
    loudest = strength(answer, evidence.profile.task.margin)
    seen = answer.verdict is Verdict.FAIL and loudest.ratio >= LEAST
    message = (
        f"{fault} is seen: {_measured(loudest)}" if seen else _blind(spec, fault, loudest, answer)
    )
    silent: tuple[str, ...] = ()
    if Leg.PROMPT in spec.legs and mutation.task is None:
        silent = without_signal(instead, instead.scenario(mutation.mutates))
    return _sensitivity(spec, mutation, fired, seen, loudest, message, silent)


def _sensitivity(
    spec: CheckSpec,
    mutation: Scenario,
    fired: int,
    seen: bool,
    loudest: Strength,
    message: str,
    silent: tuple[str, ...] = (),
) -> Sensitivity:
    return Sensitivity(
        check=spec.name,
        scenario=mutation.mutates or "",
        mutation=mutation.name,
        fault=mutation.faults[0],
        fired=fired,
        seen=seen,
        ratio=loudest.ratio if fired and math.isfinite(loudest.ratio) else None,
        statistic=loudest.statistic,
        value=loudest.value,
        limit=loudest.limit,
        message=message,
        without_signal=silent,
    )


def _fired(evidence: Evidence, mutation: Scenario) -> int | str:
    """How often the fault struck; where it did not, the reason why nothing is shown."""
    unshown = f"not shown that a lost state would be seen: {mutation.name}"
    ended = ended_badly(evidence, mutation.name)
    if ended is not None:
        return f"{unshown} {ended[0]}: {ended[1]}"
    fired = evidence.traces[mutation.name].record.faults.get(mutation.faults[0], 0)
    return (
        fired or f"{unshown} carried no state that could be lost: give longer prompts (--prompts)"
    )


def _blind(spec: CheckSpec, fault: str, loudest: Strength, answer: CheckResult) -> str:
    advice = (
        "ask more questions (--limit) or another task"
        if spec.tasks
        else "give longer prompts or others (--prompts)"
    )
    saw = f"would be {answer.verdict}, and see {_measured(loudest)}"
    return f"this workload is blind: with {fault} the check {saw}; {advice}"


def _measured(loudest: Strength) -> str:
    if loudest.ratio == 0:
        return "nothing that moves"
    if loudest.limit is None or loudest.value is None:
        return loudest.statistic
    against = f"{loudest.statistic} {loudest.value:.3g} against a limit of {loudest.limit:.3g}"
    return f"{against} (×{loudest.ratio:.3g})" if math.isfinite(loudest.ratio) else against


def _weighed(found: Sequence[Sensitivity], coarse: set[str]) -> tuple[Sensitivity, ...]:
    """`found`, those of coarse checks with the finer check that saw the loss in the same way of
    serving, be it of a task or of the prompts."""
    finer: dict[str, str] = {}
    for one in found:
        if one.seen and one.check not in coarse:
            finer.setdefault(_way(one.scenario), one.check)
    return tuple(
        one.model_copy(update={"outweighed_by": finer.get(_way(one.scenario))})
        if one.check in coarse and not one.seen
        else one
        for one in found
    )


def _way(scenario: str) -> str:
    return scenario.rpartition("/")[2]
