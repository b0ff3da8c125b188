"""What a check says: verdicts, limits kept or broken, proofs, the worst tokens."""

from collections.abc import Iterable
from enum import StrEnum

from pydantic import Field

from linattn_verify.configs.strict import Strict


class Verdict(StrEnum):
    """The answer to a check's question."""

    PASS = "PASS"
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"
    """Not enough data to tell."""
    VACUOUS = "VACUOUS"
    """The proof that the thing under test happened is missing."""
    UNSUPPORTED = "UNSUPPORTED"
    """This engine or machine cannot do it."""
    ERROR = "ERROR"
    """Our side or the machine."""


EXIT_CODES: dict[Verdict, int] = {
    Verdict.PASS: 0,
    Verdict.FAIL: 1,
    Verdict.ERROR: 4,
    Verdict.VACUOUS: 3,
    Verdict.INCONCLUSIVE: 3,
    Verdict.UNSUPPORTED: 3,
}
_WORST_FIRST = (
    Verdict.FAIL,
    Verdict.ERROR,
    Verdict.VACUOUS,
    Verdict.INCONCLUSIVE,
    Verdict.UNSUPPORTED,
    Verdict.PASS,
)


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of a run: its worst check. No check at all proves nothing: VACUOUS."""
    return min(verdicts, key=_WORST_FIRST.index, default=Verdict.VACUOUS)


class Proof(Strict):
    """A statement about what the engine did, read from the engine."""

    name: str
    expected: str
    observed: str
    holds: bool


class LimitOutcome(Strict):
    """One metric against what the check tolerates."""

    value: float | None
    """None where nothing could be measured, which never holds."""
    limit: float
    origin: str
    holds: bool
    margin: float | None
    """limit / value: above 1 holds; None where the value is 0 (any limit would hold) or None."""


class WorstToken(Strict):
    """One of the positions where candidate and reference differ most."""

    request: int
    prompt: str
    """The prompt's name."""
    leg: str
    position: int
    text: str
    chunk: int | None
    edge_distance: int | None
    reference_logprob: float | None
    candidate_logprob: float | None
    """None where it is NaN or infinite: `note` says which."""
    delta: float | None
    note: str = ""


class CheckResult(Strict):
    """One check's answer for one scenario."""

    name: str
    scenario: str
    reference: str | None
    verdict: Verdict
    message: str
    metrics: dict[str, float] = Field(default_factory=dict)
    limits: dict[str, LimitOutcome] = Field(default_factory=dict)
    counts: dict[str, int] = Field(default_factory=dict)
    """Rows or requests: requested, compared, left out by reason."""
    worst: tuple[WorstToken, ...] = ()
