"""Scenarios that are there for one check alone: which, where, and what they are compared with."""

from collections.abc import Mapping
from typing import Any

import pytest

from linattn_verify.configs.asides import some_requests, with_hygiene, with_states
from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Memory, Need, Plan, Scenario
from linattn_verify.configs.planning import build_plan, prompt_scenario_names
from tests.configs.test_planning import LENGTHS, names, profile, request

KINDS = (Kind.FULL, Kind.CHUNKED, Kind.COLD, Kind.WARM)
STATES, HYGIENE = (Need.STATES,), (Need.HYGIENE,)
BOTH = (*STATES, *HYGIENE)
FIRST = (Leg.PROMPT, Leg.DECODE)


def plan_of(
    needs: tuple[Need, ...],
    kinds: tuple[Kind, ...] = KINDS,
    inject: Mapping[str, tuple[str, ...]] | None = None,
    **changes: Any,
) -> Plan:
    asked = request(profile(**changes), inject=inject or {})
    return build_plan(asked, LENGTHS, kinds, needs=needs)


def scenario(plan: Plan, name: str) -> Scenario:
    return next(s for s in plan.scenarios() if s.name == name)


def test_a_plan_without_these_checks_is_what_it_was() -> None:
    plan = plan_of(())
    assert names(plan) == {
        "plain": ["full", "chunked@37", "chunked@11"],
        "caching": ["cold", "warm", "warm-2"],
    }
    for one in plan.scenarios():
        assert (one.states, one.memory, one.twin, one.tight) == (False, None, None, False)


def test_prefixes_come_after_the_last_scenario_without_a_cache() -> None:
    assert names(plan_of(STATES)) == {
        "plain": ["full", "chunked@37", "chunked@11", "prefixes"],
        "caching": ["cold", "warm", "warm-2"],
    }
    assert names(plan_of(STATES, (Kind.WARM,)))["plain"] == ["full", "prefixes"]


def test_states_are_read_in_every_scenario() -> None:
    plan = plan_of(STATES)
    assert all(s.states for s in plan.scenarios())
    prefixes = scenario(plan, "prefixes")
    assert (prefixes.kind, prefixes.reference, prefixes.legs) == (
        Kind.PREFIX,
        "full",
        (Leg.PREFIX,),
    )
    # One step holds every prompt, as in the reference: 57 + 131 + 83 tokens.
    assert (prefixes.budget, prefixes.after) == (271, None)


def test_hygiene_repeats_one_scenario_of_a_kind_and_shrinks_the_pool_under_two() -> None:
    assert names(plan_of(HYGIENE)) == {
        "plain": [
            *("full", "chunked@37", "chunked@11", "full-nan"),
            *("chunked@11-tight", "chunked@11-tight-nan"),
        ],
        "caching": [
            *("cold", "warm", "warm-2", "cold-nan", "warm-nan"),
            *("cold-tight", "cold-tight-nan"),
        ],
    }


def test_hygiene_of_every_scenario_repeats_every_budget() -> None:
    assert names(plan_of(HYGIENE, hygiene="every"))["plain"] == [
        *("full", "chunked@37", "chunked@11"),
        *("full-nan", "chunked@37-nan", "chunked@11-nan"),
        *("chunked@11-tight", "chunked@11-tight-nan"),
    ]


def test_prefixes_have_no_twin() -> None:
    assert names(plan_of(BOTH, hygiene="every"))["plain"] == [
        *("full", "chunked@37", "chunked@11", "prefixes"),
        *("full-nan", "chunked@37-nan", "chunked@11-nan"),
        *("chunked@11-tight", "chunked@11-tight-nan"),
    ]


def test_without_budgets_and_caches_only_the_reference_is_repeated() -> None:
    assert names(plan_of(HYGIENE, (Kind.FULL,))) == {"plain": ["full", "full-nan"]}


def test_under_isolation_twins_stay_in_the_engine_of_what_they_repeat() -> None:
    assert names(plan_of(BOTH, isolate=True, hygiene="every")) == {
        "full": ["full", "full-nan"],
        "chunked@37": ["chunked@37", "chunked@37-nan"],
        "chunked@11": [
            *("chunked@11", "chunked@11-nan", "chunked@11-tight", "chunked@11-tight-nan"),
        ],
        "prefixes": ["prefixes"],
        "caching": [
            *("cold", "warm", "warm-2", "cold-nan", "warm-nan", "cold-tight", "cold-tight-nan"),
        ],
    }


