"""Formulas against numbers worked out by hand."""

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from linattn_verify.checks.alternatives import (
    alternatives,
    kl_top_k,
    near_tie,
    unit_in_last_place,
)
from linattn_verify.checks.limits import judge_limit, judge_limits, tightest
from linattn_verify.checks.statistics import Least, kl_k3, measure
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.profile import Limit

if TYPE_CHECKING:
    from linattn_verify.checks.alternatives import Alternatives
    from tests.checks.world import World


def side(*rows: dict[int, float] | None) -> "Alternatives":
    """Positions given as token → probability, most likely first."""
    tokens = [None if r is None else np.array(list(r)) for r in rows]
    logs = [None if r is None else np.log(np.array(list(r.values()))) for r in rows]
    return alternatives(pd.Series(tokens, dtype=object), pd.Series(logs, dtype=object))


def test_k3_is_zero_only_without_difference() -> None:
    assert kl_k3(np.zeros(3)) == 0.0
    # e^d - 1 - d, so a token twice as likely costs 1 - ln 2 and one half as likely ln 2 - 0.5
    assert kl_k3(np.array([math.log(2)])) == pytest.approx(1 - 0.693147, abs=1e-6)
    assert kl_k3(np.array([-math.log(2)])) == pytest.approx(0.693147 - 0.5, abs=1e-6)


def test_percentiles_and_mean_of_known_differences(world: "World") -> None:
    for step, position in enumerate(range(1, 7)):  # alpha's first chunk predicts 1 to 7
        world.shift("chunked@7", Leg.PROMPT, 0, position, (-1) ** step * 0.5 * (step + 1))
    metrics = measure(world.compared("chunked@7", Leg.PROMPT), "bfloat16", 9.0, Least())
    # 21 positions are in first chunks: 15 zeros, then 0.5, 1, 1.5, 2, 2.5, 3
    assert metrics["prompt.first.mean"] == pytest.approx(10.5 / 21)
    assert metrics["prompt.first.p50"] == 0.0
    assert metrics["prompt.first.p90"] == pytest.approx(2.0)
    assert metrics["prompt.first.p99"] == pytest.approx(2.9)
    assert metrics["prompt.first.p99_9"] == pytest.approx(2.99)
    assert metrics["prompt.first.max"] == pytest.approx(3.0)
    assert metrics["prompt.later.max"] == 0.0


def test_a_segment_without_positions_has_no_metric(world: "World") -> None:
    metrics = measure(world.compared("chunked@7", Leg.PROMPT), "bfloat16", 9.0, Least())
    assert not [name for name in metrics if "edge+16" in name]
    assert "prompt.edge+4..15.mean" in metrics


def test_a_few_positions_make_no_average_and_no_share(world: "World") -> None:
    everything = measure(world.compared("chunked@7", Leg.PROMPT), "bfloat16", 9.0, Least())
    least = Least(averages=22, shares=40)
    metrics = measure(world.compared("chunked@7", Leg.PROMPT), "bfloat16", 9.0, least)
    # 21 positions are in first chunks, 31 in later ones: 52 prompt positions in all
    assert {n for n in everything if n.startswith("prompt.first")} - set(metrics) == {
        f"prompt.first.{s}"
        for s in ("mean", "p50", "p90", "kl_k3", "kl_top_k", "top1_changed", "near_ties")
    }
    assert "prompt.later.mean" in metrics and "prompt.later.top1_changed" not in metrics
    assert "prompt.all.top1_changed" in metrics
    assert metrics["prompt.first.max"] == everything["prompt.first.max"]


def test_one_token_that_changed_among_three_is_no_false_alarm(world: "World") -> None:
    from linattn_verify.configs.profile import load_profile

    quick = load_profile("quick")
    least = Least(averages=quick.min_positions_mean, shares=quick.min_positions_share)
    assert not least.enough("top1_changed", 3) and least.enough("max", 1)
    # 4 % of healthy positions change: more than 20 % of 30 is a matter of one in ten thousand.
    chance = 1 - sum(math.comb(30, k) * 0.042**k * 0.958 ** (30 - k) for k in range(7))
    assert chance < 2e-4


