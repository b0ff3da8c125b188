"""The verdict, and what each check says."""

import re
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from linattn_verify.checks.result import Verdict
from linattn_verify.configs.kernels import CHECK
from linattn_verify.reports.document import Check, Report
from linattn_verify.reports.ink import VERDICT_STYLES, Ink, indented
from linattn_verify.reports.numbers import against_limit, margin_mark

_COLUMNS = ("Verdict", "Check", "Scenario", "vs", "Margin")
_LEFT_OUT = re.compile(r"(?:[^.]+\.)?(requests|questions)_left_out_(\w+)")
_NOUNS = {"requests": "prompt", "questions": "question"}
ALL_ZERO = "every limited value is 0"


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
        yield _passed(rest, ink)
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
        said = " · ".join(part for part in (check.message, _left_out(check)) if part)
        if said:
            yield indented(ink.text(said))


def _passed(checks: Sequence[Check], ink: Ink) -> RenderableType:
    table = ink.table("", *_COLUMNS[1:], "Tightest metric", gap=2 if ink.wide else 1)
    for check in checks:
        last = "\n".join(part for part in (_tightest(check, ink.wide), _left_out(check)) if part)
        verdict, *others = _cells(check)
        table.add_row(
            ink.text(verdict, VERDICT_STYLES[check.verdict]), *map(ink.text, others), ink.text(last)
        )
    return table


def _cells(check: Check) -> tuple[str, ...]:
    return (
        check.verdict.value,
        check.name,
        check.scenario,
        check.reference or "–",
        _margin(check),
    )


def _margin(check: Check) -> str:
    if check.tightest is None:
        return "–"
    return margin_mark(check.limits[check.tightest])


def _tightest(check: Check, wide: bool) -> str:
    """The metric behind the margin; without limits the message."""
    if check.tightest is None:
        return check.message
    outcome = check.limits[check.tightest]
    if outcome.value == 0:
        return ALL_ZERO
    return f"{check.tightest} {against_limit(check.tightest, outcome)}" if wide else check.tightest


def _left_out(check: Check) -> str:
    """Prompts and questions that were not judged, by reason; every leg leaves out the same ones."""
    by_reason: dict[str, int] = {}
    for key, count in check.counts.items():
        if found := _LEFT_OUT.fullmatch(key):
            what = f"{found[2].replace('_', ' ')} {_NOUNS[found[1]]}"
            by_reason[what] = max(count, by_reason.get(what, 0))
    return ", ".join(
        f"{count:,} {what}{'s' if count > 1 else ''} left out"
        for what, count in by_reason.items()
        if count
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