@pytest.mark.parametrize("isolate", [False, True])
def test_every_scenario_follows_what_it_builds_on(isolate: bool) -> None:
    """Across engines too; and a twin, and what goes on in its cache, in the same one."""
    seen: dict[str, str] = {}
    for engine in plan_of(BOTH, isolate=isolate, hygiene="every").engines:
        for one in engine.scenarios:
            assert {one.reference, one.after, one.twin} - {None} <= set(seen)
            for same in filter(None, (one.after, one.twin)):
                assert seen[same] == engine.name
            seen[one.name] = engine.name


def test_a_twin_is_compared_with_what_it_repeats() -> None:
    plan = plan_of(BOTH, hygiene="every")
    twins = {s.name: s for s in plan.scenarios() if s.twin}
    assert {n: (s.twin, s.reference) for n, s in twins.items()} == {
        name: (name.removesuffix("-nan"),) * 2
        for name in (
            *("full-nan", "chunked@37-nan", "chunked@11-nan", "cold-nan", "warm-nan"),
            *("chunked@11-tight-nan", "cold-tight-nan"),
        )
    }
    for twin in twins.values():
        repeated = scenario(plan, twin.twin or "")
        assert (twin.kind, twin.budget, twin.tight) == (
            *(repeated.kind, repeated.budget, repeated.tight),
        )
        assert not twin.states


def test_the_twin_of_warm_goes_on_in_the_cache_of_colds_twin() -> None:
    plan = plan_of(HYGIENE)
    assert (scenario(plan, "warm-nan").after, scenario(plan, "warm").after) == ("cold-nan", "cold")
    assert scenario(plan, "cold-nan").after is None


def test_memory_is_filled_once_a_cache() -> None:
    plan = plan_of(BOTH)
    memory = {s.name: s.memory for s in plan.scenarios()}
    assert {n for n, m in memory.items() if m is Memory.NAN} == {
        *("full-nan", "cold-nan", "chunked@11-tight-nan", "cold-tight-nan"),
    }
    assert {n for n, m in memory.items() if m is None} == {"warm", "warm-2", "warm-nan"}


def test_only_the_first_pass_is_repeated() -> None:
    """The reference makes one pass for everything."""
    plan = plan_of(HYGIENE)
    legs = {s.name: s.legs for s in plan.scenarios()}
    assert legs["full-nan"] == legs["full"] == (*FIRST, Leg.FREE)
    for name in ("cold-nan", "warm-nan", "chunked@11-tight", "chunked@11-tight-nan"):
        assert legs[name] == FIRST
    assert legs["cold"] == (*FIRST, Leg.FREE)


def test_tight_ones_read_no_states_and_are_asides() -> None:
    plan = plan_of(BOTH)
    aside = {s.name for s in plan.scenarios() if s.aside}
    assert aside == {s.name for s in plan.scenarios()} - {
        *("full", "chunked@37", "chunked@11", "cold", "warm", "warm-2"),
    }
    assert {s.name for s in plan.scenarios() if s.states} == {
        *("full", "chunked@37", "chunked@11", "prefixes", "cold", "warm", "warm-2"),
    }
    assert [s.reference for s in plan.scenarios() if s.name.endswith("-tight")] == ["full", "full"]


def test_a_twin_inherits_the_faults_of_what_it_repeats() -> None:
    plan = plan_of(BOTH, inject={"cold": ("blocks_not_zeroed",), "full": ("logits_swapped",)})
    assert {s.name: s.faults for s in plan.scenarios() if s.faults} == {
        "full": ("logits_swapped",),
        "full-nan": ("logits_swapped",),
        "cold": ("blocks_not_zeroed",),
        "cold-nan": ("blocks_not_zeroed",),
    }


