"""Could it have failed? What each check would have seen of a state lost on purpose."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from linattn_verify.checks.result import Sensitivity
from linattn_verify.reports.document import Report
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.numbers import NOT_MEASURED, limit_text, number, span

_TITLE = "Could it have failed? States lost on purpose"


def sensitivity_summary(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """A row for each check, then what it is blind to, then the prompts without signal."""
    if not report.sensitivity:
        return
    yield ink.heading(_TITLE)
    table = ink.table("Check", "Seen", "Loudest statistic, as a multiple of its limit")
    for check in dict.fromkeys(one.check for one in report.sensitivity):
        group = [one for one in report.sensitivity if one.check == check]
        seen = [one for one in group if one.seen]
        style = "" if len(seen) == len(group) else "bold yellow"
        share = ink.text(f"{len(seen)} of {len(group)}", style)
        table.add_row(ink.text(check), share, ink.text(_multiples(seen)))
    yield table
    yield from _blind(report.sensitivity, ink)
    yield from _silent(report.sensitivity, ink)


def sensitivity_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """A row for each check and mutation, then the same remarks."""
    if not report.sensitivity:
        return
    yield ink.heading(_TITLE)
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
    yield from _blind(report.sensitivity, ink)
    yield from _silent(report.sensitivity, ink)


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


def _blind(found: Sequence[Sensitivity], ink: Ink) -> Iterator[RenderableType]:
    """What each check is blind to, scenarios of which the same is to be said together."""
    groups: dict[tuple[str, str, str | None], list[str]] = {}
    for one in found:
        if not one.seen:
            key = (one.check, one.message, one.outweighed_by)
            groups.setdefault(key, []).append(one.scenario)
    for (check, message, instead), scenarios in groups.items():
        said = f"✗ {check} in {', '.join(scenarios)}: {message}"
        if instead:
            said += f". It decides nothing: {instead} sees the loss there"
        yield ink.text(said, "" if instead else "bold yellow")


def _silent(found: Sequence[Sensitivity], ink: Ink) -> Iterator[RenderableType]:
    """Prompts in which the loss shows nowhere, with the scenarios where that is so."""
    places: dict[str, list[str]] = {}
    for one in found:
        for prompt in one.without_signal:
            places.setdefault(prompt, []).append(one.scenario)
    for prompt, scenarios in places.items():
        where = ", ".join(dict.fromkeys(scenarios))
        yield ink.text(f"Prompt without signal: {prompt} in {where}")
