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


def limit_origins(
    checks: Sequence[Check], ink: Ink, brief: bool = False
) -> Iterator[RenderableType]:
    """Each origin once, with the limits that rest on it; in brief only by check where it has
    every limit of the check."""
    rules = _rules(checks)
    if not rules:
        return
    yield Text("")
    yield ink.text("Where the limits come from", "bold")
    for origin in dict.fromkeys(rule.origin for rule in rules):
        whole = _checks_of(origin, checks) if brief else []
        lines = _lines([rule for rule in rules if rule.origin == origin], rules)
        if whole:
            lines = [f"every limit of {', '.join(whole)}"]
        yield indented(ink.text(f"{origin}: {'; '.join(lines)}"))


def _checks_of(origin: str, checks: Sequence[Check]) -> list[str]:
    """Names of the checks whose limits all have this origin; none if it has a part of others."""
    origins: dict[str, set[str]] = {}
    for check in checks:
        found = {outcome.origin for outcome in check.limits.values()}
        origins.setdefault(check.name, set()).update(found)
    having = {name: found for name, found in origins.items() if origin in found}
    return list(having) if all(found == {origin} for found in having.values()) else []


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
