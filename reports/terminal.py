"""The report for people: on a terminal or as plain text, the verdict first."""

from collections.abc import Iterable, Iterator
from io import StringIO

from rich.console import Console, RenderableType

from linattn_verify.checks.localised import Localised
from linattn_verify.configs.catalogue import Entry
from linattn_verify.reports.check_section import (
    check_section,
    check_summary,
    verdict_panel,
)
from linattn_verify.reports.contrast_section import contrast_section
from linattn_verify.reports.document import KernelsReport, Report
from linattn_verify.reports.environment_page import environment_page
from linattn_verify.reports.facts_section import (
    cost_section,
    cost_summary,
    environment_section,
    environment_summary,
    evidence_section,
    evidence_summary,
)
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.kernel_section import kernel_section, kernel_summary
from linattn_verify.reports.kernels_page import kernels_page
from linattn_verify.reports.localised_section import localised_lines, localised_section
from linattn_verify.reports.metric_section import metric_section
from linattn_verify.reports.metric_summary import metric_summary
from linattn_verify.reports.proof_summary import proof_summary
from linattn_verify.reports.scenario_section import (
    failure_section,
    proof_section,
    scenario_section,
)
from linattn_verify.reports.score_section import score_section, score_summary
from linattn_verify.reports.sensitivity_section import sensitivity_section, sensitivity_summary
from linattn_verify.reports.settings_section import settings_section, settings_summary
from linattn_verify.reports.state_section import state_section, state_summary
from linattn_verify.reports.worst_section import worst_section, worst_summary
from linattn_verify.traces.finding import Finding

FULL = (
    check_section,
    failure_section,
    localised_section,
    state_section,
    score_section,
    metric_section,
    contrast_section,
    worst_section,
    kernel_section,
    proof_section,
    sensitivity_section,
    settings_section,
    environment_section,
    scenario_section,
    cost_section,
    evidence_section,
)
"""What follows the verdict on the full page, in order."""

COMPACT = (
    check_summary,
    failure_section,
    localised_section,
    state_summary,
    score_summary,
    metric_summary,
    contrast_section,
    worst_summary,
    kernel_summary,
    proof_summary,
    sensitivity_summary,
    settings_summary,
    environment_summary,
    cost_summary,
    evidence_summary,
)
"""The same in about a screen for each: what the full page has more is named there."""

NARROWEST = 60


def render(report: Report, console: Console, full: bool = False) -> None:
    """Print the report, in ASCII where the console's encoding has no more. The compact page has
    every check, score, statistic, limit and proof; the full one also every segment and flip."""
    ink = _ink(console)
    _print(_parts(report, ink, full), console, ink)


def render_kernels(report: KernelsReport, console: Console) -> None:
    """Print the report on the engine's operators alone."""
    ink = _ink(console)
    _print(kernels_page(report, ink), console, ink)


def render_entries(entries: Iterable[Entry], console: Console) -> None:
    """Print what there is to choose, a row each."""
    ink = _ink(console)
    table = ink.table("Name", "Sees", "Cannot see")
    table.columns[0].no_wrap = True
    for entry in entries:
        table.add_row(*map(ink.text, entry))
    _print(iter([table]), console, ink)


def render_findings(findings: Iterable[Finding], console: Console) -> None:
    """Print what was found of the environment, what prevents a run first."""
    ink = _ink(console)
    _print(environment_page(tuple(findings), ink), console, ink)


def render_localised(found: Localised, console: Console) -> None:
    """Print where a fault is."""
    ink = _ink(console)
    _print(localised_lines(found, ink), console, ink)


def _ink(console: Console) -> Ink:
    width = max(console.width, NARROWEST)
    return Ink(width=width, unicode=console.encoding.lower().startswith("utf"))


def _print(parts: Iterator[RenderableType], console: Console, ink: Ink) -> None:
    for part in parts:
        console.print(part, highlight=False, markup=False, emoji=False, width=ink.width)


def render_text(report: Report, width: int = 80) -> str:
    """The full page as plain text, for report.txt."""
    page = StringIO()
    console = Console(file=page, width=width, color_system=None, force_terminal=False)
    render(report, console, full=True)
    lines = (line.rstrip() for line in page.getvalue().splitlines())
    return "\n".join(lines) + "\n"


def _parts(report: Report, ink: Ink, full: bool) -> Iterator[RenderableType]:
    yield verdict_panel(report, ink, full)
    for section in FULL if full else COMPACT:
        yield from section(report, ink)
