"""Every numeric fault turns the check red, in the segment where it is and nowhere else."""

import math
from typing import TYPE_CHECKING

import pytest

from linattn_verify.checks.result import CheckResult, Verdict
from linattn_verify.configs.legs import Leg

if TYPE_CHECKING:
    from tests.checks.world import World

CHUNKED = ("chunked_prefill", "chunked@7")


def judged(world: "World") -> CheckResult:
    return world.judge(*CHUNKED)


def test_shift_after_an_edge_shows_in_the_edge_bins_and_not_in_first(world: "World") -> None:
    # beta's third chunk starts at token 14, which predicts position 15
    world.shift("chunked@7", Leg.PROMPT, 1, 15, -2.0)
    world.shift("chunked@7", Leg.PROMPT, 1, 17, -1.0)
    result = judged(world)
    assert result.verdict is Verdict.FAIL
    assert result.metrics["prompt.edge+0.max"] == pytest.approx(2.0)
    assert result.metrics["prompt.edge+1..3.max"] == pytest.approx(1.0)
    assert result.metrics["prompt.edge+4..15.max"] == 0.0
    assert result.metrics["prompt.first.max"] == 0.0
    assert result.metrics["decode.all.max"] == 0.0
    # edges at 7, 14 (alpha), 7, 14, 21 (beta), 7, 14 (gamma): of the tokens right after one,
    # gamma's last computes no prompt row, so six are left
    assert result.metrics["prompt.edge+0.mean"] == pytest.approx(2.0 / 6)
    assert "worst token there: beta position 15 (chunk 2, 0 after its edge)" in result.message


def test_worst_tokens_come_largest_first_with_their_place(world: "World") -> None:
    world.shift("chunked@7", Leg.PROMPT, 1, 15, -2.0)
    world.shift("chunked@7", Leg.DECODE, 2, 17, 3.0)
    first, second = judged(world).worst
    assert (first.prompt, first.leg, first.position, first.delta) == ("gamma", "decode", 17, 3.0)
    assert (second.prompt, second.position, second.chunk, second.edge_distance) == (
        "beta",
        15,
        2,
        0,
    )
    assert (second.reference_logprob, second.candidate_logprob) == (-1.0, -3.0)
    assert second.text == "t115"


def test_a_difference_in_the_first_chunk_breaks_the_limit_of_that_segment(world: "World") -> None:
    world.shift("chunked@7", Leg.PROMPT, 0, 3, 0.01)
    result = judged(world)
    assert result.verdict is Verdict.FAIL
    assert [m for m, o in result.limits.items() if not o.holds] == ["prompt.first.max"]


def test_a_state_lost_only_in_decode_is_seen(world: "World") -> None:
    world.shift("chunked@7", Leg.DECODE, 1, 25, -4.0)
    result = judged(world)
    assert result.verdict is Verdict.FAIL
    assert result.metrics["prompt.all.max"] == 0.0
    assert result.message.startswith("decode.")


@pytest.mark.parametrize(
    ("value", "said"), [(math.nan, "NaN"), (math.inf, "inf"), (-math.inf, "-inf"), (None, "NaN")]
)
@pytest.mark.parametrize(("scenario", "side"), [("chunked@7", "candidate"), ("full", "reference")])
def test_a_value_that_is_not_finite_fails_and_names_its_side(
    world: "World", scenario: str, side: str, value: float | None, said: str
) -> None:
    world.row(scenario, Leg.PROMPT, 1, 15)["logprob"] = value
    result = judged(world)
    assert result.verdict is Verdict.FAIL
    assert result.message.startswith(said)
    assert f"on the {side}'s side, prompt leg, beta position 15 (chunk 2" in result.message
    assert result.counts[f"prompt.non_finite_{side}"] == 1
    assert result.counts["prompt.compared"] == 51
    assert result.worst[0].note.startswith(f"{side}: {said}")


def test_nan_among_the_alternatives_fails(world: "World") -> None:
    world.row("chunked@7", Leg.PROMPT, 1, 15)["top_logprobs"] = [-1.0, math.nan, -3.0]
    result = judged(world)
    assert result.verdict is Verdict.FAIL
    assert "NaN among the alternatives on the candidate's side" in result.message


def test_two_requests_that_swapped_their_answers_fail(world: "World") -> None:
    for position in range(1, 15):
        mine = world.row("chunked@7", Leg.PROMPT, 0, position)
        other = world.row("chunked@7", Leg.PROMPT, 2, position)
        mine["request"], other["request"] = 2, 0
    result = judged(world)
    assert result.verdict is Verdict.FAIL
    assert result.counts["prompt.token_mismatch"] == 28
    assert "forced along another token at prompt leg, alpha position 1 (chunk 0)" in result.message


@pytest.mark.parametrize("scenario", ["chunked@7", "full"])
def test_a_row_without_a_token_is_a_mismatch(world: "World", scenario: str) -> None:
    world.row(scenario, Leg.PROMPT, 1, 15)["token"] = None
    result = judged(world)
    assert result.verdict is Verdict.FAIL
    assert result.counts["prompt.token_mismatch"] == 1


