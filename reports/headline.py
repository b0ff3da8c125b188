"""One sentence that says what the verdict rests on."""

from collections.abc import Sequence

from linattn_verify.checks.result import Score, Verdict
from linattn_verify.reports.document import Check, ScenarioReport
from linattn_verify.reports.numbers import against_limit, margin_text, percent, questions, span
from linattn_verify.traces.outcome import Status

_NEXT_STEP = {
    Verdict.VACUOUS: "Nothing is proven: change workload or settings, then run again.",
    Verdict.INCONCLUSIVE: "Give more or longer prompts, then run again.",
    Verdict.UNSUPPORTED: "Run where it is supported, or leave it out of the profile.",
    Verdict.ERROR: "This says nothing about the engine: mend the cause, then run again.",
}


def headline(verdict: Verdict, checks: Sequence[Check], scenarios: Sequence[ScenarioReport]) -> str:
    """What `verdict` rests on; where it is not PASS, the first cause and what to do."""
    if verdict is Verdict.PASS:
        return _passed(checks, scenarios)
    causes = [check for check in checks if check.verdict is verdict]
    causes.sort(key=lambda check: check.parted is None)  # first the one that says where
    if causes:
        sentence = f"{_named(causes[0])}: {_reason(causes[0], scenarios)}"
        return " ".join([_ended(sentence), *_others(len(causes) - 1), *_advice(verdict)])
    ended = [s for s in scenarios if s.status is not Status.DONE]
    if ended:
        sentence = f"scenario {ended[0].name} {_ending(ended[0].status)}: {ended[0].message}"
        return " ".join([_ended(sentence), *_advice(verdict)])
    return (
        "No check had anything to judge, so nothing is proven. See the notes, choose another check "
        "or another model, then run again."
    )


def _passed(checks: Sequence[Check], scenarios: Sequence[ScenarioReport]) -> str:
    names = list(dict.fromkeys(check.name for check in checks))
    parts = [f"{_listed(names)} {'holds' if len(names) == 1 else 'hold'}"]
    counted_as = {scenario.name: scenario.twin or scenario.name for scenario in scenarios}
    judged = len({counted_as[c.scenario] for c in checks if c.scenario in counted_as})
    if judged:
        parts.append(f"in {judged} scenario{'' if judged == 1 else 's'}")
    compared = sum(sum(_by_leg(check, "compared")) for check in checks)
    if compared:
        requests = sum(max(_by_leg(check, "requests"), default=0) for check in checks)
        parts.append(f"over {compared:,} positions compared in {requests:,} requests judged")
    scores = [score for check in checks for score in check.scores]
    tasks = dict.fromkeys(score.task for score in scores)
    said = (_task(task, [s for s in scores if s.task == task]) for task in tasks)
    return "; ".join([" ".join(parts), *said]) + _smallest_margin(checks)


def _task(task: str, scores: Sequence[Score]) -> str:
    """A task's scores under the filter that comes off worst, named where another says otherwise."""
    judged = [score for score in scores if score.paired] or scores
    names = dict.fromkeys(score.filter for score in judged)
    said = {name: _scored([s for s in judged if s.filter == name]) for name in names}
    worst = min(judged, key=lambda score: score.paired.difference if score.paired else 0.0).filter
    alike = len(set(said.values())) == 1 and {score.filter for score in scores} == set(said)
    return f"{task}{'' if alike else f' ({worst})'} {said[worst]}"


def _scored(scores: Sequence[Score]) -> str:
    """What scenarios score, over how many questions, and the reference on the same ones."""
    shares = span((score.score for score in scores), percent)
    said = f"{shares} over {questions(score.questions for score in scores)}"
    beside = [s.reference_score for s in scores if s.reference_score is not None]
    return f"{said} (reference {span(beside, percent)})" if beside else said


def _by_leg(check: Check, count: str) -> list[int]:
    """Each leg's count of that name; a check of a single leg does not name it."""
    return [n for key, n in check.counts.items() if key.rpartition(".")[2] == count]


def _smallest_margin(checks: Sequence[Check]) -> str:
    judged = [(c, c.limits[c.tightest]) for c in checks if c.tightest is not None]
    finite = [(c, o) for c, o in judged if o.margin is not None]
    if not finite:
        exact = judged and all(outcome.value == 0 for _, outcome in judged)
        return "; every judged value is exactly 0." if exact else "."
    check, outcome = min(finite, key=lambda pair: pair[1].margin or 0.0)
    return (
        f"; the smallest margin is {margin_text(outcome)} ({check.tightest} of {check.scenario}: "
        f"{against_limit(check.tightest or '', outcome)})."
    )


def _reason(check: Check, scenarios: Sequence[ScenarioReport]) -> str:
    """The check's message; for a vacuous one the missing proof, unless the message names it."""
    if check.verdict is not Verdict.VACUOUS:
        return check.message
    proofs = [p for s in scenarios if s.name == check.scenario for p in s.proofs if not p.holds]
    if not proofs or proofs[0].name in check.message:
        return check.message
    missing = proofs[0]
    return (
        f"not proven that {missing.name} (expected {missing.expected}, observed {missing.observed})"
    )


def _named(check: Check) -> str:
    versus = f" against {check.reference}" if check.reference else ""
    return f"{check.name} in {check.scenario}{versus}"


def _others(count: int) -> list[str]:
    return [f"{count} more like it below."] if count else []


def _advice(verdict: Verdict) -> list[str]:
    return [_NEXT_STEP[verdict]] if verdict in _NEXT_STEP else []


def _ending(status: Status) -> str:
    return {Status.NOT_RUN: "was not run", Status.ERROR: "met an error"}.get(status, status.value)


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence.rstrip(': ')}."


def _listed(names: list[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
