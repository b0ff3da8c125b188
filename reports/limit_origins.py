"""Where the limits come from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from linattn_verify.configs.metrics import Segment
from linattn_verify.reports.document import Check
from linattn_verify.reports.ink import Ink, indented
from linattn_verify.reports.metric_grid import ordered, split
from linattn_verify.reports.numbers import limit_text


@dataclass(frozen=True)
class _Rule:
    """A limit as it was applied to one metric."""

    origin: str
    statistic: str
    limit: float
    leg: str
    segment: str


def limit_origins(checks: Sequence[Check], ink: Ink) -> Iterator[RenderableType]:
    """Each origin once, with the limits that rest on it."""
    rules = _rules(checks)
    if not rules:
        return
    yield Text("")
    yield ink.text("Where the limits come from", "bold")
    for origin in dict.fromkeys(rule.origin for rule in rules):
        yield indented(ink.text(f"{origin}:"))
        for line in _lines([rule for rule in rules if rule.origin == origin], rules):
            yield indented(ink.text(line, "dim"), by=4)


def _rules(checks: Sequence[Check]) -> list[_Rule]:
    found: dict[_Rule, None] = {}
    for check in checks:
        for name, outcome in check.limits.items():
            leg, segment, statistic = split(name)
            rule = _Rule(outcome.origin, statistic, outcome.limit, leg, segment)
            found[rule] = None
    return list(found)


def _lines(mine: list[_Rule], everything: list[_Rule]) -> list[str]:
    """`mean ≤ 0.02, p99 ≤ 0.15`, one line for each set of places that share their limits."""
    by_place: dict[str, list[str]] = {}
    for statistic, limit in dict.fromkeys((rule.statistic, rule.limit) for rule in mine):
        several = len({r.limit for r in everything if r.statistic == statistic}) > 1
        here = [r for r in mine if (r.statistic, r.limit) == (statistic, limit)]
        place = _place(here, everything) if several else ""
        by_place.setdefault(place, []).append(f"{statistic} ≤ {limit_text(limit)}")
    return [f"{place}{', '.join(limits)}" for place, limits in by_place.items()]


def _place(here: list[_Rule], everything: list[_Rule]) -> str:
    legs = ordered((rule.leg for rule in here), ())
    segments = ordered((rule.segment for rule in here), Segment)
    others = ordered((r.segment for r in everything if r.segment not in segments), Segment)
    if not others:
        where = "every segment"
    elif len(others) < len(segments):
        where = f"every segment but {', '.join(others)}"
    else:
        where = ", ".join(segments)
    return f"{', '.join(legs)} · {where}: "
