"""McNemar's exact test and Tango's interval, against published values and worked out by hand."""

import math
from collections.abc import Callable

import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binomtest

from linattn_verify.checks.paired import interval, mcnemar, smallest_visible

Z = 1.959963984540054
TABLES = [
    (lost, gained, n) for n in (1, 3, 7, 23) for lost in range(n + 1) for gained in range(n + 1)
]
TABLES = [(lost, gained, n) for lost, gained, n in TABLES if lost + gained <= n]


@pytest.mark.parametrize(
    ("lost", "gained", "p_value"),
    [
        (7, 1, 2 * (1 + 8) / 2**8),
        (16, 6, 0.0524788),  # Fagerland, Lydersen, Laake (2017), chapter 8
        (6, 0, 2 / 2**6),
        (5, 0, 2 / 2**5),
        (5, 1, 2 * (1 + 6) / 2**6),
        (1, 0, 1.0),
        (3, 3, 1.0),
        (0, 0, 1.0),
    ],
)
def test_mcnemar_is_twice_the_smaller_tail_of_a_fair_coin(
    lost: int, gained: int, p_value: float
) -> None:
    assert mcnemar(lost, gained) == pytest.approx(p_value, abs=1e-7)
    assert mcnemar(gained, lost) == mcnemar(lost, gained)


def test_mcnemar_is_scipys_binomial_test_of_the_questions_that_change_sides() -> None:
    for lost, gained, _ in TABLES:
        if lost + gained:
            expected = binomtest(gained, lost + gained, 0.5, alternative="two-sided").pvalue
            assert mcnemar(lost, gained) == pytest.approx(expected, rel=1e-12), (lost, gained)


@pytest.mark.parametrize(
    ("lost", "gained", "n", "confidence", "low", "high"),
    [
        # Airway hyper-responsiveness: Fagerland, Lydersen, Laake (2014), Statistics in Medicine
        (7, 1, 21, 0.95, -0.517, -0.026),
        # Complete response to a therapy: the same authors (2017), chapter 8
        (16, 6, 161, 0.95, -0.1240, -0.0054),
        # R's PropCIs: scoreci.mp(25, 28, 618, 0.90)
        (25, 28, 618, 0.90, -0.0148, 0.0247),
    ],
)
def test_the_interval_is_the_published_one(
    lost: int, gained: int, n: int, confidence: float, low: float, high: float
) -> None:
    digits = 5e-4 if n == 21 else 5e-5
    assert interval(lost, gained, n, confidence) == pytest.approx((low, high), abs=digits)


@pytest.mark.parametrize("n", [1, 2, 41, 189, 1319])
def test_where_nothing_changes_sides_the_interval_has_a_closed_form(n: int) -> None:
    bound = Z**2 / (n + Z**2)
    assert interval(0, 0, n) == pytest.approx((-bound, bound), abs=1e-9)


@pytest.mark.parametrize(("n", "high"), [(1, 0.586901), (3, 0.122994), (11, -0.482334)])
def test_where_all_are_lost_the_interval_starts_at_minus_one(n: int, high: float) -> None:
    """Its other end is (z² - n) / (z² + n)."""
    low, found = interval(n, 0, n)
    assert low == -1.0
    assert found == pytest.approx(high, abs=1e-6)
    assert high == pytest.approx((Z**2 - n) / (Z**2 + n), abs=1e-6)


def test_the_interval_holds_the_difference_seen_and_stays_between_minus_one_and_one() -> None:
    for lost, gained, n in TABLES:
        low, high = interval(lost, gained, n)
        assert -1 <= low <= (gained - lost) / n <= high <= 1, (lost, gained, n)
        assert low < high, (lost, gained, n)


def test_exchanged_sides_mirror_the_interval() -> None:
    for lost, gained, n in TABLES:
        low, high = interval(lost, gained, n)
        assert interval(gained, lost, n) == pytest.approx((-high, -low), abs=1e-9)


