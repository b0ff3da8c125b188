"""How numbers are written, so that they line up and never look better than they are."""

import math
from collections.abc import Callable, Iterable

from linattn_verify.checks.result import LimitOutcome

NOT_MEASURED = "n/a"


def number(value: float | None) -> str:
    """`value` in at most six characters where it can be: 431, 4.31, 0.431, 0.0043, 4.3e-4."""
    if value is None or not math.isfinite(value):
        return NOT_MEASURED
    size = abs(value)
    if float(value).is_integer() and size < 1e6:
        return f"{value:.0f}"
    for at_least, decimals in ((100, 0), (10, 1), (1, 2), (0.1, 3), (0.001, 4)):
        if at_least <= size < 1e6:
            return f"{value:.{decimals}f}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def limit_text(limit: float) -> str:
    """`limit` without trailing zeros: 0.15, 1.2, 1e-4."""
    mantissa, _, exponent = f"{limit:.4g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def percent(share: float) -> str:
    """A share of questions as 85.9 %."""
    return f"{100 * share:.1f} %"


def span(values: Iterable[float], text: Callable[[float], str]) -> str:
    """The smallest and the largest of `values`, once where they read the same."""
    found = sorted(values)
    return " to ".join(dict.fromkeys((text(found[0]), text(found[-1]))))


def questions(counts: Iterable[int]) -> str:
    """How many questions: 64 questions, 60 to 64 questions."""
    said = span(counts, lambda count: f"{count:,}")
    return f"{said} question{'' if said == '1' else 's'}"


def against_limit(metric: str, outcome: LimitOutcome) -> str:
    """Value and limit in the unit of `metric`: the limits of tasks are shares of the questions."""
    kind, value = metric.rpartition(".")[2], outcome.value
    if kind == "drop":
        drop = number(None if value is None else 100 * value)
        return f"up to {drop} points, limit {limit_text(100 * outcome.limit)} points"
    if kind == "min_score":
        score = number(None) if value is None else percent(value)
        return f"{score}, at least {limit_text(100 * outcome.limit)} %"
    return f"{number(value)}, limit {limit_text(outcome.limit)}"


def margin_text(outcome: LimitOutcome) -> str:
    """Limit over value as ×3.2, rounded down: a broken limit never reads ×1.0."""
    if outcome.margin is None:
        return "×∞" if outcome.holds else ""
    if outcome.margin >= 1000:
        return "×999+"
    decimals = 2 if outcome.margin < 1 else 1 if outcome.margin < 10 else 0
    scale = 10**decimals
    return f"×{math.floor(outcome.margin * scale) / scale:.{decimals}f}"


def margin_mark(outcome: LimitOutcome) -> str:
    """The margin, with a mark where the limit is broken."""
    return margin_text(outcome) + ("" if outcome.holds else "✗")


def duration(seconds: float) -> str:
    """Seconds as a reader says them: 0.4 s, 42 s, 3 min 07 s, 1 h 02 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
