"""From a request and prompt lengths to engines and scenarios."""

import re
from typing import Any

import pytest

from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import EnginePlan, Kind, Plan
from linattn_verify.configs.planning import build_plan
from linattn_verify.configs.profile import EngineValue, Profile
from linattn_verify.configs.request import Request

LENGTHS = (57, 131, 83)  # 271 together
EVERY = tuple(Kind)


def profile(**changes: Any) -> Profile:
    values: dict[str, Any] = {
        "name": "made",
        "description": "made up",
        "budgets": (37, 11),
        "decode_tokens": 7,
        "mutations": False,
        "limits": {},
    }
    return Profile(**{**values, **changes})


def request(profile: Profile, **changes: Any) -> Request:
    return Request(**{"model": "made", "profile": profile, **changes})


def plan_of(
    kinds: tuple[Kind, ...] = EVERY,
    lengths: tuple[int, ...] = LENGTHS,
    positions: int | None = None,
    *,
    flags: dict[str, Any] | None = None,
    **changes: Any,
) -> Plan:
    return build_plan(request(profile(**changes), **(flags or {})), lengths, kinds, positions)


def names(plan: Plan) -> dict[str, list[str]]:
    return {engine.name: [s.name for s in engine.scenarios] for engine in plan.engines}


def engine(plan: Plan, name: str) -> EnginePlan:
    return next(e for e in plan.engines if e.name == name)


PLANS = {
    "full": ((Kind.FULL,), {"plain": ["full"]}),
    "chunked": ((Kind.CHUNKED,), {"plain": ["full", "chunked@37", "chunked@11"]}),
    "cold": ((Kind.COLD,), {"plain": ["full"], "caching": ["cold"]}),
    "warm": ((Kind.WARM,), {"plain": ["full"], "caching": ["cold", "warm", "warm-2"]}),
    "all": (
        EVERY,
        {"plain": ["full", "chunked@37", "chunked@11"], "caching": ["cold", "warm", "warm-2"]},
    ),
    "none": ((), {}),
}


@pytest.mark.parametrize(("kinds", "expected"), PLANS.values(), ids=PLANS.keys())
def test_checks_get_the_scenarios_that_they_need_and_no_others(
    kinds: tuple[Kind, ...], expected: dict[str, list[str]]
) -> None:
    assert names(plan_of(kinds)) == expected


def test_isolate_gives_every_budget_an_engine_of_its_own() -> None:
    plan = plan_of(isolate=True)
    assert names(plan) == {
        "full": ["full"],
        "chunked@37": ["chunked@37"],
        "chunked@11": ["chunked@11"],
        "caching": ["cold", "warm", "warm-2"],
    }
    budgets = {e.name: e.requested["max_num_batched_tokens"] for e in plan.engines}
    assert budgets == {"full": 271, "chunked@37": 37, "chunked@11": 11, "caching": 271}


def test_every_scenario_follows_what_it_builds_on() -> None:
    seen: set[str] = set()
    for scenario in plan_of().scenarios():
        assert {scenario.reference, scenario.after} - {None} <= seen
        seen.add(scenario.name)


def test_references_and_orders() -> None:
    built_on = {s.name: (s.reference, s.after) for s in plan_of().scenarios()}
    assert built_on == {
        "full": (None, None),
        "chunked@37": ("full", None),
        "chunked@11": ("full", None),
        "cold": ("full", None),
        "warm": ("cold", "cold"),
        "warm-2": ("cold", "warm"),
    }


def test_only_warm_scenarios_have_the_cut_leg() -> None:
    cut = {s.name for s in plan_of().scenarios() if Leg.CUT in s.legs}
    assert cut == {"warm", "warm-2"}
    whole = {Leg.PROMPT, Leg.DECODE, Leg.FREE}
    assert all(whole <= set(s.legs) for s in plan_of().scenarios())


def differing(plan: Plan) -> set[str]:
    """Engine arguments that are not the same in every engine."""
    keys = {key for e in plan.engines for key in e.requested}
    return {k for k in keys if len({repr(e.requested.get(k, "absent")) for e in plan.engines}) > 1}


def test_the_engines_differ_in_prefix_caching_only() -> None:
    plan = plan_of()
    assert differing(plan) == {"enable_prefix_caching"}
    assert engine(plan, "plain").requested["enable_prefix_caching"] is False
    assert engine(plan, "caching").requested["enable_prefix_caching"] is True


def test_isolated_engines_differ_in_prefix_caching_and_what_follows_the_budget_only() -> None:
    assert differing(plan_of(isolate=True)) == {
        "enable_prefix_caching",
        "max_num_batched_tokens",
        "max_num_seqs",
    }


def test_no_engine_takes_more_requests_than_a_step_has_tokens() -> None:
    seqs = {e.name: e.requested.get("max_num_seqs") for e in plan_of(isolate=True).engines}
    assert seqs == {"full": 271, "chunked@37": 37, "chunked@11": 11, "caching": 271}
    # Above the largest default of the engine there is nothing to set.
    wide = plan_of((Kind.FULL,), (1031, 997))
    assert "max_num_seqs" not in engine(wide, "plain").requested


