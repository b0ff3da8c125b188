"""What `doctor` found, for people."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from linattn_verify.reports.ink import Ink, indented
from linattn_verify.traces.finding import Finding, Level

_STYLES = {Level.OK: "bold green", Level.NOTE: "bold yellow", Level.PROBLEM: "bold red"}
_ORDER = (Level.PROBLEM, Level.NOTE, Level.OK)


def environment_page(findings: tuple[Finding, ...], ink: Ink) -> Iterator[RenderableType]:
    """What prevents a run first, then what to know, then the rest."""
    for finding in sorted(findings, key=lambda found: _ORDER.index(found.level)):
        head = f"{finding.topic}: {finding.found}"
        yield Text.assemble((f"{finding.level.value:8}", _STYLES[finding.level]), ink.text(head))
        yield indented(ink.text(f"{finding.means}.", "dim"), 8)
        if finding.fix:
            yield indented(ink.text(f"→ {finding.fix}"), 8)
    count = sum(finding.level is Level.PROBLEM for finding in findings)
    yield Text("")
    yield ink.text(
        f"{'1 problem prevents' if count == 1 else f'{count} problems prevent'} a run: see → above."
        if count
        else "Nothing prevents a run.",
        "bold",
    )
