"""A drop is real, or too small to matter, or cannot be told yet; and what would settle it."""

import random
from functools import cache

import pytest

from linattn_verify.checks.paired import Table, compare_paired, questions_needed
from linattn_verify.checks.result import Verdict


def table(lost: int, gained: int, n: int) -> Table:
    """Of the questions that stay, three are right to one wrong."""
    stay = n - lost - gained
    return Table(both_right=stay - stay // 4, lost=lost, gained=gained, both_wrong=stay // 4)


@cache
def verdict(lost: int, gained: int, n: int, margin: float) -> Verdict:
    return compare_paired(table(lost, gained, n), margin)[0]


@pytest.mark.parametrize(
    ("lost", "gained", "n", "margin", "expected"),
    [
        (15, 1, 64, 0.1, Verdict.FAIL),
        (6, 0, 41, 0.1, Verdict.FAIL),  # p 2/64
        (5, 0, 41, 0.1, Verdict.INCONCLUSIVE),  # a drop of 12.2 points, p 2/32
        (6, 0, 60, 0.1, Verdict.FAIL),  # of exactly the margin: it will never be excluded
        (6, 0, 61, 0.1, Verdict.INCONCLUSIVE),  # a real drop of 9.8 points, 10 not excluded
        (0, 6, 41, 0.1, Verdict.PASS),  # as real as above, and better
        (0, 0, 35, 0.1, Verdict.PASS),  # z² / (35 + z²) = 0.0989
        (0, 0, 34, 0.1, Verdict.INCONCLUSIVE),  # z² / (34 + z²) = 0.1015
        (0, 0, 189, 0.02, Verdict.PASS),
        (0, 0, 188, 0.02, Verdict.INCONCLUSIVE),
        (0, 0, 1, 0.9, Verdict.PASS),  # z² / (1 + z²) = 0.793
        (1, 0, 1, 0.9, Verdict.INCONCLUSIVE),  # one question is no proof
    ],
)
def test_verdict(lost: int, gained: int, n: int, margin: float, expected: Verdict) -> None:
    assert verdict(lost, gained, n, margin) is expected


def test_the_reason_has_the_numbers_of_a_failure() -> None:
    _, reason, paired = compare_paired(table(15, 1, 64), margin=0.1)
    # (1 - 15) / 64; p = 2 (1 + 16) / 2^16
    assert reason.startswith("-21.9 [-34.0, -11.3] points: a real drop, at or beyond the margin")
    assert reason.endswith("(a drop of 10 points); 15 lost, 1 gained, p 0.00052")
    assert (paired.both_right, paired.both_wrong) == (36, 12)
    assert paired.difference == pytest.approx(-0.21875)
    assert paired.p_value == pytest.approx(2 * 17 / 2**16)
    assert paired.smallest_visible == pytest.approx(7 / 64)
    assert paired.questions_needed is None


def test_a_drop_that_is_real_but_small_passes_and_is_called_so() -> None:
    found, reason, paired = compare_paired(table(9, 1, 1319), margin=0.02)
    assert found is Verdict.PASS
    assert paired.p_value == pytest.approx(2 * 11 / 2**10)
    assert "excludes a drop of 2 points; a real drop, but a small one; 9 lost, 1 gained" in reason


def test_a_gain_that_is_real_is_not_called_a_drop() -> None:
    found, reason, _ = compare_paired(table(1, 9, 1319), margin=0.02)
    assert found is Verdict.PASS
    assert "a real drop" not in reason


def test_what_is_not_settled_says_what_could_have_been_seen_and_how_many_would_do() -> None:
    found, reason, paired = compare_paired(table(0, 0, 41), margin=0.02)
    assert found is Verdict.INCONCLUSIVE
    # nothing changes sides: n > z² (1 - 0.02) / 0.02 = 188.2
    assert paired.questions_needed == 189
    assert paired.smallest_visible == pytest.approx(6 / 41)
    assert reason == (
        "+0.0 [-8.6, +8.6] points does not exclude a drop of 2 points; 0 lost, 0 gained, p 1; "
        "41 questions judged could show a drop from 14.6 points on, some 189 would settle it"
    )


def test_too_few_questions_to_show_anything_says_so() -> None:
    _, reason, paired = compare_paired(table(1, 0, 5), margin=0.1)
    assert paired.smallest_visible is None
    assert "5 questions judged could show none" in reason


def test_without_any_question_there_is_nothing_to_compare() -> None:
    with pytest.raises(ValueError, match="no question to compare"):
        compare_paired(Table(0, 0, 0, 0), margin=0.02)


@pytest.mark.parametrize("margin", [0.02, 0.1, 0.3])
def test_the_questions_needed_settle_it_at_the_rates_seen(margin: float) -> None:
    """Every table that settles nothing is repeated until it has so many, and judged again."""
    judged = 0
    for n in (1, 7, 41, 97):
        for lost in range(min(n, 11) + 1):
            for gained in range(min(n - lost, 5) + 1):
                if verdict(lost, gained, n, margin) is Verdict.INCONCLUSIVE:
                    judged += 1
                    settled = repeated(lost, gained, n, margin)
                    expected = Verdict.FAIL if lost - gained >= margin * n else Verdict.PASS
                    assert settled is expected, (lost, gained, n)
    assert judged > 20


def repeated(lost: int, gained: int, n: int, margin: float) -> Verdict:
    """The verdict on the least whole number of such tables that has the questions needed."""
    needed = questions_needed(table(lost, gained, n), margin)
    assert needed > n
    times = -(-needed // n)
    return verdict(lost * times, gained * times, n * times, margin)


@pytest.mark.parametrize(
    ("lost", "gained", "n", "margin", "expected"),
    [
        (1, 1, 41, 0.1, Verdict.PASS),
        (3, 2, 64, 0.1, Verdict.PASS),
        (9, 3, 41, 0.1, Verdict.FAIL),
        (4, 1, 21, 0.02, Verdict.FAIL),
    ],
)
def test_the_questions_needed_are_enough_four_times_of_five(
    lost: int, gained: int, n: int, margin: float, expected: Verdict
) -> None:
    needed = questions_needed(table(lost, gained, n), margin)
    draw = random.Random(20240607)
    weights = (lost, gained, n - lost - gained)
    found = []
    for _ in range(400):
        sides = draw.choices("lg=", weights, k=needed)
        found.append(verdict(sides.count("l"), sides.count("g"), needed, margin))
    # 400 draws at 0.8: two standard deviations are 0.04; an exact test asks for a little more
    assert 0.72 < found.count(expected) / 400 < 0.9
