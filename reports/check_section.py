"""The verdict, and what each check says."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from linattn_verify.checks.result import Verdict
from linattn_verify.configs.kernels import CHECK
from linattn_verify.reports.document import Check, Report
from linattn_verify.reports.ink import VERDICT_STYLES, Ink, indented
from linattn_verify.reports.passed_table import left_out, margin, passed_table

_COLUMNS = ("Verdict", "Check", "Scenario", "vs", "Margin")


def verdict_panel(report: Report, ink: Ink, full: bool) -> Panel:
    """The answer, in words, and what was asked. What the engine's log also says is left to the
    settings, unless the page is the full one."""
    style = VERDICT_STYLES[report.verdict]
    first = Text.assemble((report.verdict.value, style), f"   exit code {report.exit_code}")
    lines = [first, ink.text(report.headline)]
    model = report.model
    lines.append(ink.text(f"{model.name} · {model.dtype} · profile {report.profile.name}", "dim"))
    logged = set() if full else {note for notes in report.engine.notes.values() for note in notes}
    lines.extend(ink.text(f"Note: {note}") for note in report.notes if note not in logged)
    title = ink.text(f"{report.tool.name} {report.tool.version}")
    return Panel(
        Group(*lines), title=title, title_align="left", border_style=style, width=ink.width
    )


def check_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """A row and a message for each check and scenario, whatever did not pass first."""
    yield _heading(report, ink)
    yield from _with_messages(worst_first(report.checks), ink)


def check_summary(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """Messages only of what did not pass; for the rest a row and its tightest metric."""
    yield _heading(report, ink)
    passed = [check for check in report.checks if check.verdict is Verdict.PASS]
    others = [check for check in report.checks if check.verdict is not Verdict.PASS]
    yield from _with_messages(others, ink)
    if others and passed:
        yield Text("")
    elsewhere = [check for check in passed if check.name == CHECK]
    rest = [check for check in passed if check.name != CHECK]
    if rest:
        yield from passed_table(rest, report.scenarios, ink)
    if elsewhere:
        style = VERDICT_STYLES[Verdict.PASS]
        said = ink.plain(f" {CHECK}: {len(elsewhere)} operators and paths, in a table of their own")
        yield Text.assemble((Verdict.PASS.value, style), said)


def worst_first(checks: Sequence[Check]) -> list[Check]:
    """What did not pass, then what did."""
    return sorted(checks, key=lambda check: check.verdict is Verdict.PASS)


def _heading(report: Report, ink: Ink) -> RenderableType:
    counts = ((v, sum(c.verdict is v for c in report.checks)) for v in Verdict)
    tally = ", ".join(f"{count} {v.value}" for v, count in counts if count)
    return ink.heading(f"Checks: {tally or 'none ran'}")


def _with_messages(checks: Sequence[Check], ink: Ink) -> Iterator[RenderableType]:
    if not checks:
        return
    rows = [_cells(check) for check in checks]
    widths = _widths([_COLUMNS, *rows], ink)
    yield _row(widths, [ink.text(name, "bold") for name in _COLUMNS])
    for check, row in zip(checks, rows, strict=True):
        styles = (VERDICT_STYLES[check.verdict], "bold", "", "", "")
        yield _row(widths, [ink.text(t, s) for t, s in zip(row, styles, strict=True)])
        said = " · ".join(part for part in (check.message, left_out(check)) if part)
        if said:
            yield indented(ink.text(said))


def _cells(check: Check) -> tuple[str, ...]:
    return (
        check.verdict.value,
        check.name,
        check.scenario,
        check.reference or "–",
        margin(check),
    )


def _widths(rows: Sequence[Sequence[str]], ink: Ink) -> list[int]:
    """Of the columns: as wide as their longest cell, within what the console has."""
    longest = [max(len(ink.plain(cell)) for cell in column) for column in zip(*rows, strict=True)]
    room = ink.width - 2 * (len(longest) - 1)
    while sum(longest) > room:
        longest[longest.index(max(longest))] -= 1
    return longest


def _row(widths: Sequence[int], cells: Sequence[Text]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    for width in widths:
        table.add_column(width=width, overflow="fold")
    table.add_row(*cells)
    return table
