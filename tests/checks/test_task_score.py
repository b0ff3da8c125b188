"""The verdict on a task's scores: what fails, what passes, what cannot be told."""

import pytest

from linattn_verify.checks.result import Score, Verdict
from tests.checks.task_rows import FLEXIBLE
from tests.checks.task_world import TaskWorld

LOST = (1, 2, 3, 4, 7, 8, 9, 10)
"""Eight questions that the reference answers under both filters."""
GAINED = (5,)
"""One that it does not."""


def by_filter(scores: tuple[Score, ...]) -> dict[str, Score]:
    return {score.filter: score for score in scores}


def test_the_reference_has_a_row_of_its_own_scores(tasks: TaskWorld) -> None:
    result = tasks.judge("full")
    assert (result.verdict, result.reference) == (Verdict.PASS, None)
    # of 41 questions 2 are wrong, and the strict filter finds no answer in 2 others
    assert result.message == (
        "strict-match 90.2% of 41 questions; flexible-extract 95.1% of 41 questions"
    )
    strict, flexible = result.scores
    assert (strict.score, strict.invalid) == pytest.approx((37 / 41, 2))
    assert (flexible.score, flexible.invalid) == pytest.approx((39 / 41, 0))
    assert [s.reference_score for s in result.scores] == [None, None]
    assert [s.paired for s in result.scores] == [None, None]
    assert (result.limits, result.flips) == ({}, ())
    assert result.counts == {"questions": 41, "questions_compared": 41, "cut_candidate": 0}


@pytest.mark.parametrize("scenario", ["chunked@7", "cold", "warm", "warm-2"])
def test_the_same_answers_pass(tasks: TaskWorld, scenario: str) -> None:
    result = tasks.judge(scenario)
    assert (result.verdict, result.reference) == (Verdict.PASS, "gsm8k/full")
    nothing = "+0.0 [-8.6, +8.6] points excludes a drop of 10 points; 0 lost, 0 gained, p 1"
    assert result.message == (
        f"strict-match 90.2% against 90.2%: {nothing}; flexible-extract 95.1% against 95.1%: "
        f"{nothing}"
    )
    assert [s.questions for s in result.scores] == [41, 41]
    # z² / (41 + z²), z = 1.96
    drop = result.limits["strict-match.drop"]
    assert (drop.value, drop.limit) == pytest.approx((0.0857, 0.1), abs=5e-5)
    assert drop.holds
    assert list(result.limits) == ["strict-match.drop", "flexible-extract.drop"]
    assert result.flips == ()
    assert result.counts["cut_reference"] == 0


def test_wrong_answers_fail_with_the_numbers(tasks: TaskWorld) -> None:
    tasks.mark("chunked@7", LOST, right=False)
    tasks.mark("chunked@7", GAINED, right=True)
    result = tasks.judge()
    assert result.verdict is Verdict.FAIL
    # 37 - 8 + 1 = 30 of 41; p = 2 (1 + 9) / 2^9
    assert result.message.startswith("strict-match 73.2% against 90.2%: -17.1 [")
    assert result.message.endswith("(a drop of 10 points); 8 lost, 1 gained, p 0.039")
    strict = by_filter(result.scores)["strict-match"]
    assert strict.paired is not None
    assert (strict.paired.both_right, strict.paired.both_wrong) == (29, 3)
    assert (strict.paired.lost, strict.paired.gained) == (8, 1)
    assert strict.reference_score == pytest.approx(37 / 41)
    assert not result.limits["strict-match.drop"].holds
    assert [(f.filter, f.question) for f in result.flips[:9]] == [
        ("strict-match", q) for q in (1, 2, 3, 4, 5, 7, 8, 9, 10)
    ]
    assert len(result.flips) == 18
    assert tasks.judge("full").verdict is tasks.judge("warm").verdict is Verdict.PASS


def test_one_filter_that_falls_is_enough_to_fail(tasks: TaskWorld) -> None:
    tasks.mark("chunked@7", LOST, right=False, filters=[FLEXIBLE])
    result = tasks.judge()
    assert result.verdict is Verdict.FAIL
    assert result.message.startswith("flexible-extract 75.6% against 95.1%")
    assert [s.verdict for s in result.scores] == [Verdict.PASS, Verdict.FAIL]
    assert {f.filter for f in result.flips} == {"flexible-extract"}


def test_better_answers_pass(tasks: TaskWorld) -> None:
    for scenario in ("full", "chunked@7"):
        tasks.mark(scenario, (15, 16, 17, 18, 19, 20), right=scenario == "chunked@7")
    result = tasks.judge()
    assert result.verdict is Verdict.PASS
    assert [s.paired.gained for s in result.scores if s.paired] == [6, 6]


def test_a_drop_that_may_be_chance_is_inconclusive(tasks: TaskWorld) -> None:
    tasks.mark("chunked@7", LOST[:5], right=False)  # p 2/32
    result = tasks.judge()
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "does not exclude a drop of 10 points; 5 lost, 0 gained, p 0.062" in result.message
    assert "41 questions judged could show" in result.message


def test_too_few_questions_for_the_margin_are_inconclusive(tasks: TaskWorld) -> None:
    tasks.rules["margin"] = 0.02
    result = tasks.judge()
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.message.endswith("some 189 would settle it")
    assert tasks.judge("full").verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("floor", "full", "chunked"),
    [
        (0.73, Verdict.PASS, Verdict.PASS),
        (37 / 41, Verdict.PASS, Verdict.FAIL),
        (37 / 41 + 1e-9, Verdict.FAIL, Verdict.FAIL),
        (0.91, Verdict.FAIL, Verdict.FAIL),
    ],
)
def test_a_score_below_the_floor_fails(
    tasks: TaskWorld, floor: float, full: Verdict, chunked: Verdict
) -> None:
    """Of 41 questions the reference scores 37 by the stricter filter, the candidate 36. In single
    precision the mean of 37 right answers would be below 37 / 41."""
    tasks.rules["margin"] = 0.2
    tasks.min_score = floor
    tasks.mark("chunked@7", LOST[:1], right=False)
    assert tasks.judge("full").verdict is full
    result = tasks.judge()
    assert result.verdict is chunked
    outcome = result.limits["min_score"]
    assert (outcome.value, outcome.limit) == pytest.approx((36 / 41, floor))
    assert outcome.holds is (chunked is Verdict.PASS)
    assert outcome.margin == pytest.approx(36 / 41 / floor)
    if chunked is Verdict.FAIL:
        assert f"87.8% is below the floor of {floor:.1%} (--min-score)" in result.message
