"""What was run, how it ended, and what was proven of it."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from linattn_verify.checks.result import Proof
from linattn_verify.reports.document import Report, ScenarioReport
from linattn_verify.reports.ink import Ink, indented
from linattn_verify.reports.numbers import duration
from linattn_verify.reports.repetitions import repetitions
from linattn_verify.traces.outcome import Status

_TRACEBACK_LINES = 15
_LOG_LINES = 10


def failure_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """Every scenario that did not end well, with the engine's own words."""
    ended = [s for s in report.scenarios if s.status is not Status.DONE]
    if not ended:
        return
    yield ink.heading("Scenarios that did not end well")
    for scenario in ended:
        style = "bold" if scenario.status is Status.NOT_RUN else "bold red"
        yield ink.text(f"{scenario.name}: {scenario.status.value}", style)
        if scenario.message:
            yield indented(ink.text(scenario.message))
        yield from _tail("Traceback", scenario.traceback.splitlines(), _TRACEBACK_LINES, ink)
        yield from _tail("Engine log", list(scenario.log_tail), _LOG_LINES, ink)


def _tail(title: str, lines: list[str], most: int, ink: Ink) -> Iterator[RenderableType]:
    if not lines:
        return
    part = f", last {most} of {len(lines)} lines" if len(lines) > most else ""
    yield indented(ink.text(f"{title}{part}:", "bold"))
    for line in lines[-most:]:
        yield indented(ink.text(line.rstrip(), "dim"), by=4)


def proof_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """Each scenario's proofs: the statement, what it takes, what the engine did. Of a repetition
    those that hold again are counted."""
    yield ink.heading("What was proven")
    if not any(scenario.proofs for scenario in report.scenarios):
        yield ink.text("Nothing: no scenario left a proof.")
    proven = [scenario for scenario in report.scenarios if scenario.proofs]
    repeats = repetitions(report.scenarios)
    for number, scenario in enumerate(proven):
        shown = repeats.get(scenario.name, scenario.proofs)
        yield _scenario_line(scenario, len(scenario.proofs) - len(shown), ink)
        if shown:
            yield indented(_proofs(shown, ink, header=number == 0))


def _scenario_line(scenario: ScenarioReport, again: int, ink: Ink) -> Text:
    held = sum(proof.holds for proof in scenario.proofs)
    line = ink.text(scenario.name, "bold")
    style = "" if held == len(scenario.proofs) else "bold red"
    line.append(f"  {held} of {len(scenario.proofs)} proven", style)
    return line.append(ink.text(f", {again} of them as in {scenario.twin}" if again else ""))


def _proofs(proofs: Sequence[Proof], ink: Ink, header: bool) -> RenderableType:
    table = ink.table("", "Statement", "Expected", "Observed")
    for column in table.columns[1:]:
        column.ratio = 1
    table.expand = True
    table.show_header = header
    for proof in proofs:
        mark = ink.text("✓", "green") if proof.holds else ink.text("✗", "bold red")
        observed = ink.text(proof.observed, "" if proof.holds else "bold")
        table.add_row(mark, ink.text(proof.name), ink.text(proof.expected), observed)
    return table


def scenario_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """The scenarios in order: engine, budget, how they ended, where their traces lie."""
    yield ink.heading("Scenarios and their traces")
    right = ("Budget", "Time")
    columns = ("Scenario", "Engine", "Budget", "Status", "Time", "Trace")
    table = ink.table(*columns, right=right, gap=2 if ink.wide else 1)
    for s in report.scenarios:
        table.add_row(
            ink.text(s.name),
            ink.text(s.engine),
            Text(f"{s.budget:,}"),
            ink.text(s.status.value, "" if s.status is Status.DONE else "bold red"),
            Text(duration(s.seconds)),
            ink.text(s.trace or "–"),
        )
    yield table
