"""Metrics by leg: a row for each segment, a column for each statistic."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from linattn_verify.checks import cache_hygiene, state_equivalence
from linattn_verify.checks.result import LimitOutcome
from linattn_verify.configs.kernels import CHECK
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.metrics import CONTRASTS, STATISTICS, Segment
from linattn_verify.reports.document import Check, Report

_NO_LOGPROBS = (cache_hygiene.NAME, state_equivalence.NAME, CHECK)
"""Checks whose numbers are told elsewhere: beside checks, and in the section on states."""
_SEGMENTS = (Segment.FIRST, *(s for s in Segment if s is not Segment.FIRST))


@dataclass(frozen=True)
class Cell:
    """A metric's value, and the limit it is held against."""

    value: float | None
    limit: LimitOutcome | None


@dataclass(frozen=True)
class Grid:
    """One leg's metrics; a segment that has no such statistic has no cell."""

    leg: str
    segments: tuple[str, ...]
    statistics: tuple[str, ...]
    cells: dict[tuple[str, str], Cell]


@dataclass
class Group:
    """Consecutive segments whose limits do not contradict each other."""

    limits: dict[str, float]
    rows: dict[str, dict[str, Cell]]


def grids(metrics: Mapping[str, float | None], limits: Mapping[str, LimitOutcome]) -> list[Grid]:
    """Every metric that has a value or a limit, in the order of legs, segments, statistics."""
    by_leg: dict[str, dict[tuple[str, str], Cell]] = {}
    for name in dict.fromkeys((*metrics, *limits)):
        if name in CONTRASTS:  # told in a section of their own
            continue
        leg, segment, statistic = split(name)
        limit = limits.get(name)
        value = metrics[name] if name in metrics else limits[name].value
        by_leg.setdefault(leg, {})[segment, statistic] = Cell(value, limit)
    return [
        Grid(
            leg=leg,
            segments=ordered((segment for segment, _ in by_leg[leg]), _SEGMENTS),
            statistics=ordered((statistic for _, statistic in by_leg[leg]), STATISTICS),
            cells=by_leg[leg],
        )
        for leg in ordered(by_leg, Leg)
    ]


def measured(report: Report) -> list[Check]:
    """The checks that compare log-probabilities; what tasks and operators have goes
    elsewhere."""
    found = (check for check in report.checks if check.name not in _NO_LOGPROBS)
    return [check for check in found if (check.metrics or check.limits) and not check.scores]


def by_leg(check: Check) -> bool:
    """Whether the check measured by leg and segment; others have a few numbers a scenario."""
    return any("." in name for name in (*check.metrics, *check.limits))


def groups(grid: Grid, statistics: Iterable[str]) -> list[Group]:
    """The rows of some columns, cut wherever a limit changes; rows without a cell left out."""
    found: list[Group] = []
    columns = tuple(statistics)
    for segment in grid.segments:
        row = {s: grid.cells[segment, s] for s in columns if (segment, s) in grid.cells}
        limits = {s: cell.limit.limit for s, cell in row.items() if cell.limit is not None}
        if not row:
            continue
        if not found or any(found[-1].limits.get(s, x) != x for s, x in limits.items()):
            found.append(Group(limits={}, rows={}))
        found[-1].limits.update(limits)
        found[-1].rows[segment] = row
    return found


def split(metric: str) -> tuple[str, str, str]:
    """Leg, segment and statistic of a metric's name; what a shorter name leaves out is `all`."""
    leg, _, rest = metric.partition(".")
    if not rest or metric in CONTRASTS:
        return "all", Segment.ALL, metric
    segment, _, statistic = rest.rpartition(".")
    return leg, segment or Segment.ALL, statistic


def ordered(names: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """`names` once each, the known ones first and in their order."""
    present = dict.fromkeys(str(name) for name in names)
    first = [str(name) for name in known if str(name) in present]
    return (*first, *(name for name in present if name not in first))


def column_blocks(widths: Mapping[str, int], room: int, gap: int) -> list[list[str]]:
    """Columns in blocks that fit into `room` cells; a block has at least one."""
    blocks: list[list[str]] = []
    left = 0
    for name, width in widths.items():
        if not blocks or width > left:
            blocks.append([])
            left = room
        blocks[-1].append(name)
        left -= width + gap
    return blocks
