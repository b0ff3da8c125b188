"""From a run's evidence to what is known of one scenario that fails."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import pandas as pd

from linattn_verify.checks.compare import compare
from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.fault_class import Changed, Signs
from linattn_verify.checks.judging import class_limits
from linattn_verify.checks.result import LimitOutcome, Parted, Verdict
from linattn_verify.checks.selection import everyone, pass_of
from linattn_verify.checks.states import carried
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Scenario
from linattn_verify.traces.schema import RequestRecord

_SAME_NORM = 0.05
"""Relative; half the bits of a bfloat16 leave 2 % of a number's size, as FP8 (E5M2), 12 % at most,
of random sign: the norm of thousands of numbers hardly moves."""
_FEW = 8
"""Positions below which a mean is no better than its worst."""
_LEGS = (Leg.PROMPT, Leg.DECODE, Leg.CUT)


class Answer(Protocol):
    """A check's answer, as the check gave it or as a report holds it."""

    @property
    def name(self) -> str: ...
    @property
    def scenario(self) -> str: ...
    @property
    def verdict(self) -> Verdict: ...
    @property
    def message(self) -> str: ...
    @property
    def limits(self) -> Mapping[str, LimitOutcome]: ...
    @property
    def parted(self) -> Parted | None: ...


def signs_of(evidence: Evidence, results: Sequence[Answer], scenario: Scenario) -> Signs:
    """The signs of one scenario, from the answers of every check and the traces."""
    own = [r for r in results if r.scenario == scenario.name]
    failed = [r for r in own if r.verdict is Verdict.FAIL]
    parted = next((r.parted for r in failed if r.parted), None)
    limits = [name for r in failed for name, outcome in r.limits.items() if not outcome.holds]
    hygiene = [r.message for r in failed if r.name == "cache_hygiene"]
    return Signs(
        kind=scenario.kind,
        memory=hygiene[0] if hygiene else "",
        parted=parted,
        states_right=any(r.name == "state_equivalence" and r.verdict is Verdict.PASS for r in own),
        prompt_tokens=_prompt_tokens(evidence, scenario, parted.request) if parted else None,
        changed=_changed(evidence, scenario),
        broken=frozenset(name.rsplit(".", 1)[0] for name in limits),
        one_token=_one_token(evidence, scenario),
        output_from=_output_from(evidence, scenario),
    )


def _prompt_tokens(evidence: Evidence, scenario: Scenario, request: int) -> int | None:
    trace = evidence.traces.get(scenario.name)
    records = trace.record.requests if trace else ()
    return next((r.prompt_tokens for r in records if r.request == request), None)


def _changed(evidence: Evidence, scenario: Scenario) -> dict[str, Changed]:
    states = evidence.states.get(scenario.name)
    if states is None:
        return {}
    first = scenario
    while first.after is not None:
        first = evidence.scenario(first.after)
    rows = carried(states, evidence.states.get(first.name)).rows
    return {str(part): _of_part(of) for part, of in rows.groupby("part")}


def _of_part(rows: pd.DataFrame) -> Changed:
    wrong = rows[~rows["same"].astype(bool)]
    places = set(zip(wrong["request"], wrong["position"], strict=True))
    here = [place in places for place in zip(rows["request"], rows["position"], strict=True)]
    change = (wrong["norm"] - wrong["norm_left"]).abs() / wrong["norm_left"].abs()
    return Changed(
        wrong=len(wrong),
        of=len(rows),
        every_layer=len(wrong) == sum(here),
        rounded=bool(len(wrong)) and bool((change <= _SAME_NORM).all()),
    )


def _one_token(evidence: Evidence, scenario: Scenario) -> bool:
    """Whether there are wrong requests, and each has a first step of one token."""
    every = [
        (record, wrong) for leg in _LEGS for record, wrong in _requests(evidence, scenario, leg)
    ]
    bad = [record for record, wrong in every if wrong]
    return bool(bad) and len(bad) < len(every) and all(map(_begins_with_one, bad))


def _begins_with_one(record: RequestRecord) -> bool:
    return bool(record.slices) and record.slices[0].tokens == 1


def _requests(
    evidence: Evidence, scenario: Scenario, leg: Leg
) -> Iterable[tuple[RequestRecord, bool]]:
    """Each request of the leg's pass, and whether its log-probabilities there are wrong."""
    rows, limit = _deltas(evidence, scenario, leg)
    if rows is None or limit is None:
        return
    for record in evidence.traces[scenario.name].record.requests:
        if record.leg is not pass_of(scenario.kind, leg):
            continue
        own = rows[rows["request"] == record.request]
        if leg is Leg.CUT:
            own = own[own["position"] == record.prompt_tokens]
        if len(own):
            most = limit if len(own) >= _FEW else 10 * limit
            mean = float(own["abs_delta"].mean())
            yield record, bool(own["non_finite_candidate"].any()) or mean > most


def _output_from(evidence: Evidence, scenario: Scenario) -> int | None:
    rows, limit = _deltas(evidence, scenario, Leg.DECODE)
    if rows is None or limit is None:
        return None
    first = rows.groupby("request")["position"].transform("min")
    means = rows.groupby(rows["position"] - first)["abs_delta"].mean()
    wrong = means[~(means <= 3 * limit)]
    return None if wrong.empty else int(wrong.index[0])


def _deltas(
    evidence: Evidence, scenario: Scenario, leg: Leg
) -> tuple[pd.DataFrame | None, float | None]:
    """Positions of a leg that both sides have computed, and the limit of their mean |Δ|, nats."""
    rows = None if scenario.kind is Kind.FULL else computed(evidence, scenario, leg)
    if rows is None:
        return None, None
    limits, _ = class_limits(evidence, evidence.traces[scenario.name].record.engine)
    limit = limits.get("mean")
    return rows, limit.limit if limit else None


def computed(evidence: Evidence, scenario: Scenario, leg: Leg) -> pd.DataFrame | None:
    """Positions of a leg that both sides have computed, of every request, as in `Comparison`; None
    where a side is not there or has no such leg."""
    candidate = evidence.traces.get(scenario.name)
    reference = evidence.traces.get(scenario.reference or "")
    if candidate is None or reference is None or leg not in scenario.legs:
        return None
    selection = everyone(scenario, candidate.record, leg)
    if not selection.records:
        return None
    frame = compare(candidate, reference, selection).frame
    return frame[frame["compared"] | frame["non_finite_candidate"]]
