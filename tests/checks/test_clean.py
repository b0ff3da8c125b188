"""A clean run passes everywhere, with every position accounted for."""

from typing import TYPE_CHECKING

import pytest

from linattn_verify.checks.registry import all_checks, run_checks
from linattn_verify.checks.result import Verdict
from linattn_verify.configs.legs import Leg

if TYPE_CHECKING:
    from tests.checks.conftest import World

PAIRS = [
    *(("chunked_prefill", "chunked@7"), ("prefix_cache", "cold"), ("prefix_cache", "warm")),
    *(("prefix_cache", "warm-2"), ("logprobs_close", "chunked@7"), ("logprobs_close", "cold")),
    *(("logprobs_close", "warm"), ("logprobs_close", "warm-2")),
    *(("effective_config", "plain"), ("effective_config", "cache")),
]


def test_every_planned_question_is_answered_with_pass(world: "World") -> None:
    results = run_checks(all_checks(), world.evidence())
    assert {(r.name, r.scenario): r.verdict for r in results} == dict.fromkeys(PAIRS, Verdict.PASS)


def test_chunked_prefill_compares_every_position(world: "World") -> None:
    result = world.judge("chunked_prefill", "chunked@7")
    # prompts of 17, 23 and 15 tokens have 16 + 22 + 14 predicted tokens; 5 decoded ones each
    assert result.counts["prompt.compared"] == 52
    assert result.counts["decode.compared"] == 15
    assert result.counts["prompt.requests"] == 3
    assert result.message.endswith("67 positions of 3 requests compared")
    assert result.metrics["prompt.later.max"] == 0.0
    assert result.limits["prompt.first.max"].limit == 0.001
    assert result.limits["prompt.later.max"].limit == 0.5
    assert result.worst == ()


def test_warm_leaves_out_what_came_from_the_cache(world: "World") -> None:
    counts = world.judge("prefix_cache", "warm").counts
    # 16, 16 and 8 cached tokens predict the tokens at positions up to 16, 16 and 8
    assert counts["prompt.cached"] == 40
    assert counts["prompt.compared"] == 52 - 40
    assert counts["cut.compared"] == 3
    assert counts["cut.missing"] == 0


def test_the_report_gives_value_limit_and_margin(world: "World") -> None:
    world.shift("chunked@7", Leg.PROMPT, 0, 10, 0.25)
    result = world.judge("chunked_prefill", "chunked@7")
    outcome = result.limits["prompt.all.max"]
    assert result.verdict is Verdict.PASS
    assert (outcome.value, outcome.limit, outcome.margin) == pytest.approx((0.25, 0.5, 2.0))
    assert outcome.origin == "made"
    assert "margin" in result.message
