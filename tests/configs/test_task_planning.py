"""From a task's requests to its scenarios, beside those of the prompts."""

import re
from typing import Any

import pytest

from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import EnginePlan, Kind, Plan, Scenario
from linattn_verify.configs.planning import build_plan, check_inject, prompt_scenario_names
from linattn_verify.configs.profile import Profile
from linattn_verify.configs.request import Request
from linattn_verify.configs.tasks import TaskShape

PROMPTS = (57, 131, 83)  # 271 tokens
SUMS = TaskShape(name="sums", lengths=(91, 45, 203), outputs=(19, 96, 5))  # 339 tokens
RIDDLES = TaskShape(name="riddles", lengths=(29, 31), outputs=(11, 3))  # 60 tokens
SUFFIXES = ["full", "chunked@37", "chunked@11", "cold", "warm", "warm-2"]


def request(*, flags: dict[str, Any] | None = None, **changes: Any) -> Request:
    values: dict[str, Any] = {
        "name": "made",
        "description": "made up",
        "budgets": (37, 11),
        "decode_tokens": 7,
        "limits": {},
    }
    return Request(
        model="made", profile=Profile(**{"mutations": False, **values, **changes}), **(flags or {})
    )


def plan_of(
    kinds: tuple[Kind, ...] = (),
    tasks: tuple[TaskShape, ...] = (SUMS,),
    positions: int | None = None,
    **changes: Any,
) -> Plan:
    return build_plan(request(**changes), PROMPTS, kinds, positions, tasks)


def by_name(plan: Plan) -> dict[str, Scenario]:
    return {s.name: s for s in plan.scenarios()}


def names(plan: Plan) -> dict[str, list[str]]:
    return {engine.name: [s.name for s in engine.scenarios] for engine in plan.engines}


def engine(plan: Plan, name: str) -> EnginePlan:
    return next(e for e in plan.engines if e.name == name)


def test_a_task_is_served_in_every_way_even_where_no_check_is_about_prompts() -> None:
    plan = plan_of()
    assert names(plan) == {
        "plain": ["sums/full", "sums/chunked@37", "sums/chunked@11"],
        "caching": ["sums/cold", "sums/warm", "sums/warm-2"],
    }
    assert {s.task for s in plan.scenarios()} == {"sums"}
    assert {s.legs for s in plan.scenarios()} == {(Leg.ANSWER,)}


def test_tasks_follow_the_prompts_in_the_engines_that_are_there_already() -> None:
    plan = plan_of((Kind.CHUNKED,), (SUMS, RIDDLES))
    plain = ["full", "chunked@37", "chunked@11"]
    assert names(plan) == {
        "plain": [*plain, *(f"sums/{n}" for n in plain), *(f"riddles/{n}" for n in plain)],
        "caching": [f"{task}/{n}" for task in ("sums", "riddles") for n in SUFFIXES[3:]],
    }


def test_every_answer_is_compared_with_full_prefill_of_its_own_task() -> None:
    found = by_name(plan_of(tuple(Kind), (SUMS, RIDDLES)))
    for task in ("sums", "riddles"):
        assert found[f"{task}/full"].reference is None
        others = [found[f"{task}/{suffix}"] for suffix in SUFFIXES[1:]]
        assert {s.reference for s in others} == {f"{task}/full"}
    assert found["warm"].reference == "cold"  # of the prompts, leg by leg


def test_a_warm_scenario_comes_after_the_one_that_filled_the_cache() -> None:
    plan = plan_of()
    after = {name: s.after for name, s in by_name(plan).items()}
    assert after == {
        "sums/full": None,
        "sums/chunked@37": None,
        "sums/chunked@11": None,
        "sums/cold": None,
        "sums/warm": "sums/cold",
        "sums/warm-2": "sums/warm",
    }
    order = [s.name for s in plan.scenarios()]
    assert all(order.index(a) < order.index(name) for name, a in after.items() if a)


def test_a_scenario_knows_its_kind_and_its_own_budget() -> None:
    found = by_name(plan_of())
    assert [found[f"sums/{n}"].kind.value for n in SUFFIXES] == [
        "full", "chunked", "chunked", "cold", "warm", "warm"
    ]  # fmt: skip
    assert [found[f"sums/{n}"].budget for n in SUFFIXES] == [339, 37, 11, 339, 339, 339]


BUDGETS = {"all-in-one-step": (16384, 339), "as-many-as-fit": (250, 250), "the-longest": (64, 203)}


@pytest.mark.parametrize(("most", "expected"), BUDGETS.values(), ids=BUDGETS.keys())
def test_the_full_budget_is_of_the_tasks_own_requests(most: int, expected: int) -> None:
    plan = plan_of((Kind.FULL,), max_step_tokens=most)
    assert by_name(plan)["sums/full"].budget == expected


def test_engines_take_the_largest_step_that_any_of_their_scenarios_needs() -> None:
    plan = plan_of(tuple(Kind), (SUMS, RIDDLES))
    assert {e.requested["max_num_batched_tokens"] for e in plan.engines} == {339}
    assert {s.budget for s in by_name(plan).values()} == {271, 339, 60, 37, 11}


