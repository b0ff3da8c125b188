"""The scores of tasks, and the questions that change sides between reference and scenario."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from linattn_verify.checks.result import Verdict
from linattn_verify.reports.document import Check, Report
from linattn_verify.reports.flip_list import flip_list, flip_summary
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.numbers import limit_text
from linattn_verify.reports.score_table import Row, fitting, rows_of, score_table

_MEANINGS = {
    "Difference": "Difference: score less the reference's on the same questions, in points, with "
    "its 95 % interval.",
    "Lost": "Lost, gained: right in the reference alone, in the scenario alone.",
    "p": "p: of lost and gained being equally likely (McNemar's exact test).",
    "Invalid": "Invalid: outputs in which no answer was found.",
    "Cut": "Cut: outputs ended by the length limit.",
}


def score_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """Each task's scores, then every question that changed sides."""
    for task, checks in _by_task(report).items():
        yield from _scores(task, checks, ink)
        yield from flip_list(task, checks, ink)


def score_summary(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """The same scores; of the questions that changed sides their number and the first few."""
    for task, checks in _by_task(report).items():
        yield from _scores(task, checks, ink)
        yield from flip_summary(task, checks, ink)


def _by_task(report: Report) -> dict[str, list[Check]]:
    tasks = dict.fromkeys(score.task for check in report.checks for score in check.scores)
    return {
        task: [c for c in report.checks if any(score.task == task for score in c.scores)]
        for task in tasks
    }


def _scores(task: str, checks: Sequence[Check], ink: Ink) -> Iterator[RenderableType]:
    yield ink.heading(f"Task scores: {task}")
    rows = rows_of(task, checks)
    layout = fitting(rows, ink)
    yield from score_table(rows, layout, ink)
    meanings = [meaning for column, meaning in _MEANINGS.items() if column in layout.widths]
    room = f"A wider console also shows {', '.join(layout.left_out)}."
    said = [*meanings, *_rules(checks), *([room] if layout.left_out else [])]
    yield ink.text(" ".join(said), "dim")
    for row in rows:
        if row.score.verdict is not Verdict.PASS and row.score.reason not in row.check.message:
            yield ink.text(_judged(row))


def _judged(row: Row) -> str:
    """What a verdict rests on, where the check's message does not say it."""
    score = row.score
    return f"{row.check.scenario} · {score.filter} · {score.verdict.value}: {score.reason}"


def _rules(checks: Sequence[Check]) -> list[str]:
    """What a score is held against, in words; each rule once."""
    limits = ((name, outcome) for check in checks for name, outcome in check.limits.items())
    return list(dict.fromkeys(_rule(name, o.limit, o.origin) for name, o in limits))


def _rule(name: str, limit: float, origin: str) -> str:
    kind, share = name.rpartition(".")[2], limit_text(100 * limit)
    if kind == "drop":
        return f"Margin: a drop of {share} points ({origin})."
    if kind == "min_score":
        return f"Every score has to reach {share} % ({origin})."
    return f"{name} ≤ {limit_text(limit)} ({origin})."
