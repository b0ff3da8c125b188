"""The report for people: on a terminal or as plain text, the verdict first."""

from collections.abc import Iterator
from io import StringIO

from rich.console import Console, RenderableType

from linattn_verify.reports.check_section import check_section, verdict_panel
from linattn_verify.reports.document import Report
from linattn_verify.reports.facts_section import (
    cost_section,
    environment_section,
    evidence_section,
)
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.metric_section import metric_section
from linattn_verify.reports.scenario_section import (
    failure_section,
    proof_section,
    scenario_section,
)
from linattn_verify.reports.settings_section import settings_section
from linattn_verify.reports.worst_section import worst_section

SECTIONS = (
    check_section,
    failure_section,
    metric_section,
    worst_section,
    proof_section,
    settings_section,
    environment_section,
    scenario_section,
    cost_section,
    evidence_section,
)
"""What follows the verdict, in order."""

NARROWEST = 60


def render(report: Report, console: Console) -> None:
    """Print the report, in ASCII where the console's encoding has no more."""
    width = max(console.width, NARROWEST)
    ink = Ink(width=width, unicode=console.encoding.lower().startswith("utf"))
    for part in _parts(report, ink):
        console.print(part, highlight=False, markup=False, emoji=False, width=width)


def render_text(report: Report, width: int = 80) -> str:
    """The report as plain text, for report.txt."""
    page = StringIO()
    render(report, Console(file=page, width=width, color_system=None, force_terminal=False))
    lines = (line.rstrip() for line in page.getvalue().splitlines())
    return "\n".join(lines) + "\n"


def _parts(report: Report, ink: Ink) -> Iterator[RenderableType]:
    yield verdict_panel(report, ink)
    for section in SECTIONS:
        yield from section(report, ink)
