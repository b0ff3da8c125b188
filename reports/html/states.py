"""Errors of states, by layer and by the place where a step ended."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linattn_verify.checks.result import StateErrors
from linattn_verify.checks.state_limits import error_of
from linattn_verify.reports.document import Check, Report
from linattn_verify.reports.html.scale import heat
from linattn_verify.reports.layer_names import LayerNames, layer_names
from linattn_verify.reports.numbers import limit_text, number


@dataclass(frozen=True)
class Square:
    """One layer's state at one position."""

    column: int
    row: int
    heat: float
    over: bool
    says: str


@dataclass(frozen=True)
class Field:
    """One prompt: layers by positions."""

    prompt: str
    positions: tuple[tuple[int, int], ...]
    """Tokens that the state has seen, and steps of the request before."""
    squares: tuple[Square, ...]
    largest: str


@dataclass(frozen=True)
class StateMap:
    """One part of the state, in scenarios whose errors are the same to the last digit."""

    title: str
    part: str
    limit: str
    fields: tuple[Field, ...]
    rows: int
    over: bool


@dataclass(frozen=True)
class StateMaps:
    """Every map, and the layers that their rows stand for."""

    layers: tuple[str, ...]
    maps: tuple[StateMap, ...]


def state_maps(report: Report) -> StateMaps | None:
    """What goes beyond its limit first."""
    checks = [check for check in report.checks if check.states]
    if not checks:
        return None
    names = layer_names(checks)
    alike: dict[tuple[object, ...], list[Check]] = {}
    for check in checks:
        for part in dict.fromkeys(errors.part for errors in check.states):
            key = (part, _limit(check, part), *(e.model_dump_json() for e in _of(check, part)))
            alike.setdefault(key, []).append(check)
    maps = [_map(str(key[0]), same, names) for key, same in alike.items()]
    return StateMaps(names.names, tuple(sorted(maps, key=lambda one: not one.over)))


def _of(check: Check, part: str) -> list[StateErrors]:
    return [errors for errors in check.states if errors.part == part]


def _limit(check: Check, part: str) -> float | None:
    outcome = check.limits.get(error_of(part))
    return None if outcome is None else outcome.limit


def _map(part: str, alike: Sequence[Check], names: LayerNames) -> StateMap:
    limit = _limit(alike[0], part)
    by_prompt: dict[str, list[StateErrors]] = {}
    for errors in _of(alike[0], part):
        by_prompt.setdefault(errors.prompt, []).append(errors)
    fields = tuple(_field(prompt, e, limit, names) for prompt, e in by_prompt.items())
    return StateMap(
        title=", ".join(check.scenario for check in alike),
        part=part,
        limit="" if limit is None else limit_text(limit),
        fields=fields,
        rows=len(names),
        over=any(square.over for field in fields for square in field.squares),
    )


def _field(
    prompt: str, found: Sequence[StateErrors], limit: float | None, names: LayerNames
) -> Field:
    known = [e for errors in found for e in errors.by_layer.values() if e is not None]
    broken = any(e is None for errors in found for e in errors.by_layer.values())
    return Field(
        prompt=prompt,
        positions=tuple((errors.position, errors.edge) for errors in found),
        squares=tuple(_squares(found, limit, names)),
        largest=number(None if broken else max(known, default=None)),
    )


def _squares(
    found: Sequence[StateErrors], limit: float | None, names: LayerNames
) -> Iterator[Square]:
    for column, errors in enumerate(found):
        for layer, error in errors.by_layer.items():
            over = error is None or (limit is not None and error > limit)
            ratio = (error or 0.0) / limit if limit else 0.0
            yield Square(
                column=column,
                row=names.number(layer),
                heat=1.0 if over else heat(ratio),
                over=over,
                says=f"layer {names.number(layer)} at {errors.position}: {number(error)}",
            )