def test_isolated_engines_are_shared_by_scenarios_of_one_budget() -> None:
    plan = plan_of((Kind.CHUNKED,), (SUMS, RIDDLES), isolate=True)
    assert names(plan) == {
        "full": ["full", "sums/full", "riddles/full"],
        "chunked@37": ["chunked@37", "sums/chunked@37", "riddles/chunked@37"],
        "chunked@11": ["chunked@11", "sums/chunked@11", "riddles/chunked@11"],
        "caching": [f"{task}/{n}" for task in ("sums", "riddles") for n in SUFFIXES[3:]],
    }
    budgets = {e.name: e.requested["max_num_batched_tokens"] for e in plan.engines}
    assert budgets == {"full": 339, "chunked@37": 37, "chunked@11": 11, "caching": 339}


def test_the_longest_request_with_its_output_decides_how_long_a_model_must_be() -> None:
    # 203 + 5 = 208 is more than 45 + 96 = 141: the next multiple of 64 is 256
    assert engine(plan_of(), "plain").requested["max_model_len"] == 256
    # 45 + 212 = 257 is more than 208, and a token more than 256
    longer = SUMS.model_copy(update={"outputs": (19, 212, 5)})
    assert engine(plan_of(tasks=(RIDDLES, longer)), "caching").requested["max_model_len"] == 320


def test_prompts_that_are_not_served_need_no_room() -> None:
    # the longest prompt would need 131 + 7 = 138; the longest riddle 29 + 11 = 40
    plan = plan_of(tasks=(RIDDLES,), positions=99)
    assert {e.requested["max_model_len"] for e in plan.engines} == {64}
    assert engine(plan, "plain").requested["max_num_batched_tokens"] == 60


TOO_LONG = {
    "the-model": (207, None, "the model's max_position_embeddings is 207"),
    "the-flag": (None, 207, "--max-model-len is 207"),
}


@pytest.mark.parametrize(("positions", "given", "part"), TOO_LONG.values(), ids=TOO_LONG.keys())
def test_a_request_that_is_too_long_is_named_with_what_to_change(
    positions: int | None, given: int | None, part: str
) -> None:
    with pytest.raises(UsageError) as caught:
        plan_of((Kind.FULL,), (RIDDLES, SUMS), positions, flags={"max_model_len": given})
    text = str(caught.value)
    assert "Request 3 of sums has 203 tokens; with 5 output tokens it needs 208" in text
    assert part in text
    assert "Give fewer --num-fewshot or --max-gen-toks" in text
    just_enough = plan_of((Kind.FULL,), (RIDDLES, SUMS), 208)
    assert engine(just_enough, "plain").requested["max_model_len"] == 208


def test_a_prompt_that_is_longer_than_any_request_is_named_instead() -> None:
    with pytest.raises(UsageError, match=r"Prompt 2 has 131 tokens.*Shorten it"):
        plan_of((Kind.FULL,), (RIDDLES,), 137)


def test_a_fault_goes_into_the_scenario_of_its_task_alone() -> None:
    flags = {"inject": {"sums/chunked@37": ("logits_swapped", "raise_at_edges")}}
    plan = plan_of(tuple(Kind), (SUMS, RIDDLES), flags=flags)
    injected = {name: s.faults for name, s in by_name(plan).items() if s.faults}
    assert injected == {"sums/chunked@37": ("logits_swapped", "raise_at_edges")}


UNKNOWN = {
    "no-such-scenario": ("sums/chunked@38", "Did you mean 'sums/chunked@37'?"),
    "no-such-task": ("sum/warm", "Did you mean 'sums/warm'?"),
    "of-prompts-that-are-not-served": ("warm", "Known: sums/chunked@11, sums/chunked@37, "),
}


@pytest.mark.parametrize(("scenario", "part"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_a_fault_for_a_scenario_that_does_not_run(scenario: str, part: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan_of(flags={"inject": {scenario: ("logits_swapped",)}})
    assert f"Unknown scenario {scenario!r} in --inject." in str(caught.value)
    assert part in str(caught.value)


def test_the_names_of_the_prompts_scenarios_are_known_before_any_prompt_is() -> None:
    asked = request(flags={"inject": {"warm": ("logits_swapped",)}})
    assert prompt_scenario_names(asked, (Kind.CHUNKED,)) == ["full", "chunked@37", "chunked@11"]
    assert prompt_scenario_names(asked, ()) == []
    check_inject(asked, ["cold", "warm"])
    with pytest.raises(UsageError, match=re.escape("Unknown scenario 'warm' in --inject.")):
        check_inject(asked, prompt_scenario_names(asked, (Kind.CHUNKED,)))


def test_a_plan_with_tasks_survives_being_written_and_read() -> None:
    plan = plan_of(tuple(Kind), (SUMS, RIDDLES))
    assert Plan.model_validate_json(plan.model_dump_json()) == plan
