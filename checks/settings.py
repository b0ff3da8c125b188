"""Requested engine arguments against resolved ones, leniently about spelling."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_ABSENT = object()


@dataclass(frozen=True)
class Change:
    """A setting that the engine resolved to something else."""

    name: str
    requested: Any
    resolved: Any


@dataclass(frozen=True)
class Settings:
    """Every requested argument by what became of it; nested ones under `outer.inner`."""

    same: tuple[str, ...]
    changed: tuple[Change, ...]
    not_reported: tuple[str, ...]

    def counts(self) -> dict[str, int]:
        """How many arguments were asked for, and what became of them."""
        same, changed, unknown = len(self.same), len(self.changed), len(self.not_reported)
        return {
            "requested": same + changed + unknown,
            "same": same,
            "changed": changed,
            "not_reported": unknown,
        }


def compare_settings(requested: Mapping[str, Any], resolved: Mapping[str, Any]) -> Settings:
    """What became of each requested argument. One left to the engine (None, "auto") accepts
    whatever the engine reports."""
    same: list[str] = []
    changed: list[Change] = []
    not_reported: list[str] = []
    for name, asked, got in _pairs(requested, resolved):
        if got is _ABSENT:
            not_reported.append(name)
        elif _agree(asked, got):
            same.append(name)
        else:
            changed.append(Change(name, asked, got))
    return Settings(tuple(same), tuple(changed), tuple(not_reported))


def in_words(value: object) -> str:
    """A setting's value as reports print it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _pairs(
    requested: Mapping[str, Any], resolved: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    for key, asked in requested.items():
        got = resolved.get(key, _ABSENT)
        if isinstance(asked, dict) and isinstance(got, dict) and asked:
            yield from _pairs(asked, got, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", asked, got


def _agree(asked: Any, got: Any) -> bool:
    if asked is None or _plain(asked) == "auto":
        return True
    if isinstance(asked, list | tuple) and isinstance(got, list | tuple):
        return len(asked) == len(got) and all(map(_agree, asked, got))
    return _plain(asked) == _plain(got) or _equal_numbers(asked, got)


def _plain(value: object) -> str:
    return str(value).strip().lower().removeprefix("torch.").rstrip("/")


def _equal_numbers(asked: Any, got: Any) -> bool:
    try:
        return float(asked) == float(got)
    except (TypeError, ValueError):
        return False
