"""Every statistic of every scenario on one page: over all positions, and where it is tightest."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from linattn_verify.checks.limits import room
from linattn_verify.configs.metrics import STATISTICS, Segment
from linattn_verify.reports.agreement_table import agreement_tables
from linattn_verify.reports.check_section import worst_first
from linattn_verify.reports.document import Check, Report
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.limit_origins import limit_origins
from linattn_verify.reports.metric_grid import Cell, Grid, by_leg, grids, measured, ordered
from linattn_verify.reports.numbers import limit_text, margin_mark, number

LEGEND = (
    "Under a leg's name its value over all positions; tightest: value, margin (limit / value) and "
    "segment where the margin is smallest. No limit: measured, not judged. Segments: first = "
    "computed in a first chunk, later = in any other, +n..m = so many tokens after a chunk's edge."
)
BROKEN = " ✗: beyond its limit."
_BY_LEG = "≤ by leg"
_ZERO = "exactly 0 (bit-identical)"


@dataclass(frozen=True)
class _Row:
    """A statistic in every leg that is shown."""

    statistic: str
    limit: str
    all: dict[str, str]
    tightest: dict[str, tuple[str, str, str]]
    """By leg: value, margin, segment."""
    holds: bool
    zero: bool
    """Whether it is exactly 0 in every segment."""


def metric_summary(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """A table for each scenario that was measured by leg, then those with a few numbers each."""
    checks = measured(report)
    if not checks:
        return
    yield ink.heading("Metrics by scenario")
    limits = [outcome for check in checks for outcome in check.limits.values()]
    broken = any(not outcome.holds for outcome in limits)
    yield ink.text(LEGEND + (BROKEN if broken else ""), "dim")
    legged = worst_first([check for check in checks if by_leg(check)])
    zero = _zero_everywhere(legged)
    if zero:
        yield ink.text(f"Exactly 0 in every scenario, leg and segment: {_named(zero)}.")
    for alike in _alike(legged):
        yield Text("")
        yield from _scenario(alike, [row.statistic for row in zero], ink)
    yield from agreement_tables([check for check in checks if not by_leg(check)], ink)
    yield from limit_origins(checks, ink, brief=True)


def _zero_everywhere(checks: Sequence[Check]) -> list[_Row]:
    """Statistics that need no row in any table; none if there is a single table."""
    if len(checks) < 2:
        return []
    rows = _rows([grid for check in checks for grid in grids(check.metrics, check.limits)])
    return [row for row in rows if row.zero and row.limit != _BY_LEG]


def _alike(checks: Sequence[Check]) -> list[list[Check]]:
    """Checks whose numbers are the same to the last digit share a table."""
    groups: list[list[Check]] = []
    for check in checks:
        same = (g for g in groups if _numbers(g[0]) == _numbers(check))
        group = next(same, None)
        if group is None:
            groups.append([check])
        else:
            group.append(check)
    return groups


def _numbers(check: Check) -> tuple[object, ...]:
    return check.name, check.reference, check.verdict, check.metrics, check.limits


def _scenario(alike: Sequence[Check], said: Sequence[str], ink: Ink) -> Iterator[Text]:
    """The table without the legs, and without the statistics, that are exactly 0 throughout; those
    in `said` were named before."""
    check = alike[0]
    versus = f" vs {check.reference}" if check.reference else ""
    title = " and ".join(c.scenario for c in alike) + versus
    legs = grids(check.metrics, check.limits)
    shown = [grid for grid in legs if not _all_zero(grid.cells.values())]
    if not shown:
        limits = _named(_rows(legs))
        yield ink.text(title, "bold").append(ink.plain(f": every value is {_ZERO}; {limits}"), "")
        return
    zero = [row for row in _rows(shown) if row.zero and row.statistic not in said]
    for part in _parts(shown, ink):
        yield from _table(title, part, ink)
    silent = [grid.leg for grid in legs if grid not in shown]
    notes = [f"all of {', '.join(silent)} (bit-identical)"] if silent else []
    notes += [_named(zero)] if zero else []
    if notes:
        yield ink.text(f"exactly 0: {'; '.join(notes)}")


def _all_zero(cells: Iterable[Cell]) -> bool:
    return all(cell.value == 0 and _holds(cell) for cell in cells)


def _holds(cell: Cell) -> bool:
    return cell.limit is None or cell.limit.holds


def _named(rows: Sequence[_Row]) -> str:
    return ", ".join(f"{row.statistic} {row.limit}".rstrip() for row in rows)


def _parts(legs: list[Grid], ink: Ink) -> list[list[Grid]]:
    """The legs in as few tables as the width allows."""
    if len(legs) < 2 or _layout("", legs, ink, with_all=False, gap=1).width <= ink.width:
        return [legs]
    return [*_parts(legs[:-1], ink), legs[-1:]]


@dataclass(frozen=True)
class _Layout:
    """Where the columns of a table stand."""

    stub: tuple[int, int]
    all: dict[str, int]
    tightest: dict[str, tuple[int, ...]]
    gap: int

    @property
    def width(self) -> int:
        cells = [*self.stub, *self.all.values(), *(sum(w) + 2 for w in self.tightest.values())]
        return sum(cells) + self.gap * (len(cells) - 1)


def _layout(title: str, legs: Sequence[Grid], ink: Ink, with_all: bool, gap: int) -> _Layout:
    rows = _rows(legs)
    names = [grid.leg for grid in legs]
    statistic = max(len(row.statistic) for row in rows)
    limit = max(len(ink.plain(row.limit)) for row in rows)
    return _Layout(
        stub=(statistic, max(limit, len(ink.plain(title)) - statistic - gap)),
        all={leg: max(len(leg), *(len(r.all[leg]) for r in rows)) for leg in names}
        if with_all
        else {},
        tightest={
            leg: tuple(max(len(ink.plain(r.tightest[leg][i])) for r in rows) for i in range(3))
            for leg in names
        },
        gap=gap,
    )


def _table(title: str, legs: list[Grid], ink: Ink) -> Iterator[Text]:
    """The title in the line of the columns' names where it fits, above it where it does not."""
    choices = [
        _layout(shown, legs, ink, with_all, gap)
        for with_all in (True, False)
        for shown in (title, "")
        for gap in (2, 1)
    ]
    layout = next((choice for choice in choices if choice.width <= ink.width), choices[-1])
    stub = sum(layout.stub) + layout.gap
    shown = ink.plain(title)
    if len(shown) > stub:
        yield ink.text(title, "bold")
        shown = ""
    names = [shown.ljust(stub)]
    for leg, widths in layout.tightest.items():
        if leg in layout.all:
            names.append(ink.plain(leg).ljust(layout.all[leg]))
        name = "tightest" if leg in layout.all else ink.plain(leg)
        names.append(name.ljust(sum(widths) + 2))
    yield Text((" " * layout.gap).join(names).rstrip(), style="bold")
    for row in _rows(legs):
        if not row.zero:
            yield _line(row, layout, ink)


