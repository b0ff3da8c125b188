"""Mutations: scenarios served once more with the state lost on purpose.

A check that could not have failed proves nothing. A mutation shows what each check would have seen
of the fault it exists for, on the same prompts, in the same run.
"""

from collections.abc import Sequence

from linattn_verify.configs.plan import Kind, Scenario

MARK = "~"
"""Between the name of a scenario and the fault that is put into its mutation."""
_FAULTS = {
    Kind.CHUNKED: "state_lost_at_edges",
    Kind.COLD: "state_lost_at_edges",
    Kind.WARM: "restored_state_lost",
}
_OF_MEMORY = "unwritten_state_read"


def with_mutations(scenarios: Sequence[Scenario]) -> list[Scenario]:
    """`scenarios`, and after them their mutations. One that goes on in a cache follows the last
    scenario that does so: whatever starts afresh would empty it."""
    ordered: list[Scenario] = []
    waiting: list[Scenario] = []
    last: list[Scenario] = []
    for scenario in scenarios:
        if scenario.after is None:
            ordered, waiting = [*ordered, *waiting], []
        ordered.append(scenario)
        if (fault := fault_of(scenario)) is not None:
            (last if scenario.after is None else waiting).append(mutation(scenario, fault))
    return [*ordered, *waiting, *last]


def mutation(scenario: Scenario, fault: str) -> Scenario:
    """The scenario once more with `fault`, `NAME` or `NAME@10%`, put in."""
    changed = {"name": scenario.name + MARK + fault, "faults": (fault,), "mutates": scenario.name}
    return scenario.model_copy(update=changed)


def without_mark(name: str) -> str:
    """The name of the scenario that the one called `name` repeats, or is."""
    return name.partition(MARK)[0]


def fault_of(scenario: Scenario) -> str | None:
    """The fault that its mutation puts in; None where a check compares it with nothing, where it
    is broken on purpose already, or where it carries no state from one step to another."""
    if scenario.faults or scenario.kind is Kind.PREFIX:
        return None
    if scenario.twin is not None:
        return _OF_MEMORY if scenario.after is None else _FAULTS[Kind.WARM]
    return None if scenario.tight else _FAULTS.get(scenario.kind)
