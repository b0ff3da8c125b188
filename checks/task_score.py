"""Does a task's score survive chunked prefill and prefix caching?

The answers of every scenario are compared with those of full prefill question by question, by
lm-eval's own filters and scores. The fault it exists for: answers that get worse where a state is
lost, or decays as a cache is used again and again.

What it cannot see: most faults. A question whose facts stand beside it survives the loss of the
whole state, and so does one that the model gets wrong anyway; the numeric checks are for those.
"""

from collections.abc import Iterable, Sequence

import pandas as pd

from linattn_verify.checks.answered import Answered, answered
from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.flips import flips_of
from linattn_verify.checks.judging import refusal, result_of
from linattn_verify.checks.limits import judge_floor, judge_limit
from linattn_verify.checks.paired import Table, compare_paired
from linattn_verify.checks.registry import check
from linattn_verify.checks.result import (
    CheckResult,
    Flip,
    LimitOutcome,
    Paired,
    Score,
    Verdict,
    overall,
    without_scenario,
)
from linattn_verify.checks.usable import NOT_BINARY, Use, mean_score, right_or_wrong, usefulness
from linattn_verify.configs.plan import Scenario

NAME = "task_score"
_NOT_JUDGED = (Verdict.VACUOUS, Verdict.UNSUPPORTED)
_ORIGIN = "the profile's margin: the drop that the 95 % interval must exclude"


@check(
    name=NAME,
    fault="answers that get worse where a state is lost, or decays as the cache is used again",
    blind="most faults: an answer whose facts stand beside the question survives the loss of the "
    "whole state",
    tasks=True,
    coarse=True,
)
def task_score(evidence: Evidence) -> list[CheckResult]:
    """Every scenario of every task against full prefill; full prefill against nothing."""
    scenarios = [s for s in evidence.judged() if s.task is not None]
    if scenarios:
        return [_guarded(evidence, scenario) for scenario in scenarios]
    message = "no task was planned: give --task, or leave this check out"
    return [without_scenario(NAME, "every task", Verdict.VACUOUS, message)]


def _guarded(evidence: Evidence, scenario: Scenario) -> CheckResult:
    """Sides that do not fit together are an ERROR of their scenario, and hide no other's FAIL."""
    try:
        return _answer(evidence, scenario)
    except ValueError as error:
        return result_of(NAME, scenario, Verdict.ERROR, f"the sides do not fit together: {error}")


def _answer(evidence: Evidence, scenario: Scenario) -> CheckResult:
    refused = refusal(evidence, scenario)
    if refused:
        return result_of(NAME, scenario, *refused)
    for name in filter(None, (scenario.name, scenario.reference)):
        if name not in evidence.scores:
            return result_of(NAME, scenario, Verdict.ERROR, f"{name} has no scores")
    own = answered(evidence, scenario.name)
    reference = own if scenario.reference is None else answered(evidence, scenario.reference)
    broken = _not_a_number(scenario, own, reference)
    if broken:
        return result_of(NAME, scenario, *broken, counts=_counts(own))
    if scenario.reference is None:
        return _reference(evidence, scenario, own)
    return _candidate(evidence, scenario, own, reference)


def _not_a_number(
    scenario: Scenario, own: Answered, reference: Answered
) -> tuple[Verdict, str] | None:
    """ERROR where a log-probability of the reference is NaN, FAIL where one of the candidate is:
    of choices that are all NaN lm-eval takes the first, right or wrong."""
    against = (scenario.reference or scenario.name, reference, Verdict.ERROR)
    for name, side, verdict in (against, (scenario.name, own, Verdict.FAIL)):
        if count := side.not_a_number():
            return verdict, f"{name}: NaN in {count} of {len(side.outputs)} outputs"
    return None


def _reference(evidence: Evidence, scenario: Scenario, own: Answered) -> CheckResult:
    """Full prefill: its scores, whether they are of use, and the floor."""
    uses = usefulness(own, evidence.profile.task)
    scores = tuple(
        _held_to_floor(_score(own.task, key, rows, uses[key]), rows, evidence)
        for key, rows in own.by_metric().items()
    )
    verdict, message = _verdict(scores)
    return result_of(
        NAME,
        scenario,
        verdict,
        message,
        scores=scores,
        limits=_floor(scores, own, evidence),
        counts=_counts(own),
    )


def _candidate(
    evidence: Evidence, scenario: Scenario, own: Answered, reference: Answered
) -> CheckResult:
    uses = usefulness(reference, evidence.profile.task)
    ours, theirs = own.by_metric(), reference.by_metric()
    if ours.keys() != theirs.keys():
        raise ValueError("candidate and reference have scores under different filters or metrics")
    scores: list[Score] = []
    limits: dict[str, LimitOutcome] = {}
    flips: list[Flip] = []
    for key, rows in ours.items():
        both = _side_by_side(rows, theirs[key], own.judged)
        use = _use(uses[key], rows, both)
        if use.verdict is not Verdict.PASS:
            scores.append(_score(own.task, key, rows, use, theirs[key]))
            continue
        score = _paired_score(own.task, key, rows.loc[both.index], theirs[key], evidence)
        scores.append(_held_to_floor(score, rows, evidence))
        limits[_limit_name(key, uses)] = _drop(scores[-1], evidence.profile.task.margin)
        flips += flips_of(key[0], own, reference, both)
    verdict, message = _verdict(scores)
    return result_of(
        NAME,
        scenario,
        verdict,
        message,
        scores=tuple(scores),
        limits={**limits, **_floor(scores, own, evidence)},
        counts={**_counts(own), "cut_reference": reference.cut()},
        flips=tuple(flips),
    )


