"""Every statistic in every scenario, coloured by how near it is to its limit."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from linattn_verify.checks.limits import room
from linattn_verify.checks.result import LimitOutcome
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.metrics import STATISTICS, Segment
from linattn_verify.reports.document import Check, Report
from linattn_verify.reports.html.scale import heat
from linattn_verify.reports.metric_grid import by_leg, measured, ordered, split
from linattn_verify.reports.numbers import limit_text, margin_mark, number


@dataclass(frozen=True)
class Cell:
    """A value; no text where the scenario has none."""

    text: str = ""
    says: str = ""
    heat: float = 0.0
    """0 far below the limit, 1 at it."""
    over: bool = False


@dataclass(frozen=True)
class Row:
    """A statistic."""

    label: str
    says: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class HeatMap:
    """Statistics by scenarios."""

    columns: tuple[tuple[str, int], ...]
    """Scenario and budget."""
    rows: tuple[Row, ...]


Place = tuple[str, str, str]
"""Leg, segment, statistic."""


def worst_segment(report: Report) -> HeatMap | None:
    """A row for each leg and statistic: where the margin is smallest."""
    checks = _checks(report)
    legs = {(leg, statistic): None for leg, _, statistic in _places(checks)}
    rows = [
        Row(f"{leg} {statistic}", STATISTICS.get(statistic, ""), tuple(cells))
        for leg, statistic in legs
        if (cells := [_worst(check, leg, statistic) for check in checks])
    ]
    return _map(checks, rows, report)


def every_segment(report: Report) -> HeatMap | None:
    """A row for each metric that has a limit."""
    checks = _checks(report)
    rows = [
        Row(
            f"{leg} {segment} {statistic}",
            STATISTICS.get(statistic, ""),
            tuple(_cell(f"{leg}.{segment}.{statistic}", check) for check in checks),
        )
        for leg, segment, statistic in _places(checks)
    ]
    return _map(checks, rows, report)


def _map(checks: list[Check], rows: list[Row], report: Report) -> HeatMap | None:
    budgets = {scenario.name: scenario.budget for scenario in report.scenarios}
    columns = tuple((c.scenario, budgets.get(c.scenario, 0)) for c in checks)
    return HeatMap(columns, tuple(rows)) if rows else None


def _checks(report: Report) -> list[Check]:
    return [check for check in measured(report) if by_leg(check) and check.limits]


def _places(checks: Iterable[Check]) -> list[Place]:
    """Of every metric that any scenario has a limit for, in the order of legs and statistics."""
    found = dict.fromkeys(split(metric) for check in checks for metric in check.limits)
    legs = ordered((leg for leg, _, _ in found), Leg)
    statistics = ordered((statistic for _, _, statistic in found), STATISTICS)
    segments = ordered((segment for _, segment, _ in found), Segment)

    def order(place: Place) -> tuple[int, int, int]:
        leg, segment, statistic = place
        return legs.index(leg), statistics.index(statistic), segments.index(segment)

    return sorted(found, key=order)


def _worst(check: Check, leg: str, statistic: str) -> Cell:
    mine = dict(_of(check, leg, statistic))
    metric = min(mine, key=lambda name: room(mine[name]), default=None)
    return Cell() if metric is None else _cell(metric, check)


def _of(check: Check, leg: str, statistic: str) -> Iterator[tuple[str, LimitOutcome]]:
    for metric, outcome in check.limits.items():
        if split(metric)[0] == leg and split(metric)[2] == statistic:
            yield metric, outcome


def _cell(metric: str, check: Check) -> Cell:
    outcome = check.limits.get(metric)
    if outcome is None:
        return Cell()
    ratio = (outcome.value or 0.0) / outcome.limit if outcome.limit else 0.0
    limit = f"limit {limit_text(outcome.limit)} {margin_mark(outcome)}".rstrip()
    return Cell(
        text=number(outcome.value) + ("" if outcome.holds else " ✗"),
        says=f"{check.scenario} {metric} {number(outcome.value)}, {limit} ({outcome.origin})",
        heat=heat(ratio) if outcome.holds else 1.0,
        over=not outcome.holds,
    )
