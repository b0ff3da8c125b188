"""From a run's plan to the part of it that one failing scenario needs, cut another way."""

from linattn_verify.configs.asides import PREFIXES
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Plan, Scenario

_LEGS = (Leg.PROMPT, Leg.DECODE)


def reduced_plan(plan: Plan, name: str, budget: int, states: bool) -> Plan:
    """The scenario of that name at `budget`, what it is compared with, and what must run before
    it in its engine; with `states`, also what those are compared with. Prompts and forced outputs
    alone: of the reference also its free output, since that is the path."""
    scenarios = {s.name: s for s in plan.scenarios()}
    wanted = _needed(scenarios, name, states)
    engines = [
        engine.model_copy(
            update={
                "scenarios": tuple(
                    _reduced(s, scenarios[name], budget, states)
                    for s in engine.scenarios
                    if s.name in wanted
                )
            }
        )
        for engine in plan.engines
    ]
    return Plan(engines=tuple(e for e in engines if e.scenarios))


def _needed(scenarios: dict[str, Scenario], name: str, states: bool) -> set[str]:
    waiting, found = [name], set[str]()
    while waiting:
        one = scenarios[waiting.pop()]
        found.add(one.name)
        # What a restored prefix is compared with needs no comparison of its own.
        compared = one.name == name or (one.after is None and one.kind is not Kind.COLD)
        names = (one.after, one.twin, one.reference if compared else None)
        waiting += [n for n in names if n is not None and n not in found]
    if states and PREFIXES in scenarios:
        found |= {PREFIXES, scenarios[PREFIXES].reference or PREFIXES}
    return found


def _reduced(scenario: Scenario, failing: Scenario, budget: int, states: bool) -> Scenario:
    """The failing one, and what it repeats, at the new budget; the rest as planned."""
    same = scenario.name in (failing.name, failing.twin) and scenario.kind is Kind.CHUNKED
    legs = scenario.legs
    if scenario.kind is not Kind.FULL and Leg.PREFIX not in legs:
        legs = tuple(leg for leg in legs if leg in _LEGS)
    return scenario.model_copy(
        update={
            "budget": budget if same else scenario.budget,
            "legs": legs,
            "states": states and scenario.states,
        }
    )