def test_the_interval_ends_where_a_score_test_is_at_its_border() -> None:
    """The test worked out anew: the likelihood's maximum is searched instead of solved for."""
    for lost, gained, n in [(7, 1, 21), (0, 3, 13), (4, 0, 23), (5, 6, 17), (11, 2, 97)]:
        for delta in interval(lost, gained, n):
            share = most_likely_share_lost(lost, gained, n, delta)
            variance = (2 * share + delta - delta**2) / n
            score = ((gained - lost) / n - delta) / math.sqrt(variance)
            assert abs(score) == pytest.approx(Z, abs=1e-4), (lost, gained, n, delta)


def most_likely_share_lost(lost: int, gained: int, n: int, delta: float) -> float:
    def surprise(share: float) -> float:
        shares = (share, share + delta, 1 - 2 * share - delta)
        counts = (lost, gained, n - lost - gained)
        return -sum(k * math.log(p) for k, p in zip(counts, shares, strict=True) if k)

    bounds = (max(0.0, -delta) + 1e-12, (1 - delta) / 2 - 1e-12)
    found = minimize_scalar(surprise, bounds=bounds, method="bounded", options={"xatol": 1e-12})
    return float(found.x)


def test_more_confidence_and_fewer_questions_widen_the_interval() -> None:
    low, high = interval(3, 1, 40)
    wider = interval(3, 1, 40, confidence=0.99)
    assert wider[0] < low and high < wider[1]
    fewer = interval(3, 1, 20)
    assert fewer[1] - fewer[0] > high - low


@pytest.mark.parametrize("n", [11, 17])
def test_the_interval_covers_the_truth_as_often_as_it_says(n: int) -> None:
    """Every table of `n` questions by its probability. An approximate interval may stay a little
    below 95 % in places."""
    intervals = {
        (lost, gained): interval(lost, gained, n)
        for lost in range(n + 1)
        for gained in range(n + 1 - lost)
    }
    rates = [0.01, 0.03, 0.07, 0.15, 0.3]
    covered = [coverage(intervals, n, lost, gained) for lost in rates for gained in [0.0, *rates]]
    assert min(covered) > 0.94
    assert 0.95 < sum(covered) / len(covered) < 0.995


def coverage(
    intervals: dict[tuple[int, int], tuple[float, float]], n: int, lost: float, gained: float
) -> float:
    """Probability that the interval holds `gained - lost`, the true rates."""
    truth = gained - lost
    return sum(
        math.comb(n, a) * math.comb(n - a, b) * lost**a * gained**b
        * (1 - lost - gained) ** (n - a - b)
        for (a, b), (low, high) in intervals.items()
        if low <= truth <= high
    )  # fmt: skip


@pytest.mark.parametrize(
    ("gained", "n", "drop"),
    [
        (0, 41, 6 / 41),  # 6 lost: 2 / 64 is below 0.05, 5 lost: 2 / 32 is not
        (1, 41, 7 / 41),  # 8 lost: 2 * (1 + 9) / 2^9 is, 7 lost: 2 * (1 + 8) / 2^8 is not
        (0, 6, 1.0),
        (0, 5, None),
        (1, 8, None),
        (1, 9, 7 / 9),
        (5, 5, None),
    ],
)
def test_the_smallest_visible_drop(gained: int, n: int, drop: float | None) -> None:
    assert smallest_visible(gained, n) == (drop if drop is None else pytest.approx(drop))


def test_the_smallest_visible_drop_is_the_first_that_the_test_calls_real() -> None:
    for n in (3, 13, 29):
        for gained in range(n + 1):
            assert smallest_visible(gained, n) == first_real(gained, n, mcnemar), (gained, n)


def first_real(gained: int, n: int, test: Callable[[int, int], float]) -> float | None:
    real = [k for k in range(n - gained + 1) if k > gained and test(k, gained) < 0.05]
    return (min(real) - gained) / n if real else None
