"""The run by phase, one after another."""

from collections.abc import Iterable
from dataclasses import dataclass

from linattn_verify.reports.document import Phase
from linattn_verify.reports.numbers import duration


@dataclass(frozen=True)
class Bar:
    """A phase, as percentages of the whole."""

    name: str
    start: float
    share: float
    says: str


@dataclass(frozen=True)
class Timeline:
    """Every phase."""

    bars: tuple[Bar, ...]
    total: str


def timeline(phases: Iterable[Phase]) -> Timeline | None:
    """Phases follow one another without a gap; None where there are none."""
    listed = tuple(phases)
    total = sum(phase.seconds for phase in listed)
    if not total:
        return None
    bars, passed = [], 0.0
    for phase in listed:
        share = 100 * phase.seconds / total
        bars.append(Bar(phase.name, round(passed, 2), round(share, 2), duration(phase.seconds)))
        passed += share
    return Timeline(tuple(bars), duration(total))
