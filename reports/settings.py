"""Which engine settings came out otherwise than requested."""

import math
from collections.abc import Mapping

from pydantic import JsonValue

from linattn_verify.checks.effective import compare_engine
from linattn_verify.checks.evidence import EngineSettings
from linattn_verify.reports.document import Engines, Setting
from linattn_verify.reports.effective import effective_settings


def engine_section(engines: Mapping[str, EngineSettings]) -> Engines:
    """Requested and resolved settings of every engine, and where they differ."""
    requested = {name: _plain_mapping(e.requested) for name, e in engines.items()}
    resolved = {name: _plain_mapping(e.resolved) for name, e in engines.items()}
    return Engines(
        requested=requested,
        resolved=resolved,
        notes={name: e.notes for name, e in engines.items()},
        differences=tuple(
            difference
            for name, settings in engines.items()
            for difference in _differences(name, settings)
        ),
        effective={name: effective_settings(e) for name, e in engines.items()},
        guards={name: e.guards for name, e in engines.items()},
        observed={name: e.observed for name, e in engines.items() if e.observed},
    )


def _differences(engine: str, settings: EngineSettings) -> list[Setting]:
    found = compare_engine(settings)
    changed = [
        Setting(
            engine=engine,
            setting=change.name,
            requested=plain(change.requested),
            resolved=plain(change.resolved),
            verdict="changed",
        )
        for change in found.changed
    ]
    unknown = [
        Setting(
            engine=engine,
            setting=name,
            requested=plain(settings.requested.get(name)),
            resolved=None,
            verdict="not reported",
        )
        for name in found.not_reported
    ]
    return changed + unknown


def plain(value: object) -> JsonValue:
    """`value` as JSON can hold it; what JSON has no form for becomes its text."""
    if value is None or isinstance(value, bool | int | str):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return _plain_mapping(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value)


def _plain_mapping(mapping: Mapping[str, object]) -> dict[str, JsonValue]:
    return {str(key): plain(value) for key, value in mapping.items()}
