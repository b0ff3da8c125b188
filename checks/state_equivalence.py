"""Is the state itself right, in every layer, wherever a chunk or a block ends?

Two questions. Is the state that a step leaves the one that a single-step prefill of the same
prefix leaves, up to rounding? And does the next step find, bit for bit, what the last one left, or,
after a prefix-cache hit, what was saved?

The fault it exists for: a convolution or recurrent state that is lost, masked, misplaced or
restored from elsewhere at a chunk edge or block boundary, even of one layer, which
log-probabilities of a small model may hardly show.

What it cannot see: a fault that single-step prefill shares; states at positions where no step ends;
a state that is right and then misread by the step that follows, until that step ends.
"""

import pandas as pd

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.judging import refusal, result_of
from linattn_verify.checks.limits import described, finite, tightest
from linattn_verify.checks.parted import errors_by_place, first_parted
from linattn_verify.checks.registry import check
from linattn_verify.checks.result import CheckResult, LimitOutcome, Verdict, without_scenario
from linattn_verify.checks.state_limits import CHANGED, judge_states, largest_errors
from linattn_verify.checks.states import Carried, Equivalence, carried, equivalence
from linattn_verify.configs.asides import PREFIXES
from linattn_verify.configs.plan import Kind, Need, Scenario

NAME = "state_equivalence"
KINDS = (Kind.FULL, Kind.CHUNKED, Kind.COLD, Kind.WARM)


@check(
    name=NAME,
    fault="a convolution or recurrent state that is lost, masked, misplaced or restored from "
    "elsewhere, even of one layer",
    blind="a fault that single-step prefill shares; positions where no step ends",
    kinds=KINDS,
    needs=(Need.STATES,),
)
def state_equivalence(evidence: Evidence) -> list[CheckResult]:
    """Every scenario's states. A model that keeps none has no answer, and the report says so."""
    if evidence.linear_attention is False:
        return []
    scenarios = [s for s in evidence.judged() if s.states and s.kind in KINDS]
    if not scenarios:
        message = "no scenario was planned whose states are read"
        return [without_scenario(NAME, PREFIXES, Verdict.VACUOUS, message)]
    return [_answer(evidence, scenario) for scenario in scenarios]


def _answer(evidence: Evidence, scenario: Scenario) -> CheckResult:
    against = scenario.model_copy(update={"reference": PREFIXES})
    for one in (scenario, evidence.scenario(PREFIXES)):
        if refused := refusal(evidence, one):
            return result_of(NAME, against, *refused)
    missing = [n for n in (scenario.name, PREFIXES) if n not in evidence.states]
    if missing:
        message = f"the states of {missing[0]} are not there: run the scenario again"
        return result_of(NAME, against, Verdict.ERROR, message)
    states = evidence.states[scenario.name]
    found = equivalence(states, evidence.states[PREFIXES])
    between = carried(states, _saved(evidence, scenario))
    return _judged(evidence, against, found, between)


def _saved(evidence: Evidence, scenario: Scenario) -> pd.DataFrame | None:
    """The states of the scenario that filled the cache."""
    while scenario.after is not None:
        scenario = evidence.scenario(scenario.after)
    return evidence.states.get(scenario.name)


def _judged(
    evidence: Evidence, scenario: Scenario, found: Equivalence, between: Carried
) -> CheckResult:
    outcomes, no_limits = judge_states(evidence, scenario, found, between)
    parted = first_parted(evidence, between.rows, found, outcomes)
    if parted is not None:
        verdict, message = Verdict.FAIL, parted.detail
    elif nothing := _nothing(evidence, scenario, found, between):
        verdict, message = Verdict.VACUOUS, nothing
    elif no_limits:
        verdict, message = Verdict.VACUOUS, no_limits
    else:
        verdict, message = Verdict.PASS, _passed(found, between, outcomes)
    return result_of(
        NAME,
        scenario,
        verdict,
        message,
        metrics=finite(largest_errors(found)),
        limits={} if verdict is Verdict.VACUOUS else outcomes,
        counts=state_counts(found, between),
        parted=parted,
        states=errors_by_place(evidence, found),
    )


def _passed(found: Equivalence, between: Carried, outcomes: dict[str, LimitOutcome]) -> str:
    judged = {name: outcome for name, outcome in outcomes.items() if name != CHANGED}
    tight = tightest(judged) or ""
    restored = int(between.rows["restored"].sum())
    steps = len(between.rows) - restored
    said = f"{len(found.rows)} states within rounding, {described(tight, judged[tight])}"
    if found.without_numbers:
        said += f"; {found.without_numbers} more left a digest alone (states.gib of the profile)"
    said += f"; {steps} found bit for bit as the step before had left them"
    return said + (f", {restored} as they were saved" if restored else "")


def _nothing(
    evidence: Evidence, scenario: Scenario, found: Equivalence, between: Carried
) -> str | None:
    """What is missing for the question to be answered."""
    if found.rows.empty:
        reasons = (
            (found.unmatched, "are at positions where no prefix was prefilled"),
            (found.without_numbers, "left a digest alone: raise states.gib in a profile"),
        )
        why = [f"{count} {reason}" for count, reason in reasons if count]
        return f"no state could be compared: {', '.join(why) or 'none was read'}"
    if scenario.kind is Kind.WARM and not between.rows["restored"].any():
        if between.unmatched:
            return f"{between.unmatched} states were found that nobody was seen to save or leave"
        return "no restored state was read: use prompts longer than a block"
    if scenario.kind is Kind.CHUNKED:
        places = set(zip(between.rows["request"], between.rows["position"], strict=True))
        if not places & _edges(evidence, scenario):
            return "no state was read at a chunk's edge: use longer prompts or a smaller budget"
    return None


def _edges(evidence: Evidence, scenario: Scenario) -> set[tuple[int, int]]:
    """(request, position) of every chunk edge, from the scheduler's record."""
    records = evidence.traces[scenario.name].record.requests
    return {(r.request, part.start) for r in records for part in r.prefill() if part.start}


def state_counts(found: Equivalence, between: Carried) -> dict[str, int]:
    """How many states were compared, or not; how many a step found that the step before had left
    (carried) or that came from the cache (restored), and how many of each had changed."""
    restored, changed = between.rows["restored"].astype(bool), ~between.rows["same"].astype(bool)
    return {
        "states_compared": len(found.rows),
        "states_left_out_no_prefix": found.unmatched,
        "states_left_out_digest_only": found.without_numbers,
        "states_found_by_a_step": len(between.rows),
        "states_carried": int((~restored).sum()),
        "states_carried_changed": int((~restored & changed).sum()),
        "states_restored": int(restored.sum()),
        "states_restored_changed": int((restored & changed).sum()),
        "states_found_unknown": between.unmatched,
    }
