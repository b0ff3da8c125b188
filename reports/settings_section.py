"""Engine settings: requested against resolved, and what the engine chose by itself."""

import json
from collections.abc import Iterator

from pydantic import JsonValue
from rich.console import RenderableType

from linattn_verify.reports.document import Engines, Report
from linattn_verify.reports.effective import SHOWN
from linattn_verify.reports.ink import Ink, indented
from linattn_verify.reports.json_report import REPORT

_NOTES = 6
"""Lines of the engines' logs in the summary."""


def settings_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """The settings that came out otherwise, the engine's words on them, its own choices."""
    yield from _kept(report.engine, ink)
    yield from _effective(report.engine, ink)
    for name in report.engine.requested:
        yield from _engine(name, report.engine, ink)


def settings_summary(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """The same, said once where engines agree, and of their logs a line for each note."""
    engine = report.engine
    yield from _kept(engine, ink)
    yield from _effective(engine, ink)
    for names, chosen in _shared({name: _chosen(name, engine) for name in engine.requested}):
        yield ink.text(f"Chosen by {_engines(names)}: {', '.join(chosen)}")
    notes = _shared({name: _notes(name, engine) for name in engine.requested})
    left = _NOTES
    for names, lines in notes:
        if left > 0:
            yield ink.text(f"In the log of {_engines(names)}:")
        for note in lines[: max(left, 0)]:
            yield indented(ink.line(note, ink.width - 2, "dim"))
        left -= len(lines)
    if left < 0:
        yield indented(ink.text(f"… {-left} more in {REPORT}", "dim"))


def _shared(by_engine: dict[str, tuple[str, ...]]) -> list[tuple[list[str], list[str]]]:
    """Lines by the engines that have them in common, each line once."""
    owners: dict[str, list[str]] = {}
    for name, lines in by_engine.items():
        for line in dict.fromkeys(lines):
            owners.setdefault(line, []).append(name)
    groups: dict[tuple[str, ...], list[str]] = {}
    for line, names in owners.items():
        groups.setdefault(tuple(names), []).append(line)
    most_first = sorted(groups, key=len, reverse=True)
    return [(list(names), groups[names]) for names in most_first]


def _engines(names: list[str]) -> str:
    return f"engine{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _kept(engine: Engines, ink: Ink) -> Iterator[RenderableType]:
    """How many requested settings are in effect, and which are not."""
    if not engine.requested:
        return
    yield ink.heading("Settings: requested and resolved")
    asked = sum(len(settings) for settings in engine.requested.values())
    otherwise = {
        (d.engine, d.setting.partition(".")[0])
        for d in engine.differences
        if d.setting.partition(".")[0] in engine.requested.get(d.engine, {})
    }
    as_requested = asked - len(otherwise)
    yield ink.text(f"{as_requested} of {asked} requested settings are in effect as requested.")
    if engine.differences:
        yield _differences(engine, ink)


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


def _effective(engine: Engines, ink: Ink) -> Iterator[RenderableType]:
    """The settings that decide what a scenario tests; engines that agree on one share its row."""
    names = [row.setting for rows in engine.effective.values() for row in rows]
    if not names:
        return
    table = ink.table("Setting", "Asked for", "Resolved", "Engine")
    for setting in dict.fromkeys(names):
        by_row: dict[tuple[str, str], list[str]] = {}
        for name, rows in engine.effective.items():
            for row in rows:
                if row.setting == setting:
                    by_row.setdefault((row.requested, row.resolved), []).append(name)
        for (asked, got), engines in by_row.items():
            owners = "all" if len(engines) == len(engine.effective) else ", ".join(engines)
            table.add_row(*(ink.text(cell) for cell in (setting, asked, got, owners)))
    yield table


def _notes(name: str, engine: Engines) -> tuple[str, ...]:
    """Lines of an engine's log: first those that are known to be about a setting, with its name."""
    told: dict[str, list[str]] = {}
    for guard in engine.guards.get(name, ()):
        told.setdefault(guard.line, []).append(guard.told())
    named = [f"{', '.join(what)}: {line}" for line, what in told.items()]
    return (*named, *(line for line in engine.notes.get(name, ()) if line not in told))


def _engine(name: str, engine: Engines, ink: Ink) -> Iterator[RenderableType]:
    notes = _notes(name, engine)
    chosen = _chosen(name, engine)
    if not notes and not chosen:
        return
    yield ink.text(f"Engine {name}", "bold")
    if chosen:
        yield indented(ink.text(f"Chosen by the engine: {', '.join(chosen)}"))
    if notes:
        yield indented(ink.text("In its log:"))
    for note in notes:
        yield indented(ink.text(note.strip(), "dim"), by=4)


def _chosen(name: str, engine: Engines) -> tuple[str, ...]:
    """Settings that nobody asked for, and that have no row of their own."""
    resolved = engine.resolved.get(name, {})
    known = {*engine.requested[name], *SHOWN}
    return tuple(f"{key} = {_shown(v)}" for key, v in resolved.items() if key not in known)


def _shown(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
