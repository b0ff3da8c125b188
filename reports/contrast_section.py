"""The numeric floor, and each scenario's errors beside each other."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from rich.console import RenderableType

from linattn_verify.checks import numeric_floor
from linattn_verify.configs.metrics import CONTRASTS
from linattn_verify.reports.agreement_table import agreement_tables
from linattn_verify.reports.document import Check, Report
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.numbers import number

LEGEND = (
    "Errors are mean |Δ log-probability| of the prompt leg, nats. noise: what cannot be told from "
    "rounding, the larger of the floor and a quarter of a unit in the last place of the logits; it "
    "is added to both sides of every ratio. first: first chunks over the noise; later: later ones "
    "over first ones; edge: up to 3 tokens after an edge over 64 and more; budget: later chunks "
    "over those of the best larger budget."
)
_SHOWN = ("mean", "p99", "max")
_Value = TypeVar("_Value")


def contrast_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """What the reference differs by from itself, then a row of ratios for each scenario."""
    checks = [_alone(check) for check in report.checks if _of(check.metrics)]
    floors = [c for c in report.checks if c.name == numeric_floor.NAME and c.metrics]
    if not checks and not floors:
        return
    yield ink.heading("Noise and contrasts")
    for floor in floors:
        yield ink.text(f"Floor, {floor.scenario} against {floor.reference}: {_floor(floor)}.")
    if checks:
        yield ink.text(LEGEND, "dim")
        yield from agreement_tables(checks, ink)


def _floor(check: Check) -> str:
    legs = dict.fromkeys(name.partition(".")[0] for name in check.metrics)
    return "; ".join(f"{leg} {', '.join(_values(check, leg))}" for leg in legs)


def _values(check: Check, leg: str) -> Sequence[str]:
    found = {name: check.metrics.get(f"{leg}.all.{name}") for name in _SHOWN}
    return [f"{name} {number(value)}" for name, value in found.items() if value is not None]


def _alone(check: Check) -> Check:
    """The check with nothing but its contrasts, by their own names."""
    return check.model_copy(update={"metrics": _of(check.metrics), "limits": _of(check.limits)})


def _of(metrics: Mapping[str, _Value]) -> dict[str, _Value]:
    return {name.partition(".")[2]: metrics[name] for name in CONTRASTS if name in metrics}
