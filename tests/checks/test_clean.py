"""A clean run passes everywhere, with every position accounted for."""

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from linattn_verify.checks.evidence import EngineSettings, Evidence
from linattn_verify.checks.registry import all_checks, run_checks
from linattn_verify.checks.result import Verdict
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Plan

if TYPE_CHECKING:
    from tests.checks.aside_world import AsideWorld
    from tests.checks.task_world import TaskWorld
    from tests.checks.world import World

PAIRS = [
    *(("chunked_prefill", "chunked@7"), ("prefix_cache", "cold"), ("prefix_cache", "warm")),
    *(("prefix_cache", "warm-2"), ("logprobs_close", "chunked@7"), ("logprobs_close", "cold")),
    *(("logprobs_close", "warm"), ("logprobs_close", "warm-2")),
    *(("effective_config", "plain"), ("effective_config", "cache")),
    *(("state_equivalence", name) for name in ("full", "chunked@7", "cold", "warm", "warm-2")),
    *(("cache_hygiene", f"{name}-nan") for name in ("full", "chunked@7", "cold", "warm")),
    *(("cache_hygiene", f"{name}-tight-nan") for name in ("chunked@7", "cold")),
]
TASK_PAIRS = [
    ("task_score", f"gsm8k/{name}") for name in ("full", "chunked@7", "cold", "warm", "warm-2")
]


def verdicts(evidence: Evidence) -> dict[tuple[str, str], Verdict]:
    results = run_checks(all_checks(), evidence)
    found = {(r.name, r.scenario): r.verdict for r in results}
    assert len(found) == len(results)
    return found


def test_every_planned_question_is_answered_with_pass(whole: "AsideWorld") -> None:
    found = verdicts(whole.evidence())
    assert found.pop(("task_score", "every task")) is Verdict.VACUOUS
    assert found.pop(("kernels", "every operator")) is Verdict.VACUOUS
    assert found == dict.fromkeys(PAIRS, Verdict.PASS)


def test_tasks_are_judged_by_their_own_check_and_prompts_by_theirs(
    whole: "AsideWorld", tasks: "TaskWorld"
) -> None:
    """Both in one run, in the same engines: every check keeps to its scenarios."""
    prompts, asked = whole.evidence(), tasks.evidence()
    engines = zip(prompts.plan.engines, asked.plan.engines, strict=True)
    both = [a.model_copy(update={"scenarios": a.scenarios + b.scenarios}) for a, b in engines]
    evidence = replace(
        prompts,
        plan=Plan(engines=tuple(both)),
        outcomes=prompts.outcomes | asked.outcomes,
        traces=prompts.traces | asked.traces,
        scores=asked.scores,
        task_requests=asked.task_requests,
        profile=prompts.profile.model_copy(update={"task": asked.profile.task}),
    )
    found = verdicts(evidence)
    assert found.pop(("kernels", "every operator")) is Verdict.VACUOUS
    assert found == dict.fromkeys([*PAIRS, *TASK_PAIRS], Verdict.PASS)


def test_without_a_prompt_scenario_only_the_task_is_judged(tasks: "TaskWorld") -> None:
    evidence = replace(
        tasks.evidence(),
        engines={name: EngineSettings({"seed": 3}, {"seed": 3}) for name in ("plain", "cache")},
    )
    found = verdicts(evidence)
    assert [pair for pair in found if found[pair] is Verdict.PASS] == [
        *(("effective_config", "plain"), ("effective_config", "cache")),
        *TASK_PAIRS,
    ]
    for pair in (
        ("chunked_prefill", "chunked"),
        ("state_equivalence", "prefixes"),
        ("cache_hygiene", "every scenario"),
    ):
        assert found[pair] is Verdict.VACUOUS


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