def _use(reference: Use, rows: pd.DataFrame, both: pd.DataFrame) -> Use:
    """The use of the reference's answers, unless the candidate's `rows` are of none, or none of
    the questions is left to judge."""
    if reference.verdict is not Verdict.PASS:
        return reference
    if not right_or_wrong(rows):
        return NOT_BINARY
    return Use(Verdict.VACUOUS, "no question is left to judge") if both.empty else reference


def _side_by_side(ours: pd.DataFrame, theirs: pd.DataFrame, judged: frozenset[int]) -> pd.DataFrame:
    """The judged questions, either side's columns beside each other. Raises ValueError where the
    sides were asked different questions, or one of them has a question twice."""
    if set(ours.index) != set(theirs.index):
        raise ValueError("candidate and reference have scores of different questions")
    both = ours.merge(
        theirs,
        left_index=True,
        right_index=True,
        suffixes=("_candidate", "_reference"),
        validate="one_to_one",
    )
    return both[both.index.isin(judged)]


def _score(
    task: str,
    key: tuple[str, str],
    rows: pd.DataFrame,
    use: Use,
    theirs: pd.DataFrame | None = None,
    paired: Paired | None = None,
) -> Score:
    """One metric under one filter; without `paired` it is not compared: the reference's own, or
    beside one that is of no use."""
    return Score(
        task=task,
        filter=key[0],
        metric=key[1],
        questions=len(rows),
        score=mean_score(rows),
        reference_score=None if theirs is None else mean_score(theirs),
        invalid=int((~rows["valid"]).sum()),
        reference_invalid=None if theirs is None else int((~theirs["valid"]).sum()),
        verdict=use.verdict,
        reason=use.reason,
        paired=paired,
    )


def _paired_score(
    task: str,
    key: tuple[str, str],
    ours: pd.DataFrame,
    reference: pd.DataFrame,
    evidence: Evidence,
) -> Score:
    """One metric under one filter, compared question by question."""
    theirs = reference.loc[ours.index]
    right, right_there = ours["score"] == 1.0, theirs["score"] == 1.0
    table = Table(
        both_right=int((right & right_there).sum()),
        lost=int((~right & right_there).sum()),
        gained=int((right & ~right_there).sum()),
        both_wrong=int((~right & ~right_there).sum()),
    )
    verdict, reason, paired = compare_paired(table, evidence.profile.task.margin)
    return _score(task, key, ours, Use(verdict, reason), theirs, paired)


def _floor(scores: Sequence[Score], own: Answered, evidence: Evidence) -> dict[str, LimitOutcome]:
    """The lowest of the judged metrics, over all questions, against the floor."""
    rows = own.by_metric()
    judged = [mean_score(rows[s.filter, s.metric]) for s in scores if s.verdict not in _NOT_JUDGED]
    if evidence.min_score is None or not judged:
        return {}
    return {"min_score": judge_floor(min(judged), evidence.min_score, "--min-score")}


def _held_to_floor(score: Score, rows: pd.DataFrame, evidence: Evidence) -> Score:
    """FAIL where the score over all questions, judged or not, is below the floor."""
    floor, reached = evidence.min_score, mean_score(rows)
    judged = score.verdict in (Verdict.PASS, Verdict.INCONCLUSIVE)
    if floor is None or not judged or reached >= floor:
        return score
    reason = f"{reached:.1%} is below the floor of {floor:.1%} (--min-score)"
    return score.model_copy(update={"verdict": Verdict.FAIL, "reason": reason})


def _verdict(scores: Sequence[Score]) -> tuple[Verdict, str]:
    """The worst of what could be judged; a filter that is of no use is named beside it."""
    usable = [s for s in scores if s.verdict not in _NOT_JUDGED]
    verdict = overall(s.verdict for s in (usable or scores))
    worst = [s for s in (usable or scores) if s.verdict is verdict]
    if not worst:
        return verdict, "lm-eval gave no score that can be judged"
    parts = [_described(s) for s in (usable if verdict is Verdict.PASS else worst[:1])]
    aside = [f"not judged: {_described(s)}" for s in scores if usable and s not in usable]
    return verdict, "; ".join(parts + aside)


def _described(score: Score) -> str:
    against = "" if score.reference_score is None else f" against {score.reference_score:.1%}"
    reason = f": {score.reason}" if score.reason else f" of {score.questions} questions"
    return f"{score.filter} {score.score:.1%}{against}{reason}"


def _limit_name(key: tuple[str, str], every: Iterable[tuple[str, str]]) -> str:
    """A filter has one metric in most tasks, and is then enough of a name."""
    alone = sum(name == key[0] for name, _ in every) == 1
    return f"{key[0]}.drop" if alone else f"{key[0]}.{key[1]}.drop"


def _drop(score: Score, margin: float) -> LimitOutcome:
    """The largest drop that the interval leaves possible, against the margin."""
    assert score.paired is not None
    return judge_limit(max(0.0, -score.paired.low), margin, _ORIGIN)


def _counts(own: Answered) -> dict[str, int]:
    return {
        "questions": own.questions,
        "questions_compared": len(own.judged),
        "cut_candidate": own.cut(),
        **own.left_out,
    }
