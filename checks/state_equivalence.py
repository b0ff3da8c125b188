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

import math
from typing import Any

import pandas as pd

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.judging import class_limits, prompt_name, refusal, result_of
from linattn_verify.checks.limits import broken, described, judge_limit, tightest
from linattn_verify.checks.registry import check
from linattn_verify.checks.result import (
    CheckResult,
    How,
    LimitOutcome,
    Parted,
    StateErrors,
    Verdict,
)
from linattn_verify.checks.states import Carried, Equivalence, carried, equivalence
from linattn_verify.configs.asides import PREFIXES
from linattn_verify.configs.metrics import STATE_METRICS
from linattn_verify.configs.plan import Kind, Need, Scenario
from linattn_verify.traces.states import Part

NAME = "state_equivalence"
KINDS = (Kind.FULL, Kind.CHUNKED, Kind.COLD, Kind.WARM)
CHANGED = "states_changed_between_steps"
_UNIT_ROUNDOFF = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24}


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
    scenarios = [s for s in evidence.plan.scenarios() if s.states and s.kind in KINDS]
    if not scenarios:
        message = "no scenario was planned whose states are read"
        return [
            CheckResult(
                name=NAME,
                scenario=PREFIXES,
                reference=None,
                verdict=Verdict.VACUOUS,
                message=message,
            )
        ]
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
    limits, no_limits = _limits(evidence, scenario, found)
    metrics = {f"{part}.error": _worst(found, part) for part in _parts(found)}
    changed = between.rows[~between.rows["same"]]
    outcomes = {
        CHANGED: judge_limit(float(len(changed)), 0.0, "rule of the check"),
        **{
            f"{part}.error": judge_limit(metrics[f"{part}.error"], limit, origin)
            for part, (limit, origin) in limits.items()
        },
    }
    parted = _parted(evidence, between.rows, found, outcomes)
    verdict, message = _verdict(evidence, scenario, found, between, outcomes, parted, no_limits)
    return result_of(
        NAME,
        scenario,
        verdict,
        message,
        metrics={k: v for k, v in metrics.items() if math.isfinite(v)},
        limits=outcomes,
        counts=state_counts(found, between),
        parted=parted,
        states=_errors(evidence, found),
    )


def _verdict(
    evidence: Evidence,
    scenario: Scenario,
    found: Equivalence,
    between: Carried,
    outcomes: dict[str, LimitOutcome],
    parted: Parted | None,
    no_limits: str,
) -> tuple[Verdict, str]:
    if parted is not None:
        return Verdict.FAIL, parted.detail
    nothing = _nothing(evidence, scenario, found, between)
    if nothing:
        return Verdict.VACUOUS, nothing
    judged = {name: o for name, o in outcomes.items() if name != CHANGED}
    if not judged:
        return Verdict.VACUOUS, no_limits
    tight = tightest(judged) or ""
    restored = int(between.rows["restored"].sum())
    steps = len(between.rows) - restored
    said = f"{len(found.rows)} states within rounding, {described(tight, judged[tight])}"
    said += f"; {steps} found bit for bit as the step before had left them"
    return Verdict.PASS, said + (f", {restored} as they were saved" if restored else "")


def _nothing(
    evidence: Evidence, scenario: Scenario, found: Equivalence, between: Carried
) -> str | None:
    """What is missing for the question to be answered."""
    if found.rows.empty:
        return (
            f"no state could be compared: {found.unmatched} at positions where no prefix was "
            f"prefilled, {found.without_numbers} beyond states.gib of the profile"
        )
    if scenario.kind is Kind.WARM and not between.rows["restored"].any():
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


def _limits(
    evidence: Evidence, scenario: Scenario, found: Equivalence
) -> tuple[dict[Part, tuple[float, str]], str]:
    """Limit and origin by part. A state kept in a coarser dtype than the activations is given the
    rounding of its own."""
    trace = evidence.traces[scenario.name].record
    limits, no_limits = class_limits(evidence, trace.engine)
    named = {part: limits.get(STATE_METRICS[part]) for part in _parts(found)}
    missing = [part for part, limit in named.items() if limit is None]
    if missing:
        return {}, no_limits or f"the profile has no limit {STATE_METRICS[missing[0]]}"
    scaled: dict[Part, tuple[float, str]] = {}
    for part, limit in named.items():
        assert limit is not None
        own = {str(d) for d in found.rows.loc[found.rows["part"] == part.value, "dtype"]}
        factor = max(1.0, *(_coarser(dtype, trace.logits_dtype) for dtype in own))
        times = f", times {factor:.3g} for states in {', '.join(sorted(own))}"
        scaled[part] = (limit.limit * factor, limit.origin + (times if factor > 1 else ""))
    return scaled, ""


