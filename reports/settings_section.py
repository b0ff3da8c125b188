"""Engine settings: requested against resolved, and what the engine chose by itself."""

import json
from collections.abc import Iterator

from pydantic import JsonValue
from rich.console import RenderableType

from linattn_verify.reports.document import Engines, Report
from linattn_verify.reports.ink import Ink, indented


def settings_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """The settings that came out otherwise, the engine's words on them, its own choices."""
    engine = report.engine
    if not engine.requested:
        return
    yield ink.heading("Settings: requested and resolved")
    asked = sum(len(settings) for settings in engine.requested.values())
    as_requested = asked - len(engine.differences)
    yield ink.text(f"{as_requested} of {asked} requested settings are in effect as requested.")
    if engine.differences:
        yield _differences(engine, ink)
    for name in engine.requested:
        yield from _engine(name, engine, ink)


def _differences(engine: Engines, ink: Ink) -> RenderableType:
    """A row for each difference; engines that agree on it share the row."""
    by_row: dict[tuple[str, ...], list[str]] = {}
    for d in engine.differences:
        resolved = "–" if d.verdict == "not reported" else _shown(d.resolved)
        row: tuple[str, ...] = (d.setting, _shown(d.requested), resolved, d.verdict)
        by_row.setdefault(row, []).append(d.engine)
    table = ink.table("Setting", "Requested", "Resolved", "Verdict", "Engine")
    for cells, engines in by_row.items():
        table.add_row(*(ink.text(cell) for cell in cells), ink.text(", ".join(engines)))
    return table


def _engine(name: str, engine: Engines, ink: Ink) -> Iterator[RenderableType]:
    notes = engine.notes.get(name, ())
    resolved = engine.resolved.get(name, {})
    chosen = [f"{k} = {_shown(v)}" for k, v in resolved.items() if k not in engine.requested[name]]
    if not notes and not chosen:
        return
    yield ink.text(f"Engine {name}", "bold")
    if chosen:
        yield indented(ink.text(f"Chosen by the engine: {', '.join(chosen)}"))
    if notes:
        yield indented(ink.text("In its log:"))
    for note in notes:
        yield indented(ink.text(note.strip(), "dim"), by=4)


def _shown(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