def _line(row: _Row, layout: _Layout, ink: Ink) -> Text:
    cells = [row.statistic.ljust(layout.stub[0]), ink.plain(row.limit).ljust(layout.stub[1])]
    for leg, widths in layout.tightest.items():
        tightest = row.tightest[leg]
        if leg in layout.all:
            cells.append(row.all[leg].ljust(layout.all[leg]))
            tightest = tightest if tightest[1] else ("", "", "")
        parts = zip(map(ink.plain, tightest), widths, strict=True)
        cells.append(" ".join(part.ljust(width) for part, width in parts))
    return Text((" " * layout.gap).join(cells).rstrip(), style="" if row.holds else "bold red")


def _rows(legs: Sequence[Grid]) -> list[_Row]:
    names = ordered((name for grid in legs for name in grid.statistics), STATISTICS)
    return [_row(name, legs) for name in names]


def _row(statistic: str, legs: Sequence[Grid]) -> _Row:
    found = {grid.leg: _tightest(grid, statistic) for grid in legs}
    limits = {cell.limit.limit for _, cell in found.values() if cell and cell.limit}
    limit = f"≤ {limit_text(limits.pop())}" if len(limits) == 1 else _BY_LEG if limits else ""
    over_all = {grid.leg: grid.cells.get((Segment.ALL, statistic)) for grid in legs}
    return _Row(
        statistic=statistic,
        limit=limit,
        all={leg: number(cell.value) if cell else "" for leg, cell in over_all.items()},
        tightest={leg: _shown(segment, cell, limit) for leg, (segment, cell) in found.items()},
        holds=all(_holds(cell) for _, cell in found.values() if cell),
        zero=_all_zero(c for g in legs for (_, name), c in g.cells.items() if name == statistic),
    )


def _tightest(grid: Grid, statistic: str) -> tuple[str, Cell | None]:
    """The segment with the smallest margin; without limits, the one of all positions."""
    cells = {s: grid.cells[s, statistic] for s in grid.segments if (s, statistic) in grid.cells}
    limited = {s: room(cell.limit) for s, cell in cells.items() if cell.limit is not None}
    best = min(limited, key=lambda s: (limited[s], s != Segment.ALL), default=Segment.ALL)
    return best, cells.get(best)


def _shown(segment: str, cell: Cell | None, limit: str) -> tuple[str, str, str]:
    if cell is None:
        return "", "", ""
    mark = "" if cell.limit is None else margin_mark(cell.limit)
    if cell.limit is not None and limit == _BY_LEG:
        mark = f"≤{limit_text(cell.limit.limit)} {mark}"
    return number(cell.value), mark, segment.removeprefix("edge")
