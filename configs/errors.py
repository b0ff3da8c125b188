"""Errors a user can act on."""

import difflib
from collections.abc import Iterable

_LISTED = 20


class UsageError(Exception):
    """The request cannot be carried out as asked; the text says what to change. Exit code 2."""


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice that looks most like `word`, or None where nothing is close."""
    matches = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.5)
    return matches[0] if matches else None


def unknown(kind: str, word: str, choices: Iterable[str], where: str = "") -> UsageError:
    """A UsageError for a name that is not among `choices`: suggests the nearest, and lists all, or
    of more than 20 those that look like it."""
    known = sorted(choices)
    close = nearest(word, known)
    listed = ", ".join(known)
    if len(known) > _LISTED:
        alike = difflib.get_close_matches(word, known, n=_LISTED, cutoff=0.3)
        others = f"{len(known) - len(alike):,} that do not look like it"
        listed = ", ".join([*alike, others])
    hint = f" Did you mean {close!r}?" if close else ""
    place = f" in {where}" if where else ""
    return UsageError(f"Unknown {kind} {word!r}{place}.{hint} Known: {listed}.")