def test_the_users_own_number_of_requests_is_kept() -> None:
    plan = plan_of(isolate=True, flags={"engine_args": {"max_num_seqs": 3}})
    assert {e.requested["max_num_seqs"] for e in plan.engines} == {3}


def test_engine_arguments_come_from_profile_then_user_then_scenarios() -> None:
    arguments: dict[str, EngineValue] = {"block_size": 48, "enable_prefix_caching": True}
    plan = plan_of(
        engine_args={"block_size": 16, "enforce_eager": True},
        kv_cache_gib=0.5,
        flags={"engine_args": arguments, "seed": 3, "dtype": "float32"},
    )
    requested = engine(plan, "plain").requested
    assert requested["block_size"] == 48
    assert requested["enforce_eager"] is True
    assert requested["enable_prefix_caching"] is False
    assert requested["kv_cache_memory_bytes"] == 536_870_912
    assert (requested["seed"], requested["dtype"]) == (3, "float32")


FULL_BUDGETS = {
    "all-prompts-in-one-step": ((57, 131, 83), 16384, 271),
    "as-many-as-the-profile-allows": ((57, 131, 83), 200, 200),
    "never-less-than-the-longest-and-its-output": ((57, 131, 83), 100, 138),
    "one-prompt-and-its-output": ((9,), 64, 16),
}


@pytest.mark.parametrize(
    ("lengths", "most", "expected"), FULL_BUDGETS.values(), ids=FULL_BUDGETS.keys()
)
def test_the_full_budget(lengths: tuple[int, ...], most: int, expected: int) -> None:
    plan = plan_of((Kind.WARM,), lengths, max_step_tokens=most)
    assert {s.budget for s in plan.scenarios()} == {expected}
    assert {e.requested["max_num_batched_tokens"] for e in plan.engines} == {expected}


def test_a_chunked_scenario_has_its_own_budget_and_the_engine_the_largest() -> None:
    plan = plan_of((Kind.CHUNKED,), (57,), budgets=(11, 300))
    assert {s.name: s.budget for s in plan.scenarios()} == {
        "full": 64,
        "chunked@11": 11,
        "chunked@300": 300,
    }
    assert engine(plan, "plain").requested["max_num_batched_tokens"] == 300


MODEL_LENGTHS: dict[str, tuple[int | None, int | None, int]] = {
    # 131 + 7 = 138 tokens are needed, 192 is the next multiple of 64
    "rounded-up": (None, None, 192),
    "cut-to-the-models-limit": (None, 140, 140),
    "as-given": (150, None, 150),
    "given-and-just-enough": (138, 4096, 138),
    "model-has-just-enough": (None, 138, 138),
    "model-has-more": (None, 4096, 192),
}


@pytest.mark.parametrize(
    ("given", "positions", "expected"), MODEL_LENGTHS.values(), ids=MODEL_LENGTHS.keys()
)
def test_max_model_len(given: int | None, positions: int | None, expected: int) -> None:
    plan = plan_of(positions=positions, flags={"max_model_len": given})
    assert {e.requested["max_model_len"] for e in plan.engines} == {expected}


def test_max_model_len_that_is_a_multiple_already_is_kept() -> None:
    plan = plan_of(lengths=(121,))
    assert engine(plan, "plain").requested["max_model_len"] == 128


TOO_LONG = {
    "the-flag": (137, None, "--max-model-len is 137"),
    "the-model": (None, 100, "the model's max_position_embeddings is 100"),
    "the-model-is-smaller": (137, 100, "the model's max_position_embeddings is 100"),
    "the-flag-is-smaller": (100, 137, "--max-model-len is 100"),
}


@pytest.mark.parametrize(("given", "positions", "part"), TOO_LONG.values(), ids=TOO_LONG.keys())
def test_a_prompt_that_is_too_long_is_named(
    given: int | None, positions: int | None, part: str
) -> None:
    with pytest.raises(UsageError) as caught:
        plan_of(positions=positions, flags={"max_model_len": given})
    text = str(caught.value)
    assert "Prompt 2 has 131 tokens" in text
    assert "with 7 output tokens it needs 138" in text
    assert part in text


def test_a_fault_goes_into_its_scenario_alone() -> None:
    faults = ("logits_swapped", "nan_state_at_edges")
    plan = plan_of(flags={"inject": {"chunked@11": faults}})
    assert {s.name: s.faults for s in plan.scenarios() if s.faults} == {"chunked@11": faults}


@pytest.mark.parametrize(
    ("kinds", "scenario", "part"),
    [
        (EVERY, "chunked@12", "Unknown scenario 'chunked@12' in --inject. Did you mean"),
        ((Kind.CHUNKED,), "warm", "Known: chunked@11, chunked@37, full."),
    ],
    ids=["no-such-budget", "not-in-this-plan"],
)
def test_a_fault_for_a_scenario_that_does_not_run(
    kinds: tuple[Kind, ...], scenario: str, part: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(part)):
        plan_of(kinds, flags={"inject": {scenario: ("logits_swapped",)}})


def test_a_plan_survives_being_written_and_read() -> None:
    plan = plan_of(flags={"inject": {"warm": ("restored_state_lost",)}})
    assert Plan.model_validate_json(plan.model_dump_json()) == plan
