"""Requested engine arguments against resolved ones, leniently about spelling."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_ABSENT = object()


@dataclass(frozen=True)
class Change:
    """A setting that came out as something else."""

    name: str
    requested: Any
    resolved: Any
    demand: str = "asked for"
    """Whose wish `requested` is: the request's, the configuration's, or the scenarios'."""
    source: str = "engine resolved"
    """Where `resolved` was read."""

    def told(self) -> str:
        """The change in words."""
        asked, got = in_words(self.requested), in_words(self.resolved)
        return f"{self.name} {self.demand} {asked}, {self.source} {got}"


@dataclass(frozen=True)
class Settings:
    """Every requested argument by what became of it; nested ones under `outer.inner`."""

    requested: int
    """How many arguments were asked for."""
    same: tuple[str, ...]
    changed: tuple[Change, ...]
    not_reported: tuple[str, ...]

    def counts(self) -> dict[str, int]:
        """How many arguments were asked for, and what became of them."""
        return {
            "requested": self.requested,
            "same": len(self.same),
            "changed": len(self.changed),
            "not_reported": len(self.not_reported),
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
        elif agree(asked, got):
            same.append(name)
        else:
            changed.append(Change(name, asked, got))
    total = len(same) + len(changed) + len(not_reported)
    return Settings(total, tuple(same), tuple(changed), tuple(not_reported))


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


def open_to(asked: Any) -> bool:
    """Whether a setting was left to the engine."""
    return asked is None or _plain(asked) == "auto"


def agree(asked: Any, got: Any) -> bool:
    """Whether a value is the one asked for, but for its spelling, or the engine had the choice."""
    if open_to(asked):
        return True
    if isinstance(asked, list | tuple) and isinstance(got, list | tuple):
        return len(asked) == len(got) and all(map(agree, asked, got))
    return _plain(asked) == _plain(got) or _equal_numbers(asked, got)


def _plain(value: object) -> str:
    return str(value).strip().lower().removeprefix("torch.").rstrip("/")


def _equal_numbers(asked: Any, got: Any) -> bool:
    try:
        return float(asked) == float(got)
    except (TypeError, ValueError):
        return False
