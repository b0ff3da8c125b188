"""Which engine settings came out otherwise than requested."""

import math
from collections.abc import Mapping

from pydantic import JsonValue

from linattn_verify.checks.evidence import EngineSettings
from linattn_verify.reports.document import Engines, Setting

_LEFT_TO_THE_ENGINE = (None, "auto")


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
            for name in engines
            for difference in _differences(name, requested[name], resolved[name])
        ),
    )


def _differences(
    engine: str, requested: dict[str, JsonValue], resolved: dict[str, JsonValue]
) -> list[Setting]:
    found = []
    for key, asked in requested.items():
        if asked in _LEFT_TO_THE_ENGINE or (key in resolved and _same(asked, resolved[key])):
            continue
        found.append(
            Setting(
                engine=engine,
                setting=key,
                requested=asked,
                resolved=resolved.get(key),
                verdict="changed" if key in resolved else "not reported",
            )
        )
    return found


def _same(asked: JsonValue, got: JsonValue) -> bool:
    """Whether the engine runs with what was asked. Of a mapping only the asked keys count, and
    `torch.bfloat16` is `bfloat16`."""
    if isinstance(asked, dict) and isinstance(got, dict):
        return all(key in got and _same(value, got[key]) for key, value in asked.items())
    if isinstance(asked, str) and isinstance(got, str):
        return asked.removeprefix("torch.") == got.removeprefix("torch.")
    if isinstance(asked, bool) or isinstance(got, bool):
        return asked is got
    return asked == got


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
