"""Scenarios that are there for one check alone."""

from collections.abc import Sequence

from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Memory, Scenario

PREFIXES = "prefixes"
"""The scenario whose states those of all others are compared with."""
NAN, TIGHT, AGAIN = "-nan", "-tight", "-again"
"""How the names of twins, of scenarios in a small pool, and of a repeated reference end."""
_FIRST_PASS = (Leg.PROMPT, Leg.DECODE)


def with_states(scenarios: Sequence[Scenario]) -> list[Scenario]:
    """The scenarios with their states read, and single-step prefills of the same prefixes, after
    the last scenario that runs without a cache: by then it is known where chunks have ended."""
    read = [s.model_copy(update={"states": True}) for s in scenarios]
    after = [s.kind in (Kind.FULL, Kind.CHUNKED) for s in read]
    place = len(after) - after[::-1].index(True)
    full = next(s for s in read if s.kind is Kind.FULL)
    changed = {
        "name": PREFIXES,
        "kind": Kind.PREFIX,
        "reference": full.name,
        "legs": (Leg.PREFIX,),
    }
    return [*read[:place], full.model_copy(update=changed), *read[place:]]


def with_hygiene(scenarios: Sequence[Scenario], every: bool) -> list[Scenario]:
    """The scenarios on zeroed memory, then each once more on NaN, and on both in a small pool: the
    smallest budget, and a cache that must evict. Without `every`, no budget but that one."""
    zeroed = [s if s.after else s.model_copy(update={"memory": Memory.ZERO}) for s in scenarios]
    chunked = [s for s in zeroed if s.kind is Kind.CHUNKED]
    smallest = [min(chunked, key=lambda s: s.budget)] if chunked else []
    twins = [
        _twin(s)
        for s in zeroed
        if s.kind is not Kind.PREFIX
        and s.after in (None, "cold")
        and (every or s.kind is not Kind.CHUNKED)
    ]
    small = [_tight(s) for s in (*smallest, *(s for s in zeroed if s.kind is Kind.COLD))]
    return [*zeroed, *twins, *(each for s in small for each in (s, _twin(s)))]


def with_floor(scenarios: Sequence[Scenario], budget: int) -> list[Scenario]:
    """The scenarios, and after the reference itself again in steps of `budget`: as many tokens as
    its longest prompt needs, so that most prompts have a step of their own."""
    place, full = next((i, s) for i, s in enumerate(scenarios, 1) if s.kind is Kind.FULL)
    changed = {
        "name": f"{full.name}{AGAIN}",
        "kind": Kind.AGAIN,
        "reference": full.name,
        "budget": budget,
        "legs": _FIRST_PASS,
        "states": False,
    }
    return [*scenarios[:place], full.model_copy(update=changed), *scenarios[place:]]


def _twin(scenario: Scenario) -> Scenario:
    """Its first pass again. What follows in its cache, a `warm`, goes on from the twin's own."""
    return scenario.model_copy(
        update={
            "name": f"{scenario.name}{NAN}",
            "twin": scenario.name,
            "reference": scenario.name,
            "memory": None if scenario.after else Memory.NAN,
            "after": scenario.after and f"{scenario.after}{NAN}",
            "legs": scenario.legs if scenario.kind is Kind.FULL else _FIRST_PASS,
            "states": False,
        }
    )


def _tight(scenario: Scenario) -> Scenario:
    update = {"name": f"{scenario.name}{TIGHT}", "tight": True, "legs": _FIRST_PASS}
    return scenario.model_copy(update={**update, "states": False})


def some_requests(lengths: tuple[int, ...], most: int) -> tuple[int, ...]:
    """Indices of the prompts whose states are read: the first, whose edges lie on multiples of the
    budget, the longest, the last, then the others in order."""
    every = range(len(lengths))
    longest = max(every, key=lengths.__getitem__)
    return tuple(sorted(tuple(dict.fromkeys((0, longest, every[-1], *every)))[:most]))
