"""The pages of a report as text."""

from io import StringIO

from rich.console import Console

from linattn_verify.reports.document import Report
from linattn_verify.reports.terminal import render


def compact(report: Report, width: int = 80) -> str:
    """What a terminal shows, as `render_text` gives the full page."""
    page = StringIO()
    render(report, Console(file=page, width=width, color_system=None))
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines()) + "\n"
