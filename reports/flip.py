"""A question that changed sides in one scenario: once, however many filters say so."""

from collections.abc import Sequence
from dataclasses import dataclass

from linattn_verify.checks.result import Flip
from linattn_verify.reports.check_section import worst_first
from linattn_verify.reports.document import Check
from linattn_verify.reports.numbers import number

NEAR_TIE = 0.1
"""Nats: a lead below it is one that rounding can turn."""
_BEFORE = 24
"""Characters shown of what two outputs have in common before they part."""


@dataclass(frozen=True)
class SharedFlip:
    """Flips that are the same but for filter and extracted answers."""

    scenario: str
    flips: tuple[Flip, ...]
    """At least one."""

    @property
    def first(self) -> Flip:
        """Any of them, for what they have in common."""
        return self.flips[0]

    @property
    def title(self) -> str:
        """Scenario, question, direction and filters."""
        filters = ", ".join(dict.fromkeys(flip.filter for flip in self.flips))
        return f"{self.scenario} · question {self.first.question} · {self.first.change} · {filters}"

    @property
    def answers(self) -> dict[tuple[str, str], str]:
        """Filters by the answers of reference and candidate that they found."""
        found: dict[tuple[str, str], list[str]] = {}
        for flip in self.flips:
            found.setdefault((flip.reference_answer, flip.candidate_answer), []).append(flip.filter)
        return {answers: ", ".join(filters) for answers, filters in found.items()}

    @property
    def parting(self) -> str:
        """Where the outputs part, and whether rounding can have turned the choice there."""
        at, lead = self.first.parted_at, self.first.reference_lead
        if at is None:
            return "no output token differs"
        if lead is None:
            return f"at token {at}"
        tie = "a near-tie" if lead < NEAR_TIE else "no near-tie"
        return f"at token {at}, where the reference's token led by {number(lead)} nats: {tie}"

    @property
    def excerpts(self) -> tuple[bool, str, str]:
        """Both outputs from shortly before they part, and whether something stood before that."""
        reference, candidate = self.first.reference_output, self.first.candidate_output
        same = _same(reference, candidate)
        start = max(same - _BEFORE, 0)
        if start:
            start = max(reference.find(" ", start, same) + 1, start)
        return start > 0, reference[start:], candidate[start:]


def _same(one: str, other: str) -> int:
    """Characters that both begin with; the shorter may be all of it."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def shared_flips(task: str, checks: Sequence[Check]) -> list[SharedFlip]:
    """Every flip of the task; those of what did not pass first."""
    return [shared for check in worst_first(checks) for shared in _of_check(task, check)]


def _of_check(task: str, check: Check) -> list[SharedFlip]:
    alike: dict[tuple[object, ...], list[Flip]] = {}
    for flip in check.flips:
        if flip.task == task:
            key = flip.question, flip.change, flip.reference_output, flip.candidate_output
            alike.setdefault(key, []).append(flip)
    return [SharedFlip(check.scenario, tuple(flips)) for flips in alike.values()]
