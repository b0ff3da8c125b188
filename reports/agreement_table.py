"""Checks that measure a few numbers a scenario: a row for each scenario."""

import textwrap
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from linattn_verify.checks.result import LimitOutcome
from linattn_verify.reports.document import Check
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.metric_grid import ordered
from linattn_verify.reports.numbers import limit_text, margin_mark, number

_HEADER_LINES = 2
_HEADERS = {
    "first_difference_share": "same before difference",
    "requests_differing": "outputs differing",
}


def agreement_tables(checks: Sequence[Check], ink: Ink) -> Iterator[RenderableType]:
    """A table for each check among `checks`: every number, and the limits above them."""
    for name in dict.fromkeys(check.name for check in checks):
        yield Text("")
        yield ink.text(name, "bold")
        yield _table([check for check in checks if check.name == name], ink)


def _table(checks: Sequence[Check], ink: Ink) -> RenderableType:
    metrics = ordered((m for check in checks for m in (*check.metrics, *check.limits)), ())
    headers = [_HEADERS.get(metric, metric.replace("_", " ")) for metric in metrics]
    cells = {c.scenario: [_cell(c, metric) for metric in metrics] for c in checks}
    table = ink.table("Scenario", "requests", *headers)
    for at, (header, column) in enumerate(zip(headers, table.columns[2:], strict=True)):
        longest = max(len(ink.plain(row[at][0])) for row in cells.values())
        column.width = min(max(_narrowest(header), longest), ink.width // 5)
    limits = {m: limit_text(c.limits[m].limit) for c in checks for m in metrics if m in c.limits}
    texts = ["limit ≤", "", *(limits.get(metric, "–") for metric in metrics)]
    table.add_row(*(ink.text(text, "dim") for text in texts))
    for check in checks:
        requests = str(check.counts.get("requests", "–"))
        table.add_row(
            ink.text(check.scenario),
            ink.text(requests),
            *(ink.text(text, "" if holds else "bold red") for text, holds in cells[check.scenario]),
        )
    return table


def _narrowest(header: str) -> int:
    """The least width in which `header` takes no more than two lines."""
    least = max(len(word) for word in header.split())
    widths = range(least, len(header) + 1)
    return next(w for w in widths if len(textwrap.wrap(header, w)) <= _HEADER_LINES)


def _cell(check: Check, metric: str) -> tuple[str, bool]:
    outcome = check.limits.get(metric)
    if outcome is None:
        return number(check.metrics[metric]) if metric in check.metrics else "", True
    return f"{number(outcome.value)} {_mark(outcome)}".rstrip(), outcome.holds


def _mark(outcome: LimitOutcome) -> str:
    """The margin, unless the limit is 0: there it says no more than the value."""
    if outcome.limit == 0:
        return "" if outcome.holds else "✗"
    return margin_mark(outcome)
