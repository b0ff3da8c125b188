"""The checks that passed: scenarios of which the same is to be said share a row."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import RenderableType

from linattn_verify.reports.document import Check, ScenarioReport
from linattn_verify.reports.ink import VERDICT_STYLES, Ink, indented
from linattn_verify.reports.numbers import against_limit, margin_mark

ALL_ZERO = "every limited value is 0"
_COLUMNS = ("", "Check", "Scenario", "vs", "Margin", "Tightest metric")
_LONGEST_NAME = 17
_MANY = "10 scenarios"
_LEFT_OUT = re.compile(r"(?:[^.]+\.)?(requests|questions)_left_out_(\w+)")
_NOUNS = {"requests": "prompt", "questions": "question"}


@dataclass(frozen=True)
class _Row:
    """What is to be said of a check in some scenarios."""

    verdict: str
    check: str
    versus: str
    margin: str
    last: str


def passed_table(
    checks: Sequence[Check], scenarios: Sequence[ScenarioReport], ink: Ink
) -> Iterator[RenderableType]:
    """Names of scenarios for which the column has no room stand in the line below."""
    rows = _rows(checks, scenarios, ink)
    widths = _widths(rows, ink)
    shown = len(widths)
    yield _line(_COLUMNS[:shown], widths, ["bold"] * shown, ink)
    styles = [VERDICT_STYLES[checks[0].verdict], *[""] * shown]
    for row, names in rows.items():
        joined = ", ".join(names)
        apart = len(names) > 1 and cell_len(ink.plain(joined)) > widths[2]
        said = f"{len(names)} scenarios" if apart else joined
        cells = (row.verdict, row.check, said, row.versus, row.margin, row.last)
        yield _line(cells[:shown], widths, styles[:shown], ink)
        for text in (joined if apart else "", *cells[shown:]):
            if text:
                yield indented(ink.text(text), by=widths[0] + _gap(ink))


def _rows(
    checks: Sequence[Check], scenarios: Sequence[ScenarioReport], ink: Ink
) -> dict[_Row, list[str]]:
    """A twin's reference is the scenario that it repeats, as its name says."""
    twins = {scenario.name for scenario in scenarios if scenario.twin is not None}
    found: dict[_Row, list[str]] = {}
    for check in checks:
        last = "\n".join(part for part in (_tightest(check, ink.wide), left_out(check)) if part)
        versus = "" if check.scenario in twins else check.reference or "–"
        row = _Row(check.verdict.value, check.name, versus, margin(check), last)
        found.setdefault(row, []).append(check.scenario)
    return found


def _widths(rows: dict[_Row, list[str]], ink: Ink) -> list[int]:
    """Names of checks stay whole up to 17 characters; scenarios and the last column share the rest.
    Where that is too little for their longest words, the last column has no width: it goes below.
    """

    def longest(*texts: str) -> int:
        return max(cell_len(ink.plain(text)) for text in texts)

    fixed = [
        longest(*(row.verdict for row in rows)),
        min(longest(_COLUMNS[1], *(row.check for row in rows)), _LONGEST_NAME),
        min(longest(_COLUMNS[3], *(row.versus for row in rows)), ink.width // 5),
        longest(_COLUMNS[4], *(row.margin for row in rows)),
    ]
    room = ink.width - sum(fixed) - _gap(ink) * (len(_COLUMNS) - 1)
    alone = longest(_COLUMNS[2], *(n[0] if len(n) == 1 else _MANY for n in rows.values()))
    joined = longest(_COLUMNS[2], *(", ".join(names) for names in rows.values()))
    word = longest("", *(word for row in rows for word in row.last.split()))
    line = longest(*(line for row in rows for line in row.last.split("\n")))
    last = line if room - line >= alone else max(word, len(ALL_ZERO))
    scenario = min(joined, max(alone, room - last))
    if scenario + word > room:
        return [*fixed[:2], min(joined, room + _gap(ink)), *fixed[2:]]
    return [*fixed[:2], scenario, *fixed[2:], room - scenario]


def _gap(ink: Ink) -> int:
    return 2 if ink.wide else 1


def _line(
    cells: Sequence[str], widths: Sequence[int], styles: Sequence[str], ink: Ink
) -> RenderableType:
    table = ink.table(*[""] * len(cells), gap=_gap(ink))
    for column, width in zip(table.columns, widths, strict=True):
        column.width = width
    table.add_row(*(ink.text(t, style) for t, style in zip(cells, styles, strict=True)))
    return table


def margin(check: Check) -> str:
    """The margin of the tightest metric."""
    return "–" if check.tightest is None else margin_mark(check.limits[check.tightest])


def _tightest(check: Check, wide: bool) -> str:
    """The metric behind the margin; without limits the message."""
    if check.tightest is None:
        return check.message
    outcome = check.limits[check.tightest]
    if outcome.value == 0:
        return ALL_ZERO
    return f"{check.tightest} {against_limit(check.tightest, outcome)}" if wide else check.tightest


def left_out(check: Check) -> str:
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
