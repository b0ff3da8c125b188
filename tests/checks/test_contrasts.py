"""A scenario's errors beside each other: what each ratio sees, and what it does not mind."""

import pytest

from linattn_verify.checks.result import Verdict
from linattn_verify.configs.legs import Leg
from linattn_verify.traces.outcome import Status
from tests.checks.floor_world import NOISE, SMALL, FloorWorld

CHUNKED = ("chunked_prefill", "chunked@7")


@pytest.fixture
def floor() -> FloorWorld:
    return FloorWorld()


def broken(floor: FloorWorld, scenario: str = "chunked@7") -> tuple[Verdict, list[str]]:
    result = floor.judge("chunked_prefill", scenario)
    return result.verdict, [name for name, outcome in result.limits.items() if not outcome.holds]


def test_a_run_without_any_difference_has_ratios_of_one(floor: FloorWorld) -> None:
    assert floor.contrasts(SMALL) == {"noise": NOISE, "first": 0.0, "later": 1.0, "budget": 1.0}
    assert floor.contrasts("chunked@7") == {"noise": NOISE, "first": 0.0, "later": 1.0}
    assert floor.contrasts("warm") == {"noise": NOISE}
    assert broken(floor) == (Verdict.PASS, [])


def test_later_chunks_are_held_against_the_first(floor: FloorWorld) -> None:
    floor.move("chunked@7", 10 * NOISE, first=False)
    assert floor.contrasts("chunked@7")["later"] == pytest.approx(11)
    assert broken(floor) == (Verdict.FAIL, ["contrast.later"])


def test_noise_that_the_first_chunk_has_as_well_is_no_fault_of_chunking(floor: FloorWorld) -> None:
    floor.move("chunked@7", 10 * NOISE, first=False)
    floor.move("chunked@7", 1.5 * NOISE, first=True)
    assert floor.contrasts("chunked@7")["later"] == pytest.approx(11 / 2.5)
    assert broken(floor) == (Verdict.PASS, [])


def test_a_first_chunk_that_differs_leaves_the_question_open(floor: FloorWorld) -> None:
    floor.move("chunked@7", 2.5 * NOISE, first=True)
    result = floor.judge(*CHUNKED)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "differ in something other than chunking; contrast.first 2.5 (limit 2" in result.message


def test_a_first_chunk_that_differs_hides_no_fault(floor: FloorWorld) -> None:
    floor.move("chunked@7", 2.5 * NOISE, first=True)
    floor.shift("chunked@7", Leg.PROMPT, 1, 15, -200.0)
    result = floor.judge(*CHUNKED)
    assert result.verdict is Verdict.FAIL
    assert "worst token there: beta position 15" in result.message


def test_the_measured_floor_is_the_noise_where_it_is_larger(floor: FloorWorld) -> None:
    floor.move("full-again", 5 * NOISE, first=True)
    floor.move("chunked@7", 5 * NOISE, first=True)
    found = floor.contrasts("chunked@7")
    assert found["noise"] == pytest.approx(5 * NOISE)
    assert found["first"] == pytest.approx(1.0)
    assert broken(floor) == (Verdict.PASS, [])


def test_a_floor_that_was_not_served_leaves_the_rounding_of_the_logits(floor: FloorWorld) -> None:
    floor.move("full-again", 5 * NOISE, first=True)
    floor.end("full-again", Status.CRASHED)
    assert floor.contrasts("chunked@7")["noise"] == NOISE


def test_tokens_after_an_edge_are_held_against_those_far_from_any(floor: FloorWorld) -> None:
    """As with a convolution window that is lost: the rest is as far off as rounding makes it."""
    rows = [r for r in floor.rows["chunked@7"] if r["leg"] == Leg.PROMPT and r["chunk"]]
    for row in rows:
        if row["edge_distance"] > 3:
            row["edge_distance"] += 60
        row["logprob"] += 11 * NOISE if row["edge_distance"] < 4 else 2 * NOISE
    found = floor.contrasts("chunked@7")
    assert found["edge"] == pytest.approx(12 / 3)
    assert found["later"] < 10
    assert broken(floor) == (Verdict.FAIL, ["contrast.edge"])


def test_an_error_that_grows_as_the_budget_shrinks_is_seen_at_the_small_one(
    floor: FloorWorld,
) -> None:
    floor.move("chunked@7", NOISE, first=False)
    floor.move(SMALL, 7 * NOISE, first=False)
    assert floor.contrasts(SMALL)["budget"] == pytest.approx(8 / 2)
    assert "budget" not in floor.contrasts("chunked@7")
    assert broken(floor, SMALL) == (Verdict.FAIL, ["contrast.budget"])


def test_a_larger_budget_that_was_not_served_is_not_compared_with(floor: FloorWorld) -> None:
    floor.end("chunked@7", Status.CRASHED)
    assert "budget" not in floor.contrasts(SMALL)


def test_too_few_positions_on_a_side_give_no_ratio(floor: FloorWorld) -> None:
    # The first chunks of 7 tokens predict 7 tokens of each of three prompts.
    floor.profile = floor.profile.model_copy(update={"min_positions_mean": 22})
    assert set(floor.contrasts("chunked@7")) == {"noise"}


def test_a_profile_without_contrasts_has_none(floor: FloorWorld) -> None:
    floor.move("chunked@7", 10 * NOISE, first=False)
    floor.profile = floor.profile.model_copy(update={"contrasts": False})
    assert floor.contrasts("chunked@7") == {}
    assert broken(floor) == (Verdict.PASS, [])
