"""Paired right-or-wrong answers: is a drop real, how large can it be, and would it have shown?

The same questions in the same order on both sides, so only the questions that change sides count:
`lost` (right in the reference, wrong in the candidate) and `gained` (the other way round), of `n`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.optimize import brentq
from scipy.stats import binomtest, norm

from linattn_verify.checks.limits import difference
from linattn_verify.checks.result import Paired, Verdict

CONFIDENCE = 0.95
_POWER = 0.8
_FEWEST = 6
"""Questions lost, and none gained, that McNemar's test calls real: 2 / 2^6 < 0.05."""
_Z = float(norm.ppf((1 + CONFIDENCE) / 2))
_Z_POWER = float(norm.ppf(_POWER))


@dataclass(frozen=True)
class Table:
    """The 2x2 table of a paired comparison."""

    both_right: int
    lost: int
    gained: int
    both_wrong: int

    @property
    def n(self) -> int:
        """All questions."""
        return self.both_right + self.lost + self.gained + self.both_wrong

    @property
    def difference(self) -> float:
        """Candidate's share of right answers minus the reference's."""
        return (self.gained - self.lost) / self.n


def compare_paired(table: Table, margin: float) -> tuple[Verdict, str, Paired]:
    """Non-inferiority against `margin` (a share of the questions): the verdict, what it rests on,
    and the figures. Raises ValueError for an empty table.

    FAIL: the drop is real (McNemar, p < 0.05) and as large as the margin, or larger. PASS: the
    interval of the difference excludes a drop of the margin. INCONCLUSIVE: neither.
    """
    if table.n < 1:
        raise ValueError("no question to compare")
    low, high = interval(table.lost, table.gained, table.n)
    p_value = mcnemar(table.lost, table.gained)
    real = p_value < 1 - CONFIDENCE and table.difference < 0
    if real and -table.difference >= margin:
        verdict = Verdict.FAIL
    else:
        verdict = Verdict.PASS if low > -margin else Verdict.INCONCLUSIVE
    needed = questions_needed(table, margin) if verdict is Verdict.INCONCLUSIVE else None
    paired = Paired(
        both_right=table.both_right,
        lost=table.lost,
        gained=table.gained,
        both_wrong=table.both_wrong,
        difference=table.difference,
        low=low,
        high=high,
        p_value=p_value,
        smallest_visible=smallest_visible(table.gained, table.n),
        questions_needed=needed,
    )
    return verdict, _reason(verdict, paired, table.n, margin, real), paired


def mcnemar(lost: int, gained: int) -> float:
    """McNemar's exact test, two-sided: are both directions equally likely? 1 without any change.

    Source: McNemar (1947), Psychometrika 12; exact form: a binomial test at one half.
    """
    changed = lost + gained
    return float(binomtest(lost, changed, 0.5).pvalue) if changed else 1.0


def interval(lost: int, gained: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Interval of (gained - lost) / n: the differences that a score test does not reject.

    Source: Tango (1998), Statistics in Medicine 17, 891-908. Chosen over the adjusted Wald
    interval since it does not become too narrow where nothing, or almost nothing, changes sides.
    """
    z = float(norm.ppf((1 + confidence) / 2))
    centre = (gained - lost) / n

    def excess(delta: float, sign: float) -> float:
        return sign * _score(lost, gained, n, delta) - z

    low = -1.0 if excess(-1.0, 1) <= 0 else _root(lambda d: excess(d, 1), -1.0, centre)
    high = 1.0 if excess(1.0, -1) <= 0 else _root(lambda d: excess(d, -1), centre, 1.0)
    return low, high


def _root(function: Callable[[float], float], a: float, b: float) -> float:
    return a if a == b else float(brentq(function, a, b))


def _score(lost: int, gained: int, n: int, delta: float) -> float:
    """Tango's score statistic for a difference of `delta`, 0 at the one observed."""
    variance = n * _variance(lost, gained, n, delta)
    distance = gained - lost - n * delta
    if variance <= 0:
        return 0.0 if distance == 0 else math.copysign(math.inf, distance)
    return distance / math.sqrt(variance)


def _variance(lost: int, gained: int, n: int, delta: float) -> float:
    """A question's variance, were the true difference `delta`.

    `share` is the most likely share of lost questions under that difference (a quadratic's root).
    """
    b = -gained - lost + (2 * n - gained + lost) * delta
    c = -lost * delta * (1 - delta)
    share = (math.sqrt(max(0.0, b * b - 8 * n * c)) - b) / (4 * n)
    return 2 * share + delta * (1 - delta)


def smallest_visible(gained: int, n: int) -> float | None:
    """The smallest drop, as a share of `n`, that McNemar's test would call real beside as many
    gained questions as were seen; None where even losing all others would not be enough."""
    for lost in range(gained + 1, n - gained + 1):
        if mcnemar(lost, gained) < 1 - CONFIDENCE:
            return (lost - gained) / n
    return None


def questions_needed(table: Table, margin: float) -> int:
    """Questions that would settle it with a power of 80 %, were the rates those seen.

    A drop below the margin: so many that the interval excludes the margin, by the variance that
    the interval has there. A drop of the margin or more: so many that McNemar's test finds it
    (Connor 1987, Biometrics 43), which takes six that change sides at the very least.
    """
    drop, changed = -table.difference, (table.lost + table.gained) / table.n
    if drop < margin:
        distance, least = margin - drop, 0.0
        supposed = _variance(table.lost, table.gained, table.n, -margin)
    else:
        distance, least = drop, _FEWEST / changed
        supposed = changed
    spread = _Z * math.sqrt(supposed) + _Z_POWER * math.sqrt(changed - drop**2)
    return max(table.n + 1, math.ceil(least), math.ceil((spread / distance) ** 2))


def _reason(verdict: Verdict, paired: Paired, judged: int, margin: float, real: bool) -> str:
    found = difference(paired)
    sides = f"{paired.lost} lost, {paired.gained} gained, p {paired.p_value:.2g}"
    limit = f"a drop of {100 * margin:g} points"
    if verdict is Verdict.FAIL:
        return f"{found} points: a real drop, at or beyond the margin ({limit}); {sides}"
    if verdict is Verdict.PASS:
        small = "; a real drop, but a small one" if real else ""
        return f"{found} points excludes {limit}{small}; {sides}"
    visible = paired.smallest_visible
    could = f"a drop from {100 * visible:.1f} points on" if visible else "none"
    return (
        f"{found} points does not exclude {limit}; {sides}; {judged} questions judged could "
        f"show {could}, some {paired.questions_needed} would settle it"
    )
