"""Questions that changed sides: both outputs side by side, from where they part."""

from collections.abc import Sequence
from dataclasses import dataclass

from linattn_verify.reports.document import Report
from linattn_verify.reports.flip import SharedFlip, shared_flips

MOST = 40
"""Flips of a task; report.json has all of them."""
_LONGEST = 1200
"""Characters of an output from shortly before it parts."""


@dataclass(frozen=True)
class Side:
    """One output: what both have in common, where it first differs, and what follows."""

    same: str
    differs: str
    rest: str
    cut: bool
    """Whether there is more than is shown."""


@dataclass(frozen=True)
class Pair:
    """A flip with both sides."""

    flip: SharedFlip
    begun: bool
    """Whether something stood before what is shown."""
    reference: Side
    candidate: Side


@dataclass(frozen=True)
class Flipped:
    """The flips of one task."""

    task: str
    pairs: tuple[Pair, ...]
    more: int


def flipped(report: Report) -> list[Flipped]:
    """Every task that has any."""
    tasks = dict.fromkeys(flip.task for check in report.checks for flip in check.flips)
    return [_of_task(task, shared_flips(task, report.checks)) for task in tasks]


def _of_task(task: str, flips: Sequence[SharedFlip]) -> Flipped:
    return Flipped(task, tuple(map(_pair, flips[:MOST])), max(len(flips) - MOST, 0))


def _pair(flip: SharedFlip) -> Pair:
    begun, reference, candidate = flip.excerpts
    same = next(
        (at for at, (a, b) in enumerate(zip(reference, candidate, strict=False)) if a != b),
        min(len(reference), len(candidate)),
    )
    word = max(reference.rfind(" ", 0, same), reference.rfind("\n", 0, same)) + 1
    return Pair(flip, begun, _side(reference, word, same), _side(candidate, word, same))


def _side(output: str, word: int, same: int) -> Side:
    """Marked is the whole word in which the outputs part: a token may be a part of it."""
    ends = (at for at in range(same, len(output)) if output[at].isspace())
    end = max(next(ends, len(output)), min(same + 1, len(output)))
    last = max(_LONGEST, end)
    return Side(output[:word], output[word:end], output[end:last], len(output) > last)
