"""Evidence in which a mutation stands in for the scenario that it repeats."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from linattn_verify.checks.evidence import Evidence
from linattn_verify.configs.plan import Plan, Scenario

Value = TypeVar("Value")


def as_if(evidence: Evidence, mutation: Scenario) -> Evidence:
    """The evidence of a run in which `mutation.mutates` had gone as its mutation went, for judging
    that scenario alone. What the mutation did not leave is not there; proofs are taken anew."""
    name = mutation.mutates
    assert name is not None
    stand_in = mutation.model_copy(update={"name": name, "mutates": None})
    return replace(
        evidence,
        plan=_with(evidence.plan, stand_in),
        outcomes=_swapped(evidence.outcomes, name, mutation.name),
        traces=_swapped(evidence.traces, name, mutation.name),
        states=_swapped(evidence.states, name, mutation.name),
        scores=_swapped(evidence.scores, name, mutation.name),
        proofs={},
        focus=frozenset({name}),
    )


def _with(plan: Plan, stand_in: Scenario) -> Plan:
    def swapped(scenarios: tuple[Scenario, ...]) -> tuple[Scenario, ...]:
        return tuple(stand_in if s.name == stand_in.name else s for s in scenarios)

    engines = (e.model_copy(update={"scenarios": swapped(e.scenarios)}) for e in plan.engines)
    return plan.model_copy(update={"engines": tuple(engines)})


def _swapped(found: Mapping[str, Value], name: str, by: str) -> dict[str, Value]:
    others = {key: value for key, value in found.items() if key != name}
    return {**others, name: found[by]} if by in found else others
