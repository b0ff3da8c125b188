"""Every metric with its value, limit and margin."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from linattn_verify.configs.metrics import STATISTICS
from linattn_verify.reports.document import Check, Report
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.limit_origins import limit_origins
from linattn_verify.reports.metric_grid import (
    Cell,
    Grid,
    Group,
    column_blocks,
    grids,
    groups,
    measured,
)
from linattn_verify.reports.numbers import limit_text, margin_mark, number

LEGEND = (
    "A cell holds the value and, as ×3.2, the margin: limit divided by value. ✗: the value is "
    "beyond the limit above it. No margin: measured, not judged. Rows say which positions: first "
    "= computed in a first chunk, later = in any other, edge+n..m = that many tokens after a "
    "chunk's edge."
)
_GAP = 2
_LIMIT = "limit ≤"


def metric_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """One part for each check and scenario that measured something."""
    checks = measured(report)
    if not checks:
        return
    yield ink.heading("Metrics by scenario")
    yield ink.text(LEGEND, "dim")
    for check in checks:
        yield Text("")
        versus = f" vs {check.reference}" if check.reference else ""
        yield ink.text(f"■ {check.scenario}{versus} · {check.name} · {check.verdict.value}", "bold")
        for grid in grids(check.metrics, check.limits):
            yield from _grid(grid, ink)
    yield from _statistics(checks, ink)
    yield from limit_origins(checks, ink)


def _grid(grid: Grid, ink: Ink) -> Iterator[Text]:
    """The grid in as many blocks of columns as the console's width asks for."""
    label = max(len(ink.plain(name)) for name in (_LIMIT, grid.leg, *grid.segments)) + 2
    widths = {statistic: _column_width(grid, statistic, ink) for statistic in grid.statistics}
    for block in column_blocks(widths, ink.width - label, _GAP):
        columns = {statistic: widths[statistic] for statistic in block}
        yield Text("")
        yield _line(ink, label, grid.leg, columns, {s: (s, "bold") for s in block}, "bold")
        for group in groups(grid, block):
            yield from _group(group, ink, label, columns)


def _group(group: Group, ink: Ink, label: int, columns: dict[str, int]) -> Iterator[Text]:
    """The limits that hold for some rows, and these rows."""
    if group.limits:
        limits = {s: (limit_text(group.limits[s]) if s in group.limits else "–") for s in columns}
        cells = {statistic: (text, "dim") for statistic, text in limits.items()}
        yield _line(ink, label, _LIMIT, columns, cells, "dim")
    for segment, row in group.rows.items():
        cells = {statistic: (_shown(cell), _style(cell)) for statistic, cell in row.items()}
        yield _line(ink, label, segment, columns, cells)


def _line(
    ink: Ink,
    label: int,
    name: str,
    columns: dict[str, int],
    cells: dict[str, tuple[str, str]],
    style: str = "",
) -> Text:
    line = Text().append(ink.plain(name).ljust(label), style)
    for statistic, width in columns.items():
        text, cell_style = cells.get(statistic, ("", ""))
        line.append(ink.plain(text).ljust(width + _GAP), cell_style)
    line.rstrip()
    return line


def _shown(cell: Cell) -> str:
    margin = "" if cell.limit is None else margin_mark(cell.limit)
    return f"{number(cell.value):6} {margin}".rstrip()


def _style(cell: Cell) -> str:
    return "bold red" if cell.limit is not None and not cell.limit.holds else ""


def _column_width(grid: Grid, statistic: str, ink: Ink) -> int:
    """As wide as the longest cell: heading, limit or value."""
    cells = [cell for (_, name), cell in grid.cells.items() if name == statistic]
    limits = [len(limit_text(cell.limit.limit)) for cell in cells if cell.limit]
    return max(len(statistic), *limits, *(len(ink.plain(_shown(cell))) for cell in cells))


def _statistics(checks: list[Check], ink: Ink) -> Iterator[RenderableType]:
    """What the names of the columns mean."""
    used = {name.rsplit(".", 1)[-1] for c in checks for name in (*c.metrics, *c.limits)}
    table = ink.table("Statistic", "What it says")
    for name, meaning in STATISTICS.items():
        if name in used:
            table.add_row(ink.text(name), ink.text(meaning))
    if table.row_count:
        yield Text("")
        yield table
