"""The rule at the first differing token, and its holes closed."""

import math
from typing import TYPE_CHECKING

import pytest

from linattn_verify.checks.result import CheckResult, Verdict
from linattn_verify.configs.legs import Leg

if TYPE_CHECKING:
    from tests.checks.world import World

NAME = "chunked@7"


def judged(world: "World") -> CheckResult:
    return world.judge("logprobs_close", NAME)


def differ(world: "World", position: int, token: int, tops: list[int]) -> None:
    """Let beta's output have another token at `position`."""
    world.row(NAME, Leg.FREE, 1, position).update(token=token, top_tokens=tops, text="other")


def shorten(world: "World", scenario: str, positions: range) -> None:
    for position in positions:
        world.drop(scenario, Leg.FREE, 1, position)


def test_a_token_within_the_top_k_of_both_sides_passes(world: "World") -> None:
    # beta's output starts at position 23; the reference's alternatives there are 125, 1125, 2125
    differ(world, 25, token=2125, tops=[2125, 7, 125])
    result = judged(world)
    assert result.verdict is Verdict.PASS
    assert result.metrics["requests_differing"] == 1
    assert result.metrics["first_difference_share"] == pytest.approx((1 + 2 / 5 + 1) / 3)


@pytest.mark.parametrize(
    ("token", "tops"),
    [(9, [9, 125, 7]), (2125, [2125, 7, 8]), (2125, [2125, 7, 8, 125])],
    ids=["not in the reference's", "not in the candidate's", "beyond k"],
)
def test_a_token_outside_one_sides_top_k_fails(world: "World", token: int, tops: list[int]) -> None:
    differ(world, 25, token, tops)
    world.row(NAME, Leg.FREE, 1, 25)["top_logprobs"] = [-1.0, -2.0, -3.0, -4.0][: len(tops)]
    result = judged(world)
    assert result.verdict is Verdict.FAIL
    assert result.metrics["outside_top_k"] == 1
    assert "beta position 25" in result.message
    assert "'t125' in the reference, 'other' in the candidate" in result.message
    assert result.limits["outside_top_k"].origin == "rule of the check"


def test_nothing_after_the_first_difference_is_looked_at(world: "World") -> None:
    differ(world, 25, token=1125, tops=[1125, 125, 7])
    differ(world, 26, token=9, tops=[9, 8, 7])
    assert judged(world).verdict is Verdict.PASS


@pytest.mark.parametrize("scenario", [NAME, "full"], ids=["shorter", "longer"])
def test_an_output_of_another_length_fails(world: "World", scenario: str) -> None:
    shorten(world, scenario, range(26, 28))
    result = judged(world)
    assert result.verdict is Verdict.FAIL
    assert result.metrics["length_differences"] == 1
    sides = "5 and 3" if scenario == NAME else "3 and 5"
    assert f"beta: output of {sides} tokens (reference, candidate)" in result.message
    assert result.metrics["first_difference_share"] == pytest.approx((1 + 3 / 5 + 1) / 3)


def test_an_empty_output_fails(world: "World") -> None:
    shorten(world, NAME, range(23, 28))
    assert judged(world).metrics["length_differences"] == 1


@pytest.mark.parametrize("scenario", [NAME, "full"], ids=["candidate", "reference"])
@pytest.mark.parametrize(("reason", "verdict"), [("stop", Verdict.PASS), ("length", Verdict.FAIL)])
def test_after_an_allowed_difference_a_text_may_end_by_itself(
    world: "World", reason: str, verdict: Verdict, scenario: str
) -> None:
    differ(world, 25, token=1125, tops=[1125, 125, 7])
    shorten(world, scenario, range(27, 28))
    world.change_record(scenario, 4 if scenario == NAME else 1, finish_reason=reason)
    assert judged(world).verdict is verdict


@pytest.mark.parametrize(("scenario", "side"), [(NAME, "candidate"), ("full", "reference")])
@pytest.mark.parametrize("value", [math.nan, math.inf, None])
def test_values_that_are_not_finite_fail_and_name_their_side(
    world: "World", scenario: str, side: str, value: float | None
) -> None:
    world.row(scenario, Leg.FREE, 2, 19)["logprob"] = value
    result = judged(world)
    assert result.verdict is Verdict.FAIL
    assert result.metrics["non_finite"] == 1
    assert f"first on the {side}'s side, gamma position 19" in result.message


def test_no_output_at_all_is_vacuous(world: "World") -> None:
    for scenario in (NAME, "full"):
        world.rows[scenario] = [r for r in world.rows[scenario] if r["leg"] != "free"]
    assert judged(world).verdict is Verdict.VACUOUS
