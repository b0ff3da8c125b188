"""The verdict, and what each check says."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from linattn_verify.checks.result import Verdict
from linattn_verify.reports.document import Check, Report
from linattn_verify.reports.ink import VERDICT_STYLES, Ink, indented
from linattn_verify.reports.numbers import limit_text, margin_text, number


def verdict_panel(report: Report, ink: Ink) -> Panel:
    """The answer, in words, and what was asked."""
    style = VERDICT_STYLES[report.verdict]
    first = Text.assemble((report.verdict.value, style), f"   exit code {report.exit_code}")
    lines = [first, ink.text(report.headline)]
    model = report.model
    lines.append(ink.text(f"{model.name} · {model.dtype} · profile {report.profile.name}", "dim"))
    lines.extend(ink.text(f"Note: {note}") for note in report.notes)
    title = ink.text(f"{report.tool.name} {report.tool.version}")
    return Panel(
        Group(*lines), title=title, title_align="left", border_style=style, width=ink.width
    )


def check_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """A row for each check and scenario, whatever did not pass first."""
    yield ink.heading(f"Checks: {_tally(report)}")
    if not report.checks:
        yield ink.text("No check ran.")
        return
    widths = _widths(report, ink)
    header = _row(widths, ink)
    header.add_row(*(ink.text(t, "bold") for t in ("Verdict", "Check", "Scenario", "vs", "Margin")))
    yield header
    for check in sorted(report.checks, key=lambda c: c.verdict is Verdict.PASS):
        row = _row(widths, ink)
        row.add_row(
            Text(check.verdict.value, style=VERDICT_STYLES[check.verdict]),
            ink.text(check.name, "bold"),
            ink.text(check.scenario),
            ink.text(check.reference or "–"),
            ink.text(_margin(check)),
        )
        yield row
        for line in (check.message, _basis(check)):
            if line:
                yield indented(ink.text(line))


def _tally(report: Report) -> str:
    counts = ((v, sum(c.verdict is v for c in report.checks)) for v in Verdict)
    return ", ".join(f"{count} {v.value}" for v, count in counts if count) or "none"


def _widths(report: Report, ink: Ink) -> list[int]:
    """Of the columns: as wide as their longest cell, within what the console has."""
    checks = report.checks
    longest = [
        max(len("Verdict"), *(len(c.verdict.value) for c in checks)),
        max(len("Check"), *(len(c.name) for c in checks)),
        max(len("Scenario"), *(len(c.scenario) for c in checks)),
        max(len("vs"), *(len(c.reference or "") for c in checks)),
        max(len("Margin"), *(len(ink.plain(_margin(c))) for c in checks)),
    ]
    room = ink.width - 2 * (len(longest) - 1)
    while sum(longest) > room:
        widest = longest.index(max(longest))
        longest[widest] -= 1
    return longest


def _row(widths: list[int], ink: Ink) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    for width in widths:
        table.add_column(width=width, overflow="fold")
    return table


def _margin(check: Check) -> str:
    if check.tightest is None:
        return "–"
    outcome = check.limits[check.tightest]
    return margin_text(outcome) + ("" if outcome.holds else "✗")


def _basis(check: Check) -> str:
    """How much was compared, and the metric behind the margin."""
    parts = [_compared(check.counts)] if check.counts else []
    if check.tightest is not None:
        outcome = check.limits[check.tightest]
        parts.append(
            f"tightest: {check.tightest} {number(outcome.value)}, limit {limit_text(outcome.limit)}"
        )
    return " · ".join(parts)


def _compared(counts: dict[str, int]) -> str:
    rest = {k: v for k, v in counts.items() if k not in ("requested", "compared") and v}
    total = f" of {counts['requested']:,}" if "requested" in counts else ""
    first = [f"{counts['compared']:,}{total} compared"] if "compared" in counts else []
    left = [f"{key.replace('_', ' ')} {count:,}" for key, count in rest.items()]
    return ", ".join(first + left)