def _coarser(state: str, activations: str) -> float:
    """How much more a state's dtype rounds than the activations'."""
    unknown = _UNIT_ROUNDOFF["float32"]
    return _UNIT_ROUNDOFF.get(state, unknown) / _UNIT_ROUNDOFF.get(activations, unknown)


def _parts(found: Equivalence) -> list[Part]:
    return [part for part in Part if (found.rows["part"] == part.value).any()]


def _worst(found: Equivalence, part: Part) -> float:
    return float(found.rows.loc[found.rows["part"] == part.value, "error"].max())


def _parted(
    evidence: Evidence,
    between: pd.DataFrame,
    found: Equivalence,
    outcomes: dict[str, LimitOutcome],
) -> Parted | None:
    """Where the states first part: what a step found is exact, so it comes before an error that
    only a limit tells from rounding."""
    changed = between[~between["same"]]
    if len(changed):
        row = changed.iloc[0].to_dict()
        how: How = "not restored" if row["restored"] else "not carried"
        return _place(evidence, row, how, None, _changed(row), _tally(changed, between))
    if not broken({k: o for k, o in outcomes.items() if k != CHANGED}):
        return None
    limit = found.rows["part"].map(lambda part: outcomes[f"{part}.error"].limit)
    beyond = found.rows[~(found.rows["error"] <= limit)]
    row = beyond.iloc[0].to_dict()
    error = float(row["error"])
    outcome = outcomes[f"{row['part']}.error"]
    size = f"relative error {error:.3g}" if math.isfinite(error) else "NaN or infinity"
    seen = f"{size} (limit {outcome.limit:.3g})"
    known = error if math.isfinite(error) else None
    return _place(evidence, row, "differs", known, seen, _tally(beyond, found.rows))


def _changed(row: dict[Any, Any]) -> str:
    """What the step found in place of what was left."""
    now, before = float(row["norm"]), float(row["norm_left"])
    what = f"another state (norm {now:.3g}, left with {before:.3g})"
    if now == 0:
        what = "zeros"
    elif not math.isfinite(now):
        what = "NaN or infinity"
    return f"the step found {what}"


def _tally(hit: pd.DataFrame, among: pd.DataFrame) -> str:
    """How many states of each part are hit, and in how many layers."""
    counts, of = hit["part"].value_counts(), among["part"].value_counts()
    said = [f"{int(counts.get(part, 0))} of {n} {part}" for part, n in sorted(of.items())]
    layers = f"{hit['index'].nunique()} of {among['index'].nunique()} layers"
    return f"{' and '.join(said)} states are wrong, in {layers}"


def _place(
    evidence: Evidence,
    row: dict[Any, Any],
    how: How,
    error: float | None,
    seen: str,
    spread: str,
) -> Parted:
    request, position = int(row["request"]), int(row["position"])
    edge, index = int(row["edge"]), int(row["index"])
    prompt = prompt_name(evidence, request)
    at = f"edge {edge}" if edge else "restored from the cache"
    words = {"not carried": "state not carried", "not restored": "state not restored"}
    said = (
        f"{words.get(how, 'state differs')} first at token {position} of {prompt} ({at}), layer "
        f"{index} ({row['layer']}), {row['part']}: {seen}; {spread}"
    )
    return Parted(
        how=how,
        request=request,
        prompt=prompt,
        position=position,
        edge=edge,
        layer=str(row["layer"]),
        index=index,
        kind=str(row["kind"]),
        part=str(row["part"]),
        error=error,
        found=seen,
        spread=spread,
        detail=said,
    )


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


def _errors(evidence: Evidence, found: Equivalence) -> tuple[StateErrors, ...]:
    """The relative error of every layer, by request, position and part."""
    places: dict[tuple[int, int, int, str], dict[str, float]] = {}
    for row in found.rows.to_dict("records"):
        key = int(row["request"]), int(row["position"]), int(row["edge"]), str(row["part"])
        layers = places.setdefault(key, {})
        layer, error = str(row["layer"]), float(row["error"])
        layers[layer] = max(error, layers.get(layer, 0.0))
    return tuple(
        StateErrors(
            request=request,
            prompt=prompt_name(evidence, request),
            position=position,
            edge=edge,
            part=part,
            by_layer={k: v if math.isfinite(v) else None for k, v in layers.items()},
        )
        for (request, position, edge, part), layers in sorted(places.items())
    )
