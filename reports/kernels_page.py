"""The page of `linattn-verify kernels`: the verdict, then the operators."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from linattn_verify.reports.document import KernelsReport
from linattn_verify.reports.ink import VERDICT_STYLES, Ink
from linattn_verify.reports.kernel_section import kernel_section


def kernels_page(report: KernelsReport, ink: Ink) -> Iterator[RenderableType]:
    """Every part of the page, in order."""
    yield _verdict(report, ink)
    yield from kernel_section(report, ink)
    cpu, versions = report.environment.cpu, report.environment.versions
    yield ink.heading("Environment")
    yield ink.text(f"CPU: {cpu.model}, {cpu.threads} threads, {' '.join(cpu.features)}")
    yield ink.text("versions: " + ", ".join(f"{name} {v}" for name, v in versions.items()))
    if report.run_folder:
        yield ink.text(f"every case and the log: {report.run_folder}")


def _verdict(report: KernelsReport, ink: Ink) -> Panel:
    style = VERDICT_STYLES[report.verdict]
    first = Text.assemble((report.verdict.value, style), f"   exit code {report.exit_code}")
    notes = [ink.text(f"Note: {note}") for note in report.notes]
    title = ink.text(f"{report.tool.name} {report.tool.version} kernels")
    return Panel(
        Group(first, ink.text(report.headline), *notes),
        title=title,
        title_align="left",
        border_style=style,
        width=ink.width,
    )
