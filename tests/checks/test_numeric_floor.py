"""The reference again: what it is held against, and what a batch must not change."""

import pytest

from linattn_verify.checks.registry import checks_named
from linattn_verify.checks.result import CheckResult, Verdict
from linattn_verify.configs.legs import Leg
from tests.checks.floor_world import FloorWorld
from tests.checks.world import World


@pytest.fixture
def floor() -> FloorWorld:
    return FloorWorld()


def judged(floor: FloorWorld) -> CheckResult:
    return floor.judge("numeric_floor", "full-again")


def test_the_reference_is_compared_with_itself_token_by_token(floor: FloorWorld) -> None:
    floor.shift("full-again", Leg.PROMPT, 2, 9, 0.2)
    result = judged(floor)
    assert (result.verdict, result.reference) == (Verdict.PASS, "full")
    # 17 + 23 + 15 prompt tokens, of which each prompt's first has no log-probability
    assert result.metrics["prompt.all.mean"] == pytest.approx(0.2 / 52)
    assert result.metrics["prompt.all.max"] == pytest.approx(0.2)
    assert result.counts["decode.compared"] == 15


def test_nothing_is_held_against_limits_of_a_first_chunk(floor: FloorWorld) -> None:
    """Of the reference everything is one, so that it would be no floor."""
    assert not [name for name in judged(floor).metrics if ".first." in name]


def test_a_batch_that_changes_the_result_grossly_is_a_fault(floor: FloorWorld) -> None:
    floor.shift("full-again", Leg.DECODE, 1, 25, -101.0)
    result = judged(floor)
    assert result.verdict is Verdict.FAIL
    assert "beta position 25" in result.message


def test_a_repetition_in_several_steps_is_not_the_reference(floor: FloorWorld) -> None:
    record = floor.requests["full-again"][0]
    (first, *rest) = record.slices
    halves = (
        first.model_copy(update={"tokens": 9}),
        first.model_copy(update={"start": 9, "tokens": first.tokens - 9}),
    )
    floor.change_record("full-again", 0, slices=(*halves, *rest))
    result = judged(floor)
    assert result.verdict is Verdict.VACUOUS
    assert "one_prefill_step" in result.message


def test_without_a_repetition_nothing_is_proven(world: World) -> None:
    world.profile = world.profile.model_copy(update={"contrasts": True})
    (spec,) = checks_named(["numeric_floor"])
    assert [r.verdict for r in spec.run(world.evidence())] == [Verdict.VACUOUS]


def test_a_profile_without_contrasts_asks_for_none(world: World) -> None:
    (spec,) = checks_named(["numeric_floor"])
    assert spec.run(world.evidence()) == []
