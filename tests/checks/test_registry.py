"""Checks are found by name, once."""

from typing import TYPE_CHECKING, Any

import pytest

from linattn_verify.checks.registry import CheckSpec, all_checks, check, checks_named, run_checks
from linattn_verify.checks.result import CheckResult, Verdict
from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Need

if TYPE_CHECKING:
    from linattn_verify.checks.evidence import Evidence
    from tests.checks.world import World

NAMES = [
    *("cache_hygiene", "chunked_prefill", "effective_config", "kernels", "logprobs_close"),
    *("numeric_floor", "prefix_cache", "state_equivalence", "task_score"),
]


def test_every_check_says_what_it_is_for_and_what_it_cannot_see() -> None:
    specs = all_checks()
    assert [s.name for s in specs] == NAMES
    assert all(s.fault and s.blind for s in specs)


def test_the_planner_can_read_scenarios_and_legs() -> None:
    (spec,) = checks_named(["prefix_cache"])
    assert spec.kinds == (Kind.COLD, Kind.WARM)
    assert spec.legs == (Leg.PROMPT, Leg.DECODE, Leg.CUT)


def test_the_planner_can_read_what_a_check_needs_beside_scenarios() -> None:
    needs = {s.name: s.needs for s in all_checks() if s.needs}
    assert needs == {
        "cache_hygiene": (Need.HYGIENE,),
        "chunked_prefill": (Need.FLOOR,),
        "kernels": (Need.KERNELS,),
        "numeric_floor": (Need.FLOOR,),
        "prefix_cache": (Need.FLOOR,),
        "state_equivalence": (Need.STATES,),
    }


def test_a_second_check_of_the_same_name_raises() -> None:
    all_checks()
    with pytest.raises(ValueError, match="'prefix_cache' is defined twice"):
        check(name="prefix_cache", fault="x", blind="y")(lambda evidence: [])


def test_skipping_leaves_the_others() -> None:
    left = [s.name for s in checks_named(skip=["logprobs_close"])]
    assert left == [name for name in NAMES if name != "logprobs_close"]


@pytest.mark.parametrize("where", ["only", "skip"])
def test_an_unknown_name_suggests_the_nearest(where: str) -> None:
    names = {where: ["prefix_cash"]}
    with pytest.raises(UsageError, match="Did you mean 'prefix_cache'"):
        checks_named(**names)


def test_nothing_left_to_run_is_refused() -> None:
    with pytest.raises(UsageError, match="No check is left"):
        checks_named(["prefix_cache"], ["prefix_cache"])


def test_the_planner_can_tell_the_checks_of_tasks() -> None:
    assert [s.name for s in all_checks() if s.tasks] == ["task_score"]
    assert [s.kinds for s in all_checks() if s.tasks] == [()]


def test_one_check_is_about_operators_and_needs_nothing_served() -> None:
    found = [s for s in all_checks() if Need.KERNELS in s.needs]
    assert [(s.name, s.kinds, s.legs) for s in found] == [("kernels", (), ())]


def raising(
    kinds: tuple[Kind, ...], tasks: bool = False, needs: tuple[Need, ...] = ()
) -> CheckSpec:
    def broken(evidence: "Evidence") -> list[CheckResult]:
        raise KeyError("column")

    return CheckSpec("broken", "f", "b", kinds, (), tasks, needs, False, broken)


def test_a_check_that_raises_is_an_error_and_stops_no_other(world: "World") -> None:
    specs = (raising((Kind.WARM,)), *checks_named(["effective_config"]))
    first, *others = run_checks(specs, world.evidence())
    assert (first.verdict, first.scenario) == (Verdict.ERROR, "warm")
    assert "KeyError: 'column'" in first.message
    assert [r.verdict for r in others] == [Verdict.PASS, Verdict.PASS]


@pytest.mark.parametrize(
    ("about", "whole"),
    [
        ({}, "every engine"),
        ({"tasks": True}, "every task"),
        ({"needs": (Need.KERNELS,)}, "every operator"),
    ],
    ids=["engines", "tasks", "operators"],
)
def test_a_check_of_the_whole_run_says_so_where_it_raises(
    world: "World", about: dict[str, Any], whole: str
) -> None:
    (result,) = run_checks([raising((), **about)], world.evidence())
    assert (result.verdict, result.scenario) == (Verdict.ERROR, whole)
