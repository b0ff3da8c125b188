"""How numbers are written, so that they line up and never look better than they are."""

import math

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
