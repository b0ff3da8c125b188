"""The error of every layer's state at every position where one was compared."""

from collections.abc import Iterator, Sequence
from math import inf

from rich.console import RenderableType
from rich.text import Text

from linattn_verify.checks.result import StateErrors
from linattn_verify.checks.state_limits import error_of
from linattn_verify.reports.document import Check
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.layer_names import LayerNames, layer_names
from linattn_verify.reports.numbers import limit_text, number
from linattn_verify.reports.state_row import PARTS
from linattn_verify.traces.states import Part

LEGEND = (
    "Relative errors by layer. Edge: steps of the request before the position. n/a: NaN or "
    "infinity on either side. ✗: beyond the limit."
)
_OTHERS = "others ≤"
"""The column of the layers for which there is no room: the largest of their errors."""
_LONGEST_NAME = 12
_GAP = 2


def state_errors(checks: Sequence[Check], ink: Ink) -> Iterator[RenderableType]:
    """A table for each scenario and part; scenarios with the same errors share theirs."""
    if not checks:
        return
    names = layer_names(checks)
    yield Text("")
    yield ink.text(LEGEND, "dim")
    layers = ", ".join(f"{number} {name}" for number, name in enumerate(names.names))
    yield ink.text(f"Layers: {layers}", "dim")
    for part in PARTS:
        for alike in _alike(checks, part):
            yield from _part(alike, part, names, ink)


def _alike(checks: Sequence[Check], part: Part) -> list[list[Check]]:
    """Checks whose errors and limit of a part are the same to the last digit."""
    groups: list[list[Check]] = []
    for check in (check for check in checks if _of(check, part)):
        group = next((g for g in groups if _key(g[0], part) == _key(check, part)), None)
        if group is None:
            groups.append([check])
        else:
            group.append(check)
    return groups


def _key(check: Check, part: Part) -> tuple[list[StateErrors], float]:
    return _of(check, part), _limit(check, part)


def _of(check: Check, part: Part) -> list[StateErrors]:
    return [errors for errors in check.states if errors.part == part.value]


def _limit(check: Check, part: Part) -> float:
    """inf where there is none."""
    outcome = check.limits.get(error_of(part))
    return inf if outcome is None else outcome.limit


def _part(
    alike: Sequence[Check], part: Part, names: LayerNames, ink: Ink
) -> Iterator[RenderableType]:
    """The rows that are not exactly 0 throughout, and where the others are."""
    found, limit = _of(alike[0], part), _limit(alike[0], part)
    held = "" if limit == inf else f" (limit {limit_text(limit)})"
    title = f"{', '.join(check.scenario for check in alike)} · {part.value}{held}"
    zero = [errors for errors in found if set(errors.by_layer.values()) == {0.0}]
    rows = [errors for errors in found if errors not in zero]
    yield Text("")
    yield ink.text(title, "bold")
    if rows:
        shown = shown_layers(rows, names, limit, ink)
        if len(shown) < len(names):
            yield ink.text(
                f"the {len(shown)} of {len(names)} layers with the largest errors; {_OTHERS}: the "
                "largest of the other layers",
                "dim",
            )
        yield _table(rows, shown, names, limit, ink)
    if zero:
        yield ink.text(f"exactly 0 in every layer: {_listed(zero)}")


def _listed(zero: Sequence[StateErrors]) -> str:
    """`ledger 512, 1024; story 7`."""
    by_prompt: dict[str, list[str]] = {}
    for errors in zero:
        by_prompt.setdefault(errors.prompt, []).append(str(errors.position))
    return "; ".join(f"{prompt} {', '.join(at)}" for prompt, at in by_prompt.items())


def shown_layers(
    rows: Sequence[StateErrors], names: LayerNames, limit: float, ink: Ink
) -> tuple[str, ...]:
    """All layers, or the worst that there is room for, in the model's order."""
    cells = [_cell(errors, [name], limit) for errors in rows for name in errors.by_layer]
    column = max(len(ink.plain(cell)) for cell in cells) + _GAP
    prompt = max(len(ink.plain(errors.prompt)) for errors in rows)
    label = max(min(prompt, _LONGEST_NAME), len("Prompt")) + 3 * _GAP
    label += max(len("Token"), *(len(str(e.position)) for e in rows)) + len("Edge")
    room = ink.width - label
    if len(names) * column - _GAP <= room:
        return names.names
    most = max((room - len(ink.plain(_OTHERS))) // column, 1)
    worst = sorted(names.names, key=lambda name: -max(_error(e, name) for e in rows))[:most]
    return tuple(name for name in names.names if name in worst)


def _table(
    rows: Sequence[StateErrors], shown: Sequence[str], names: LayerNames, limit: float, ink: Ink
) -> RenderableType:
    others = [name for name in names.names if name not in shown]
    headers = [*(str(names.number(name)) for name in shown), *([_OTHERS] if others else [])]
    table = ink.table("Prompt", "Token", "Edge", *headers, right=("Token", "Edge"), gap=_GAP)
    table.columns[0].max_width = _LONGEST_NAME
    for column in table.columns[1:]:
        column.no_wrap = True
    for errors in rows:
        cells = [_cell(errors, [name], limit) for name in shown]
        cells += [_cell(errors, others, limit)] if others else []
        place = (errors.prompt, str(errors.position), str(errors.edge))
        table.add_row(*map(ink.text, place), *(_styled(cell, ink) for cell in cells))
    return table


def _styled(cell: str, ink: Ink) -> Text:
    return ink.text(cell, "bold red" if cell.endswith("✗") else "")


def _cell(errors: StateErrors, layers: Sequence[str], limit: float) -> str:
    """The largest error of these layers at one place."""
    found = [_error(errors, layer) for layer in layers if layer in errors.by_layer]
    if not found:
        return "–"
    worst = max(found)
    return number(worst) + ("✗" if worst == inf or worst > limit else "")


def _error(errors: StateErrors, layer: str) -> float:
    """inf where it is not finite; 0 where the layer was not compared there."""
    error = errors.by_layer.get(layer, 0.0)
    return inf if error is None else error
