"""What of a plan a failing scenario needs."""

import pytest

from linattn_verify.configs.asides import PREFIXES, with_hygiene, with_states
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import EnginePlan, Kind, Plan, Scenario
from linattn_verify.configs.reducing import reduced_plan

WHOLE = (Leg.PROMPT, Leg.DECODE, Leg.FREE)


def plan() -> Plan:
    kinds = (
        ("full", Kind.FULL, None, None),
        ("chunked@64", Kind.CHUNKED, "full", None),
        ("chunked@16", Kind.CHUNKED, "full", None),
        ("cold", Kind.COLD, "full", None),
        ("warm", Kind.WARM, "cold", "cold"),
        ("warm-2", Kind.WARM, "cold", "warm"),
    )
    every = with_hygiene(
        with_states(
            [
                Scenario(
                    name=name,
                    kind=kind,
                    reference=reference,
                    after=after,
                    budget={"chunked@64": 64, "chunked@16": 16}.get(name, 512),
                    legs=(*WHOLE, Leg.CUT) if after else WHOLE,
                    faults=("conv_state_lost_at_edges",) if name == "chunked@64" else (),
                )
                for name, kind, reference, after in kinds
            ]
        ),
        every=True,
    )
    cached = tuple(s for s in every if s.kind in (Kind.COLD, Kind.WARM))
    plain = tuple(s for s in every if s not in cached)
    return Plan(
        engines=(
            EnginePlan(name="plain", requested={}, scenarios=plain),
            EnginePlan(name="caching", requested={}, scenarios=cached),
        )
    )


NEEDED = {
    ("chunked@64", False): {"plain": ["full", "chunked@64"]},
    ("chunked@64", True): {"plain": ["full", "chunked@64", PREFIXES]},
    ("cold", False): {"plain": ["full"], "caching": ["cold"]},
    ("warm", False): {"caching": ["cold", "warm"]},
    ("warm-2", False): {"caching": ["cold", "warm", "warm-2"]},
    ("full-nan", False): {"plain": ["full", "full-nan"]},
    ("chunked@64-nan", False): {"plain": ["full", "chunked@64", "chunked@64-nan"]},
    ("warm", True): {"plain": ["full", PREFIXES], "caching": ["cold", "warm"]},
}


@pytest.mark.parametrize(("asked", "needed"), NEEDED.items(), ids=str)
def test_only_what_the_scenario_builds_on_is_served(
    asked: tuple[str, bool], needed: dict[str, list[str]]
) -> None:
    name, states = asked
    made = reduced_plan(plan(), name, 32, states)
    assert {e.name: [s.name for s in e.scenarios] for e in made.engines} == needed


def test_the_scenario_and_what_it_repeats_get_the_budget_and_keep_their_faults() -> None:
    made = {s.name: s for s in reduced_plan(plan(), "chunked@64-nan", 33, False).scenarios()}
    assert made["chunked@64"].budget == made["chunked@64-nan"].budget == 33
    assert made["full"].budget == 512
    assert made["chunked@64"].faults == ("conv_state_lost_at_edges",)


def test_prompts_and_forced_outputs_alone_are_served_but_for_the_path() -> None:
    made = {s.name: s for s in reduced_plan(plan(), "chunked@64", 33, True).scenarios()}
    assert made["full"].legs == WHOLE
    assert made["chunked@64"].legs == (Leg.PROMPT, Leg.DECODE)
    assert made[PREFIXES].legs == (Leg.PREFIX,)
    assert all(s.states for s in made.values())
    assert not any(s.states for s in reduced_plan(plan(), "cold", 512, False).scenarios())