@pytest.mark.parametrize("leg", [Leg.PROMPT, Leg.DECODE])
def test_missing_rows_fail(world: "World", leg: Leg) -> None:
    world.drop("chunked@7", leg, 1, 15 if leg is Leg.PROMPT else 27)
    result = judged(world)
    assert result.verdict is Verdict.FAIL
    assert result.counts[f"{leg}.missing"] == 1
    assert f"the candidate has no row of {leg} leg, beta position" in result.message


def test_unexpected_rows_fail(world: "World") -> None:
    world.drop("full", Leg.PROMPT, 1, 15)
    result = judged(world)
    assert result.verdict is Verdict.FAIL
    assert "the reference has no row of prompt leg, beta position 15" in result.message


def test_rows_without_any_value_are_not_taken_for_cached_ones(world: "World") -> None:
    # beta has 16 cached tokens, so the row of position 17 was computed
    world.row("warm", Leg.PROMPT, 1, 17).update(logprob=None, cached=True)
    result = world.judge("prefix_cache", "warm")
    assert result.verdict is Verdict.FAIL
    assert "on the candidate's side, prompt leg, beta position 17" in result.message


def test_the_same_row_twice_is_refused(world: "World") -> None:
    world.rows["chunked@7"].append(dict(world.row("chunked@7", Leg.PROMPT, 0, 3)))
    with pytest.raises(ValueError, match="request 0, prompt position 3 twice"):
        judged(world)


def test_a_wrong_state_after_a_hit_shows_in_the_cut_leg(world: "World") -> None:
    world.shift("warm", Leg.CUT, 1, 19, -3.0)
    result = world.judge("prefix_cache", "warm")
    assert result.verdict is Verdict.FAIL
    assert result.metrics["cut.all.mean"] == pytest.approx(1.0)
    assert result.metrics["prompt.all.max"] == 0.0


def test_a_cut_request_without_its_row_is_missing(world: "World") -> None:
    world.drop("warm", Leg.CUT, 1, 19)
    result = world.judge("prefix_cache", "warm")
    assert result.verdict is Verdict.FAIL
    assert "the candidate has no row of cut leg, beta position 19" in result.message


def test_a_changed_top_token_fails_although_the_forced_one_is_untouched(world: "World") -> None:
    row = world.row("chunked@7", Leg.PROMPT, 1, 15)
    row["top_tokens"] = [1115, 115, 2115]
    result = judged(world)
    assert result.verdict is Verdict.FAIL
    assert result.metrics["prompt.all.top1_changed"] == pytest.approx(1 / 52)
    assert result.metrics["prompt.all.near_ties"] == 0.0


@pytest.mark.parametrize(
    ("gap", "verdict"), [(0.0625, Verdict.PASS), (0.125, Verdict.FAIL)], ids=["one ulp", "two"]
)
def test_a_near_tie_is_one_unit_of_the_logits_dtype(
    world: "World", gap: float, verdict: Verdict
) -> None:
    # the top logit is 9.0, where neighbouring bfloat16 numbers lie 2^(3-7) = 0.0625 apart
    world.row("full", Leg.PROMPT, 1, 15)["top_logprobs"] = [-1.0, -1.0 - gap, -3.0]
    world.row("chunked@7", Leg.PROMPT, 1, 15)["top_logprobs"] = [-1.0, -1.0 - gap, -3.0]
    world.row("chunked@7", Leg.PROMPT, 1, 15)["top_tokens"] = [1115, 115, 2115]
    result = judged(world)
    assert result.verdict is verdict
    near = verdict is Verdict.PASS
    assert result.metrics["prompt.all.near_ties"] == pytest.approx(near / 52)
    assert result.metrics["prompt.all.top1_changed"] == pytest.approx((not near) / 52)


def test_limits_for_another_dtype_only_are_vacuous(world: "World") -> None:
    world.engines["plain"].resolved["dtype"] = "torch.float16"
    result = judged(world)
    assert result.verdict is Verdict.VACUOUS
    assert result.message == "the profile has no limits for dtype float16"
    assert result.metrics["prompt.all.max"] == 0.0


def test_an_engine_that_names_no_dtype_is_vacuous(world: "World") -> None:
    del world.engines["plain"].resolved["dtype"]
    assert judged(world).verdict is Verdict.VACUOUS


def test_a_fault_is_red_even_without_limits(world: "World") -> None:
    world.engines["plain"].resolved["dtype"] = "float16"
    world.drop("chunked@7", Leg.PROMPT, 1, 15)
    assert judged(world).verdict is Verdict.FAIL


def test_a_dropped_request_is_not_hidden_by_an_empty_leg(world: "World") -> None:
    world.rows["warm"] = [r for r in world.rows["warm"] if r["leg"] != "cut"]
    world.requests["warm"] = [r for r in world.requests["warm"] if r.leg is not Leg.CUT]
    result = world.judge("prefix_cache", "warm")
    assert result.verdict is Verdict.VACUOUS
    assert "warm: proof legs_served does not hold" in result.message
