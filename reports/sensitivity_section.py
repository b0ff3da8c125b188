"""Could it have failed? What each check would have seen of a state lost on purpose."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.console import RenderableType

from linattn_verify.checks.result import Sensitivity
from linattn_verify.reports.document import Report
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.numbers import NOT_MEASURED, limit_text, number, span

TITLE = "Could it have failed? States lost on purpose"
LOUDEST = "Loudest statistic, as a multiple of its limit"


class Row(NamedTuple):
    """One check over all mutations."""

    check: str
    seen: int
    of: int
    multiples: str
    """The loudest statistics as multiples of their limits, smallest to largest."""


def by_check(found: Sequence[Sensitivity]) -> list[Row]:
    """A row for each check, in their order."""
    rows = []
    for check in dict.fromkeys(one.check for one in found):
        group = [one for one in found if one.check == check]
        seen = [one for one in group if one.seen]
        rows.append(Row(check, len(seen), len(group), _multiples(seen)))
    return rows


def sensitivity_summary(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """A row for each check, then what it is blind to, then the prompts without signal."""
    if not report.sensitivity:
        return
    yield ink.heading(TITLE)
    table = ink.table("Check", "Seen", LOUDEST)
    for row in by_check(report.sensitivity):
        share = ink.text(f"{row.seen} of {row.of}", "" if row.seen == row.of else "bold yellow")
        table.add_row(ink.text(row.check), share, ink.text(row.multiples))
    yield table
    yield from _remarks(report.sensitivity, ink)


def sensitivity_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """A row for each check and mutation, then the same remarks."""
    if not report.sensitivity:
        return
    yield ink.heading(TITLE)
    right = ("Struck", "Times limit")
    columns = ("", "Check", "Scenario", "Fault", "Struck", "Loudest statistic", "Times limit")
    table = ink.table(*columns, right=right, gap=2 if ink.wide else 1)
    for one in report.sensitivity:
        table.add_row(
            ink.text("✓", "green") if one.seen else ink.text("✗", "bold yellow"),
            ink.text(one.check),
            ink.text(one.scenario),
            ink.text(one.fault),
            ink.text(f"{one.fired:,}"),
            ink.text(_statistic(one)),
            ink.text(multiple(one)),
        )
    yield table
    yield from _remarks(report.sensitivity, ink)


def multiple(one: Sensitivity) -> str:
    """The loudest statistic as ×N of its limit; ×∞ where the limit is 0."""
    if one.ratio is not None:
        return _times(one.ratio)
    return "×∞" if one.seen else NOT_MEASURED


def _statistic(one: Sensitivity) -> str:
    if one.limit is None:
        return "" if one.seen else one.message
    return f"{one.statistic} {number(one.value)}, limit {limit_text(one.limit)}"


def _multiples(seen: Sequence[Sensitivity]) -> str:
    finite = [one.ratio for one in seen if one.ratio is not None]
    parts = [span(finite, _times)] if finite else []
    absolute = len(seen) - len(finite)
    if absolute:
        parts.append(f"{absolute} above a limit of 0, or beyond numbers")
    return "; ".join(parts) or "–"


def _times(ratio: float) -> str:
    return "×999+" if ratio >= 1000 else f"×{number(ratio)}"


class Remark(NamedTuple):
    """What is to be said beside the numbers."""

    said: str
    decides: bool
    """Whether a PASS was lost by it."""


def remarks(found: Sequence[Sensitivity]) -> list[Remark]:
    """What each check is blind to, scenarios of which the same is to be said together; then the
    prompts in which the loss shows nowhere."""
    groups: dict[tuple[str, str, str | None], list[str]] = {}
    silent: dict[str, list[str]] = {}
    for one in found:
        if not one.seen:
            key = (one.check, one.message, one.outweighed_by)
            groups.setdefault(key, []).append(one.scenario)
        for prompt in one.without_signal:
            silent.setdefault(prompt, []).append(one.scenario)
    blind = [
        Remark(
            f"✗ {check} in {', '.join(scenarios)}: {message}"
            + (f". It decides nothing: {instead} sees the loss there" if instead else ""),
            decides=instead is None,
        )
        for (check, message, instead), scenarios in groups.items()
    ]
    return blind + [
        Remark(f"Prompt without signal: {prompt} in {', '.join(dict.fromkeys(scenarios))}", False)
        for prompt, scenarios in silent.items()
    ]


def _remarks(found: Sequence[Sensitivity], ink: Ink) -> Iterator[RenderableType]:
    for remark in remarks(found):
        yield ink.text(remark.said, "bold yellow" if remark.decides else "")
