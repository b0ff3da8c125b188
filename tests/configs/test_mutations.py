"""Mutations: which scenarios have one, with which fault, and where it is served."""

from linattn_verify.configs.mutations import fault_of, mutation, with_mutations, without_mark
from linattn_verify.configs.plan import Kind, Need
from linattn_verify.configs.planning import build_plan, prompt_scenario_names
from linattn_verify.configs.tasks import TaskShape
from tests.configs.test_asides import BOTH, KINDS, plan_of, scenario
from tests.configs.test_planning import LENGTHS, names, profile, request

LOST, RESTORED = "state_lost_at_edges", "restored_state_lost"


def test_mutations_of_chunks_come_last_and_those_in_a_cache_before_it_is_emptied() -> None:
    found = names(plan_of((), mutations=True))
    assert found == {
        "plain": ["full", "chunked@37", "chunked@11", f"chunked@37~{LOST}", f"chunked@11~{LOST}"],
        "caching": [
            *("cold", "warm", "warm-2"),
            *(f"warm~{RESTORED}", f"warm-2~{RESTORED}", f"cold~{LOST}"),
        ],
    }


def test_a_mutation_is_its_scenario_but_for_name_and_fault() -> None:
    plan = plan_of(BOTH, mutations=True)
    for one in plan.scenarios():
        if one.mutates is not None:
            original = scenario(plan, one.mutates)
            assert one == mutation(original, one.faults[0])
            same = {"name": original.name, "faults": (), "mutates": None}
            assert one.model_copy(update=same) == original
            assert without_mark(one.name) == original.name and one.aside


def test_twins_read_what_nobody_wrote_and_the_reference_has_no_mutation() -> None:
    plan = plan_of(BOTH, mutations=True)
    faults = {one.mutates: one.faults for one in plan.scenarios() if one.mutates}
    assert faults["cold-nan"] == faults["full-nan"] == ("unwritten_state_read",)
    assert faults["warm-nan"] == (RESTORED,)
    assert not {"full", "prefixes", "cold-tight"} & faults.keys()


def test_a_warm_twin_is_mutated_before_the_next_scenario_starts_afresh() -> None:
    order = names(plan_of(BOTH, mutations=True))["caching"]
    assert order.index("warm-nan") + 1 == order.index(f"warm-nan~{RESTORED}")
    assert order.index(f"warm-nan~{RESTORED}") < order.index("cold-tight")


def test_what_is_broken_on_purpose_is_not_mutated() -> None:
    plan = plan_of((), inject={"chunked@37": ("logits_swapped",)}, mutations=True)
    mutated = {one.mutates for one in plan.scenarios()}
    assert "chunked@37" not in mutated and "chunked@11" in mutated


def test_tasks_have_mutations_of_their_own() -> None:
    shape = TaskShape(name="sums", lengths=(50,), outputs=(8,))
    plan = build_plan(request(profile(mutations=True)), LENGTHS, (), tasks=(shape,))
    assert f"sums/chunked@11~{LOST}" in [one.name for one in plan.scenarios()]


def test_an_engine_of_its_own_serves_the_mutation_too() -> None:
    plan = plan_of((), (Kind.CHUNKED,), mutations=True, isolate=True)
    assert names(plan)["chunked@11"] == ["chunked@11", f"chunked@11~{LOST}"]


def test_no_fault_can_be_injected_into_a_mutation() -> None:
    known = prompt_scenario_names(request(profile(mutations=True)), KINDS, (Need.STATES,))
    assert not [name for name in known if "~" in name]


def test_without_scenarios_there_are_no_mutations() -> None:
    assert with_mutations([]) == []
    assert fault_of(scenario(plan_of(BOTH), "prefixes")) is None