def test_a_twin_may_have_a_fault_of_its_own_beside_the_inherited_once() -> None:
    own = ("nan_state_at_edges", "logits_swapped")
    plan = plan_of(HYGIENE, inject={"full": ("logits_swapped",), "full-nan": own})
    assert scenario(plan, "full-nan").faults == ("logits_swapped", "nan_state_at_edges")
    assert scenario(plan, "full").faults == ("logits_swapped",)


def test_a_fault_for_a_twin_needs_the_check_that_repeats() -> None:
    inject = {"full-nan": ("blocks_not_zeroed",)}
    assert scenario(plan_of(HYGIENE, inject=inject), "full-nan").faults == ("blocks_not_zeroed",)
    with pytest.raises(UsageError, match="Unknown scenario 'full-nan' in --inject"):
        plan_of(STATES, inject=inject)


def test_no_prompt_scenario_no_aside() -> None:
    assert names(plan_of(BOTH, ())) == {}
    assert prompt_scenario_names(request(profile()), (), BOTH) == []


def test_names_are_known_before_the_prompts_are() -> None:
    known = prompt_scenario_names(request(profile()), KINDS, BOTH)
    assert sorted(known) == sorted(s.name for s in plan_of(BOTH).scenarios())


def test_a_plan_with_asides_survives_being_written_and_read() -> None:
    plan = plan_of(BOTH)
    assert Plan.model_validate_json(plan.model_dump_json()) == plan


@pytest.mark.parametrize(
    ("lengths", "most", "expected"),
    [
        ((57, 131, 83, 29), 3, (0, 1, 3)),  # first, longest, last
        ((57, 131, 83, 29), 1, (0,)),
        ((57, 131, 83, 29), 2, (0, 1)),
        ((57, 131, 83, 29), 9, (0, 1, 2, 3)),
        ((131, 57, 83, 29), 3, (0, 1, 3)),  # the first is the longest: then the others in order
        ((57, 29, 83, 131, 131), 3, (0, 3, 4)),  # of two as long the first
        ((57,), 3, (0,)),
    ],
    ids=["three", "one", "two", "all", "first-is-longest", "as-long", "one-prompt"],
)
def test_whose_states_are_read(
    lengths: tuple[int, ...], most: int, expected: tuple[int, ...]
) -> None:
    assert some_requests(lengths, most) == expected


def made(name: str, kind: Kind, **changes: Any) -> Scenario:
    reference = None if kind is Kind.FULL else "full"
    values = {"name": name, "kind": kind, "reference": reference, "budget": 271, "legs": FIRST}
    return Scenario.model_validate({**values, **changes})


def test_they_leave_the_scenarios_given_as_they_were() -> None:
    given = [made("full", Kind.FULL), made("cold", Kind.COLD), made("b", Kind.CHUNKED, budget=7)]
    assert [s.name for s in with_states(given)] == ["full", "cold", "b", "prefixes"]
    assert [s.name for s in with_hygiene(given, every=False)] == [
        *("full", "cold", "b", "full-nan", "cold-nan"),
        *("b-tight", "b-tight-nan", "cold-tight", "cold-tight-nan"),
    ]
    assert not any(s.states or s.memory for s in given)


def test_the_reference_is_served_again_where_the_profile_asks_for_contrasts() -> None:
    plan = plan_of((Need.FLOOR,), (Kind.CHUNKED,), contrasts=True)
    assert names(plan) == {"plain": ["full", "full-again", "chunked@37", "chunked@11"]}
    again = scenario(plan, "full-again")
    assert (again.kind, again.reference, again.legs) == (Kind.AGAIN, "full", FIRST)
    # The longest prompt, 131 tokens, and 7 of output: no other fits beside it.
    assert (again.budget, again.aside, again.states) == (138, True, False)
    assert "full-again" not in names(plan_of((Need.FLOOR,), contrasts=False))["plain"]
    assert "full-again" not in names(plan_of((), contrasts=True))["plain"]


def test_the_reference_served_again_has_no_twin_and_stays_in_its_engine() -> None:
    every = (*BOTH, Need.FLOOR)
    plan = plan_of(every, isolate=True, hygiene="every", contrasts=True)
    assert names(plan)["full"] == ["full", "full-again", "full-nan"]
    assert scenario(plan, "full-again").memory is Memory.ZERO