def test_a_segment_of_nothing_but_nan_could_not_be_measured(world: "World") -> None:
    for request in range(3):
        for position in range(1, 8):
            world.row("chunked@7", Leg.PROMPT, request, position)["logprob"] = math.nan
    metrics = measure(world.compared("chunked@7", Leg.PROMPT), "bfloat16", 9.0, Least())
    assert math.isnan(metrics["prompt.first.mean"])
    assert metrics["prompt.first.non_finite"] == 21
    outcomes = judge_limits(metrics, {"first.mean": Limit(limit=9.0, origin="made")})
    assert outcomes["prompt.first.mean"].value is None
    assert not outcomes["prompt.first.mean"].holds


def test_kl_over_the_top_k_and_the_rest() -> None:
    reference = side({1: 0.5, 2: 0.25})
    same = kl_top_k(reference, side({1: 0.5, 2: 0.25}))
    swapped = kl_top_k(reference, side({2: 0.5, 1: 0.25}))
    # 0.5 ln 2 - 0.25 ln 2, and nothing from the rest of 0.25 on both sides
    assert same[0] == pytest.approx(0.0)
    assert swapped[0] == pytest.approx(0.25 * math.log(2))


def test_kl_of_a_token_outside_the_candidates_top_k_uses_its_smallest() -> None:
    value = kl_top_k(side({1: 0.5, 2: 0.25}), side({1: 0.5, 3: 0.125}))
    expected = 0.25 * math.log(0.25 / 0.125) + 0.25 * math.log(0.25 / 0.375)
    assert value[0] == pytest.approx(expected)


def test_kl_is_not_a_number_where_a_side_has_no_alternatives() -> None:
    values = kl_top_k(side({1: 0.5}, None, {1: 0.5}), side({1: 0.5}, {1: 0.5}, None))
    assert values[0] == pytest.approx(0.0)
    assert np.isnan(values[1:]).all()


def test_kl_is_finite_for_certainty_against_the_opposite() -> None:
    (value,) = kl_top_k(side({1: 1.0, 2: 1e-30}), side({3: 1.0, 2: 1e-30}))
    assert 20.0 < value < 21.0  # ln 1e9, the floor of every probability


def test_a_top_token_that_the_reference_does_not_list_is_not_near() -> None:
    assert not near_tie(side({1: 0.5, 2: 0.5}), side({3: 0.5, 2: 0.5}), unit=1e9)[0]
    assert near_tie(side({1: 0.5, 2: 0.5}), side({2: 0.5, 1: 0.5}), unit=0.0)[0]


@pytest.mark.parametrize(
    ("dtype", "magnitude", "unit"),
    [
        ("bfloat16", 9.0, 2.0**-4),
        ("torch.bfloat16", 16.0, 2.0**-3),
        ("float16", -9.0, 2.0**-7),
        ("float32", 1.5, 2.0**-23),
        ("bfloat16", None, 0.0),
        ("int8", 9.0, 0.0),
    ],
)
def test_unit_in_last_place(dtype: str, magnitude: float | None, unit: float) -> None:
    assert unit_in_last_place(dtype, magnitude) == unit


def test_margins() -> None:
    assert judge_limit(0.25, 1.0, "o").margin == 4.0
    assert judge_limit(0.0, 0.0, "o").margin is None
    assert judge_limit(0.0, 0.0, "o").holds
    assert (judge_limit(2.0, 0.0, "o").margin, judge_limit(2.0, 0.0, "o").holds) == (0.0, False)
    assert not judge_limit(math.inf, 1.0, "o").holds


def test_the_tightest_is_what_could_not_be_measured_then_the_smallest_margin() -> None:
    outcomes = {
        "wide": judge_limit(0.1, 1.0, "o"),
        "none": judge_limit(0.0, 1.0, "o"),
        "tight": judge_limit(0.5, 1.0, "o"),
    }
    assert tightest(outcomes) == "tight"
    assert tightest({**outcomes, "nan": judge_limit(math.nan, 1.0, "o")}) == "nan"
    assert tightest({}) is None
