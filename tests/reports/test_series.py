"""What pictures are made of, against a made run whose differences are known."""

import math
from collections.abc import Callable

import pytest

from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Plan, Scenario
from linattn_verify.reports.differences import CURVES, WINDOWS, Curve, Differences
from linattn_verify.reports.series import curve, differences
from tests.checks import world as made
from tests.checks.world import World


def measured(world: World) -> Differences:
    found = differences(world.evidence())
    assert found is not None
    return found


def curve_of(found: Differences, scenario: str, prompt: str = "beta") -> Curve:
    (one,) = [c for c in found.curves if (c.scenario, c.prompt) == (scenario, prompt)]
    return one


def test_a_difference_stands_in_the_class_of_its_size() -> None:
    world = World()
    world.shift("chunked@7", Leg.PROMPT, 1, 9, 0.5)
    world.shift("chunked@7", Leg.PROMPT, 1, 10, -3.0)
    found = measured(world)
    (one,) = [d for d in found.distributions if (d.scenario, d.leg) == ("chunked@7", "prompt")]
    # 16, 22 and 14 positions are predicted within prompts of 17, 23 and 15 tokens.
    assert (one.compared, one.exact, one.counts[0], sum(one.counts)) == (52, 50, 50, 52)
    classes = [at for at, count in enumerate(one.counts) if count and at]
    ranges = [(found.bounds[at - 1], found.bounds[at]) for at in classes]
    assert [low <= size < high for (low, high), size in zip(ranges, (0.5, 3.0), strict=True)]
    assert [low for low, _ in ranges] == pytest.approx([0.5, 2.0**1.5])


def test_a_curve_has_edges_blocks_and_the_decoded_tokens() -> None:
    world = World()
    world.shift("chunked@7", Leg.PROMPT, 1, 9, 0.25)
    world.shift("chunked@7", Leg.DECODE, 1, 23, -1.5)
    one = curve_of(measured(world), "chunked@7")
    assert (one.reference, one.prompt_tokens, one.edges) == ("full", 23, (7, 14, 21))
    assert (one.start, one.stride, len(one.largest)) == (1, 1, 27)
    assert {at: v for at, v in enumerate(one.largest, one.start) if v} == {9: 0.25, 23: 1.5}
    assert (one.block_size, one.cached_tokens, one.broken) == (0, 0, ())


def test_what_came_from_the_cache_is_known_where_a_cut_asked_for_it() -> None:
    world = World()
    one = curve_of(measured(world), "warm")
    assert (one.block_size, one.cached_tokens, one.edges) == (8, 16, (16,))
    assert one.start == 17  # the first position that is computed; the cut at 19 is one of them
    assert all(size == 0 for size in one.largest)


@pytest.mark.parametrize(
    "bend",
    [
        lambda w: w.row("chunked@7", Leg.PROMPT, 1, 9).update(logprob=math.nan),
        lambda w: w.row("full", Leg.PROMPT, 1, 9).update(logprob=-math.inf),
        lambda w: w.row("chunked@7", Leg.PROMPT, 1, 9).update(token=4),
        lambda w: w.drop("chunked@7", Leg.PROMPT, 1, 9),
        lambda w: w.drop("full", Leg.PROMPT, 1, 9),
    ],
    ids=["nan", "infinite reference", "another token", "missing", "unexpected"],
)
def test_what_cannot_be_compared_is_marked(bend: Callable[[World], None]) -> None:
    world = World()
    bend(world)
    one = curve_of(measured(world), "chunked@7")
    assert (one.broken, one.largest[8]) == ((8,), None)


def test_long_prompts_come_in_windows_of_their_largest_difference() -> None:
    world = World()
    scenario = world.evidence().scenario("chunked@7")
    frame = world.compared("chunked@7", Leg.PROMPT).frame
    rows = frame[frame["request"] == 1].copy()
    rows["position"] = rows["position"] * 100
    rows.loc[rows["position"] == 900, "abs_delta"] = 0.123456
    trace = world.trace("chunked@7")
    one = curve(scenario, trace, trace.record.requests[1], rows, "beta")
    assert (one.start, one.stride) == (100, 14)  # 2,101 positions in at most 160 windows
    assert len(one.largest) <= WINDOWS
    assert one.largest[(900 - 100) // 14] == 0.123


def test_of_many_prompts_those_that_differ_most_have_a_curve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("linattn_verify.reports.series.CURVES", 2)
    assert CURVES > 2
    world = World()
    world.shift("chunked@7", Leg.PROMPT, 2, 9, 0.5)
    world.row("chunked@7", Leg.PROMPT, 0, 9).update(logprob=math.nan)
    found = measured(world)
    kept = [c.prompt for c in found.curves if c.scenario == "chunked@7"]
    assert (kept, found.left_out["chunked@7"]) == (["alpha", "gamma"], 1)


@pytest.mark.parametrize(
    "aside",
    [{"tight": True}, {"twin": "full"}, {"mutates": "chunked@7"}, {"task": "gsm8k"}],
    ids=str,
)
def test_repetitions_and_tasks_are_not_drawn(aside: dict[str, object]) -> None:
    plain, cache = made.plan().engines
    changed = [
        Scenario.model_validate({**s.model_dump(), **(aside if s.name == "chunked@7" else {})})
        for s in plain.scenarios
    ]
    engines = (plain.model_copy(update={"scenarios": tuple(changed)}), cache)
    world = World()
    world.plan = Plan(engines=engines)
    assert "chunked@7" not in {c.scenario for c in measured(world).curves}


def test_without_a_trace_to_compare_there_is_nothing() -> None:
    world = World()
    for name in ("chunked@7", "cold", "warm", "warm-2"):
        world.rows[name] = []
    world.rows["full"] = []
    assert differences(world.evidence()) is None


def test_a_trace_with_a_row_twice_is_left_to_the_checks() -> None:
    world = World()
    world.rows["chunked@7"].append(dict(world.row("chunked@7", Leg.PROMPT, 1, 9)))
    legs = {d.leg for d in measured(world).distributions if d.scenario == "chunked@7"}
    assert legs == {"decode"}
