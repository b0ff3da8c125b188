"""The states themselves: where they first part, how far off they are, how many were compared."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from linattn_verify.checks.result import Parted
from linattn_verify.checks.state_equivalence import NAME
from linattn_verify.checks.state_limits import CHANGED
from linattn_verify.reports.check_section import worst_first
from linattn_verify.reports.document import Check, Report
from linattn_verify.reports.ink import Ink, indented
from linattn_verify.reports.layer_names import layer_names
from linattn_verify.reports.numbers import limit_text
from linattn_verify.reports.state_errors import state_errors
from linattn_verify.reports.state_row import left_out, state_table

LEGEND = (
    "Largest relative error of any layer's state against that of a single-step prefill of the same "
    "prefix, and its margin (limit / value). As left, as saved: states that a step found bit for "
    "bit as the step before had left them, or as they were saved in the cache. Layer: from 0, "
    "among those that keep a state."
)
BROKEN = " ✗: beyond its limit, or changed."
_HOW = {
    "not carried": "a step did not find the state that the step before it had left",
    "not restored": "a step did not find the state that was saved in the cache",
    "differs": "the state is not the one that a single-step prefill leaves",
}
_ROUNDOFF = {"bfloat16": "0.0039 (2^-8)", "float16": "4.9e-4 (2^-11)"}


def state_summary(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """Where states first part, then a row for each scenario."""
    checks = worst_first([check for check in report.checks if check.name == NAME and _read(check)])
    if not checks:
        return
    yield ink.heading("States")
    for parted, scenarios in _parted(checks):
        yield from _where(parted, scenarios, ink)
    broken = any(not outcome.holds for check in checks for outcome in check.limits.values())
    yield ink.text(LEGEND + BROKEN * broken, "dim")
    yield from state_table(checks, layer_names(checks), ink)
    yield from left_out(checks, ink)
    yield ink.text(_rules(checks) + _rounding(report.model.dtype))


def state_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """The same, and the error of every layer at every position."""
    yield from state_summary(report, ink)
    yield from state_errors([check for check in report.checks if check.states], ink)


def _read(check: Check) -> bool:
    """Whether there is anything to say of states: a check that was refused has no count."""
    return bool(check.counts or check.limits or check.parted)


def _parted(checks: Sequence[Check]) -> list[tuple[Parted, list[str]]]:
    """Each place at which states part, with the scenarios in which they part there."""
    found: list[tuple[Parted, list[str]]] = []
    for check in checks:
        if check.parted is None:
            continue
        known = next((names for parted, names in found if parted == check.parted), None)
        if known is None:
            found.append((check.parted, [check.scenario]))
        else:
            known.append(check.scenario)
    return found


def _where(parted: Parted, scenarios: Sequence[str], ink: Ink) -> Iterator[RenderableType]:
    """The first place where a state is wrong, in plain words."""
    yield ink.text(f"✗ {', '.join(scenarios)}: {_HOW[parted.how]}", "bold red")
    edge = _edge(parted.edge) if parted.edge else "restored from the cache"
    facts = {
        "first at": f"token {parted.position} of {parted.prompt}, {edge}",
        "layer": f"{parted.index} of those that keep a state: {parted.layer} ({parted.kind})",
        "state": f"{parted.part}{parted.found and ': '}{parted.found}",
        "in all": parted.spread,
    }
    table = ink.table("", "")
    for name, fact in facts.items():
        if fact:
            table.add_row(ink.text(name, "bold"), ink.text(fact))
    yield indented(table)
    yield Text("")


def _edge(edge: int) -> str:
    return f"edge {edge} (after step {edge} of the request)"


def _rules(checks: Sequence[Check]) -> str:
    """What states are held against, and where that comes from: each rule once."""
    rules: dict[tuple[float, str], list[str]] = {}
    for check in checks:
        for name, outcome in check.limits.items():
            key = outcome.limit, outcome.origin
            what = "states changed between steps" if name == CHANGED else name.replace(".", " ")
            rules.setdefault(key, []).append(what)
    said = (
        f"{', '.join(dict.fromkeys(names))} ≤ {limit_text(limit)} ({origin})"
        for (limit, origin), names in rules.items()
    )
    return f"Limits: {'; '.join(said)}." if rules else "No limit: measured, not judged."


def _rounding(dtype: str) -> str:
    """For scale: what one rounding of an activation is worth."""
    known = _ROUNDOFF.get(dtype)
    return f" For scale: rounding a number to {dtype} moves it by up to {known} of it." * bool(
        known
    )
