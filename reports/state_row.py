"""A scenario's states in a row: how far off they are, how many were found as they should be."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from linattn_verify.checks.result import StateErrors
from linattn_verify.checks.state_limits import error_of
from linattn_verify.reports.document import Check
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.layer_names import LayerNames
from linattn_verify.reports.numbers import limit_text, margin_mark, number
from linattn_verify.traces.states import Part

PARTS = (Part.CONVOLUTION, Part.RECURRENT)
_LEFT_OUT = {
    "states_left_out_no_prefix": "no prefix was prefilled up to their position",
    "states_left_out_digest_only": "their numbers were not kept (states.gib of the profile)",
    "states_found_unknown": "found by a step, but nobody was seen to leave or save them",
}
_LIMIT = "limit ≤"
_WHERE = ("Layer", "Worst at")
_RIGHT = ("States", "As left", "As saved", "Layer")


@dataclass(frozen=True)
class Place:
    """A layer's state at a position, and its error."""

    errors: StateErrors
    layer: str
    error: float
    """inf where either side holds NaN or infinity."""


Cells = dict[str, tuple[str, bool]]
"""By column: what stands there, and whether it is as it should be."""


def state_table(checks: Sequence[Check], names: LayerNames, ink: Ink) -> Iterator[RenderableType]:
    """A row for each scenario, in the columns that there is room for."""
    rows = [_limits(checks), *(_cells(check, names) for check in checks)]
    if not any(check.counts.get("states_restored") for check in checks):
        rows = [{k: cell for k, cell in row.items() if k != "As saved"} for row in rows]
    columns = _fitting(rows, ink)
    table = ink.table(*columns, right=_RIGHT, gap=_gap(ink))
    for (name, width), column in zip(columns.items(), table.columns, strict=True):
        column.width = None if name == "Worst at" else width
    for row in rows:
        styles = ("dim" if row is rows[0] else "" if row[c][1] else "bold red" for c in columns)
        table.add_row(*(ink.text(row[c][0], s) for c, s in zip(columns, styles, strict=True)))
    yield table
    if len(columns) < len(rows[0]):
        lost = ", ".join(name for name in rows[0] if name not in columns)
        yield ink.text(f"A wider console also shows {lost}.", "dim")


def _fitting(rows: Sequence[Cells], ink: Ink) -> dict[str, int]:
    """All columns and their least widths; where there is no room, none for the place, then none
    for the number of states; at the last, scenarios are folded."""
    least = {name: max(_least(name, row, ink) for row in rows) for name in rows[0]}
    for lost in ((), _WHERE, (*_WHERE, "States")):
        kept = {name: width for name, width in least.items() if name not in lost}
        excess = sum(kept.values()) + _gap(ink) * (len(kept) - 1) - ink.width
        if excess <= 0:
            return kept
    return kept | {"Scenario": max(kept["Scenario"] - excess, 1)}


def _gap(ink: Ink) -> int:
    return 2 if ink.wide else 1


def _least(name: str, row: Cells, ink: Ink) -> int:
    """What a cell cannot do without: a place may stand in two lines."""
    text = ink.plain(row[name][0])
    words = text.split() if name == "Worst at" else [text]
    return max(map(cell_len, (name, *words)))


def _limits(checks: Sequence[Check]) -> Cells:
    """The row of limits."""
    blank = dict.fromkeys(("States", "As left", "As saved", *_WHERE), ("", True))
    held = {part.value.capitalize(): (_limit_of(checks, part), True) for part in PARTS}
    return {"Scenario": (_LIMIT, True), **held, **blank}


def _cells(check: Check, names: LayerNames) -> Cells:
    compared = check.counts.get("states_compared")
    layer, place = _worst_at(check, names)
    return {
        "Scenario": (check.scenario, True),
        **{part.value.capitalize(): _error(check, part) for part in PARTS},
        "States": ("–" if compared is None else f"{compared:,}", True),
        "As left": _same(check, "states_carried"),
        "As saved": _same(check, "states_restored"),
        "Layer": (layer, True),
        "Worst at": (place, True),
    }


def _limit_of(checks: Iterable[Check], part: Part) -> str:
    """The limit, if it is the same in every scenario."""
    outcomes = (check.limits.get(error_of(part)) for check in checks)
    limits = {outcome.limit for outcome in outcomes if outcome is not None}
    return limit_text(limits.pop()) if len(limits) == 1 else "–"


def _error(check: Check, part: Part) -> tuple[str, bool]:
    """The largest error and its margin, and whether it is within the limit."""
    metric = error_of(part)
    outcome = check.limits.get(metric)
    if outcome is not None:
        return f"{number(outcome.value):6} {margin_mark(outcome)}".rstrip(), outcome.holds
    return (number(check.metrics[metric]) if metric in check.metrics else "–"), True


def _same(check: Check, kind: str) -> tuple[str, bool]:
    """Of the states found by a step, how many were as they had been left, or saved."""
    found, changed = check.counts.get(kind), check.counts.get(f"{kind}_changed", 0)
    if not found:
        return "–", True
    return f"{found - changed:,}/{found:,}" + ("✗" if changed else ""), not changed


def _worst_at(check: Check, names: LayerNames) -> tuple[str, str]:
    """Layer and place of the error nearest to its limit."""
    found = places(check)
    if not found:
        return "–", "–"
    worst = max(found, key=lambda place: _strain(check, place))
    if worst.error == 0:
        return "–", "all exactly 0"
    return str(names.number(worst.layer)), f"{worst.errors.prompt} {worst.errors.position}"


def places(check: Check) -> list[Place]:
    """Every error that was measured."""
    return [
        Place(errors, layer, inf if error is None else error)
        for errors in check.states
        for layer, error in errors.by_layer.items()
    ]


def _strain(check: Check, place: Place) -> float:
    """Error over limit; the error where there is no limit."""
    outcome = check.limits.get(error_of(place.errors.part))
    limit = outcome.limit if outcome is not None else 1.0
    return place.error / limit if limit and isfinite(place.error) else place.error


def left_out(checks: Sequence[Check], ink: Ink) -> list[Text]:
    """States that were read and not compared, or found and never seen left, by reason."""
    said = []
    for key, why in _LEFT_OUT.items():
        counts = [f"{c.counts[key]:,} in {c.scenario}" for c in checks if c.counts.get(key)]
        if counts:
            said.append(ink.text(f"Not compared, {why}: {', '.join(counts)}."))
    return said
