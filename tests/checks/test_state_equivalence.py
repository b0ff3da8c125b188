"""Verdicts on states: where they first part, and what must have been read for an answer."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from linattn_verify.checks.evidence import EngineSettings
from linattn_verify.checks.registry import checks_named
from linattn_verify.checks.result import CheckResult, Parted, Verdict
from linattn_verify.configs.profile import Limit
from linattn_verify.traces.outcome import Status
from linattn_verify.traces.states import Moment, Part
from tests.checks.aside_world import AsideWorld
from tests.checks.state_rows import SHAPES, Row, held, off_by, scale

if TYPE_CHECKING:
    from tests.checks.world import World

LEFT, FOUND = Moment.LEFT, Moment.FOUND
CONVOLUTION, RECURRENT = Part.CONVOLUTION, Part.RECURRENT
SCENARIOS = ["full", "chunked@7", "cold", "warm", "warm-2"]


def judged(world: AsideWorld, scenario: str = "chunked@7") -> CheckResult:
    return world.judge_states(scenario)


def wrong(
    world: AsideWorld,
    error: float,
    request: int = 0,
    position: int = 7,
    index: int = 0,
    part: Part = CONVOLUTION,
    rank: int = 0,
) -> None:
    """A state that was left wrong, and then carried as it was."""
    for moment in (LEFT, FOUND):
        off_by(world.state("chunked@7", moment, request, position, index, part, rank), error)


def failed(world: AsideWorld, scenario: str = "chunked@7") -> Parted:
    result = judged(world, scenario)
    assert result.verdict is Verdict.FAIL
    assert result.parted is not None
    assert result.message == result.parted.detail
    return result.parted


def test_right_states_pass_and_are_counted(whole: AsideWorld) -> None:
    result = judged(whole)
    assert (result.verdict, result.reference) == (Verdict.PASS, "prefixes")
    # alpha: chunks end at 7, 14, 17, decode steps at 18 to 21; beta: at 7, 14, 21, 23, at 24 to 27.
    # 15 places, 2 layers, 2 parts; found at all of them but the last two.
    assert result.message == (
        "60 states within rounding, convolution.error 0 (limit 0.25); "
        "52 found bit for bit as the step before had left them"
    )
    assert result.counts == {
        "states_compared": 60,
        "states_left_out_no_prefix": 0,
        "states_left_out_digest_only": 0,
        "states_found_by_a_step": 52,
        "states_carried": 52,
        "states_carried_changed": 0,
        "states_restored": 0,
        "states_restored_changed": 0,
        "states_found_unknown": 0,
    }
    assert result.metrics == {"convolution.error": 0.0, "recurrent.error": 0.0}
    assert {name: (o.limit, o.origin) for name, o in result.limits.items()} == {
        "states_changed_between_steps": (0.0, "rule of the check"),
        "convolution.error": (0.25, "made"),
        "recurrent.error": (0.5, "made"),
    }
    assert result.parted is None


def test_every_scenario_whose_states_are_read_has_an_answer(whole: AsideWorld) -> None:
    (spec,) = checks_named(["state_equivalence"])
    found = {r.scenario: (r.verdict, r.reference) for r in spec.run(whole.evidence())}
    assert found == dict.fromkeys(SCENARIOS, (Verdict.PASS, "prefixes"))


@pytest.mark.parametrize("scenario", ["warm", "warm-2"])
def test_restored_states_are_compared_with_those_that_cold_saved(
    whole: AsideWorld, scenario: str
) -> None:
    # Two prompts go on from token 16, 2 layers, 2 parts; then 4 decode steps each.
    assert judged(whole, scenario).message == (
        "40 states within rounding, convolution.error 0 (limit 0.25); "
        "32 found bit for bit as the step before had left them, 8 as they were saved"
    )


def test_within_the_limit_the_tightest_part_is_told(whole: AsideWorld) -> None:
    wrong(whole, 0.125)
    wrong(whole, 0.375, part=RECURRENT)
    result = judged(whole)
    assert result.verdict is Verdict.PASS
    assert "recurrent.error 0.375 (limit 0.5, margin 1.33)" in result.message
    assert result.metrics["convolution.error"] == pytest.approx(0.125)


@pytest.mark.parametrize("part", [CONVOLUTION, RECURRENT])
@pytest.mark.parametrize(("position", "edge"), [(7, 1), (14, 2)])
def test_one_wrong_state_of_one_layer_fails_and_is_named(
    whole: AsideWorld, part: Part, position: int, edge: int
) -> None:
    wrong(whole, 0.75, request=1, position=position, index=1, part=part)
    parted = failed(whole)
    limit = {CONVOLUTION: "0.25", RECURRENT: "0.5"}[part]
    hit = {p: int(p is part) for p in Part}
    assert parted == Parted(
        how="differs",
        request=1,
        prompt="beta",
        position=position,
        edge=edge,
        layer="model.layers.2",
        index=1,
        kind="gdn_attn",
        part=part.value,
        error=0.75,
        found=f"relative error 0.75 (limit {limit})",
        spread=f"{hit[CONVOLUTION]} of 30 convolution and {hit[RECURRENT]} of 30 recurrent states "
        "are wrong, in 1 of 2 layers",
        detail=f"state differs first at token {position} of beta (edge {edge}), layer 1 "
        f"(model.layers.2), {part}: relative error 0.75 (limit {limit}); {hit[CONVOLUTION]} of 30 "
        f"convolution and {hit[RECURRENT]} of 30 recurrent states are wrong, in 1 of 2 layers",
    )


def test_the_first_edge_is_named_and_every_wrong_state_counted(whole: AsideWorld) -> None:
    wrong(whole, 0.9, position=14)
    wrong(whole, 0.3, request=1, index=1)
    wrong(whole, 0.6, position=17, part=RECURRENT)
    parted = failed(whole)
    assert (parted.prompt, parted.position, parted.index) == ("beta", 7, 1)
    assert parted.detail.endswith(
        "2 of 30 convolution and 1 of 30 recurrent states are wrong, in 2 of 2 layers"
    )


def test_a_part_within_its_own_limit_is_not_wrong_by_the_others(whole: AsideWorld) -> None:
    wrong(whole, 0.4, position=7, part=RECURRENT)  # limit 0.5
    wrong(whole, 0.4, position=14, part=CONVOLUTION)  # limit 0.25
    assert failed(whole).position == 14


def test_what_is_not_carried_comes_before_what_differs(whole: AsideWorld) -> None:
    wrong(whole, 0.9, position=7)
    off_by(whole.state("chunked@7", FOUND, 1, 21, 1, RECURRENT), 1e-6)
    result = judged(whole)
    assert result.parted is not None
    assert (result.parted.how, result.parted.position, result.parted.edge) == (
        "not carried",
        21,
        3,
    )
    broken = {name for name, o in result.limits.items() if not o.holds}
    assert broken == {"states_changed_between_steps", "convolution.error"}
    assert result.limits["states_changed_between_steps"].value == 1


def zeros(row: Row) -> Row:
    return held(row, np.zeros(3))


def nan(row: Row) -> Row:
    return held(row, [3.0, math.nan, 0.0])


def infinite(row: Row) -> Row:
    return held(row, [3.0, math.inf, 0.0])


def other(row: Row) -> Row:
    return held(row, SHAPES[CONVOLUTION])


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (zeros, "zeros"),
        (nan, "NaN or infinity"),
        (infinite, "NaN or infinity"),
        (other, "another state (norm 5, left with 575)"),  # 5 times 1 + 14 + 100
    ],
)
def test_what_the_step_found_instead_is_told(
    whole: AsideWorld, change: Callable[[Row], Row], what: str
) -> None:
    change(whole.state("chunked@7", FOUND, 1, 14))
    parted = failed(whole)
    assert (parted.how, parted.error) == ("not carried", None)
    assert parted.detail == (
        "state not carried first at token 14 of beta (edge 2), layer 0 (model.layers.0), "
        f"convolution: the step found {what}; 1 of 26 convolution and 0 of 26 recurrent states "
        "are wrong, in 1 of 2 layers"
    )


@pytest.mark.parametrize("change", [nan, infinite])
def test_nan_that_was_left_and_carried_differs(
    whole: AsideWorld, change: Callable[[Row], Row]
) -> None:
    for moment in (LEFT, FOUND):
        change(whole.state("chunked@7", moment, 0, 7))
    result = judged(whole)
    assert result.verdict is Verdict.FAIL and result.parted is not None
    assert (result.parted.how, result.parted.error) == ("differs", None)
    assert "convolution: NaN, infinity or another shape (limit 0.25); 1 of 30" in result.message
    assert result.metrics == {"recurrent.error": 0.0}
    assert result.limits["convolution.error"].value is None
    assert result.states[0].by_layer == {"model.layers.0": None, "model.layers.2": 0.0}


@pytest.mark.parametrize("scenario", ["warm", "warm-2"])
def test_a_restored_state_other_than_the_saved_one_is_not_restored(
    whole: AsideWorld, scenario: str
) -> None:
    other(whole.state(scenario, FOUND, 1, 16, index=1))
    parted = failed(whole, scenario)
    assert (parted.how, parted.edge, parted.prompt, parted.index) == ("not restored", 0, "beta", 1)
    # 5 times 1 + 16 + 100 + 1000
    assert parted.detail.startswith(
        "state not restored first at token 16 of beta (restored from the cache), layer 1 "
        "(model.layers.2), convolution: the step found another state (norm 5, left with 5.58e+03)"
    )


def test_a_state_saved_otherwise_is_not_restored_in_every_warm_scenario(
    whole: AsideWorld,
) -> None:
    off_by(whole.state("cold", LEFT, 0, 16, part=RECURRENT), 0.01)
    assert failed(whole, "warm").how == failed(whole, "warm-2").how == "not restored"
    assert judged(whole, "cold").verdict is Verdict.PASS


def test_what_cold_leaves_wrong_is_its_own_fault(whole: AsideWorld) -> None:
    for name, moment in (("cold", LEFT), ("warm", FOUND), ("warm-2", FOUND)):
        off_by(whole.state(name, moment, 0, 16, part=RECURRENT), 0.75)
    assert failed(whole, "cold").position == 16
    assert judged(whole, "warm").verdict is Verdict.PASS


def test_the_states_of_every_place_are_given_by_layer(whole: AsideWorld) -> None:
    wrong(whole, 0.125, index=1)
    states = judged(whole).states
    assert len(states) == 30  # 15 places, 2 parts
    first = states[0]
    assert (first.request, first.prompt, first.position, first.edge) == (0, "alpha", 7, 1)
    assert first.part == "convolution"
    assert first.by_layer == {"model.layers.0": 0.0, "model.layers.2": pytest.approx(0.125)}
    assert [(s.request, s.position) for s in states[::2]] == [
        *((0, p) for p in (7, 14, 17, 18, 19, 20, 21)),
        *((1, p) for p in (7, 14, 21, 23, 24, 25, 26, 27)),
    ]


def test_of_several_workers_each_ones_states_are_judged() -> None:
    world = AsideWorld(ranks=2)
    result = judged(world)
    assert result.verdict is Verdict.PASS
    assert (result.counts["states_compared"], result.counts["states_found_by_a_step"]) == (120, 104)
    wrong(world, 0.75, rank=1)
    result = judged(world)
    assert result.verdict is Verdict.FAIL
    assert "1 of 60 convolution and 0 of 60 recurrent" in result.message
    assert result.states[0].by_layer["model.layers.0"] == pytest.approx(0.75)


def drop(world: AsideWorld, scenario: str, gone: Callable[[Row], bool]) -> None:
    world.states[scenario] = [row for row in world.states[scenario] if not gone(row)]


@pytest.mark.parametrize("scenario", ["warm", "warm-2"])
def test_without_a_restored_state_warm_is_vacuous(whole: AsideWorld, scenario: str) -> None:
    drop(whole, scenario, lambda row: row["edge"] == 0)
    result = judged(whole, scenario)
    assert (result.verdict, result.message) == (
        Verdict.VACUOUS,
        "no restored state was read: use prompts longer than a block",
    )


def test_restored_states_that_nobody_was_seen_to_save_are_vacuous(whole: AsideWorld) -> None:
    drop(whole, "cold", lambda row: row["position"] == 16)
    result = judged(whole, "warm")
    assert result.verdict is Verdict.VACUOUS
    assert result.counts["states_found_unknown"] == 8


def test_without_a_state_at_an_edge_chunked_is_vacuous(whole: AsideWorld) -> None:
    """What decode steps find is no chunk's edge."""
    edges = (7, 14, 21)
    drop(whole, "chunked@7", lambda r: r["moment"] == FOUND.value and r["position"] in edges)
    result = judged(whole)
    assert (result.verdict, result.message) == (
        Verdict.VACUOUS,
        "no state was read at a chunk's edge: use longer prompts or a smaller budget",
    )
    assert result.counts["states_found_by_a_step"] == 32


def test_full_and_cold_need_no_edge(whole: AsideWorld) -> None:
    for name in ("full", "cold"):
        drop(whole, name, lambda row: row["moment"] == FOUND.value)
        assert judged(whole, name).verdict is Verdict.PASS


def test_states_without_a_prefix_are_counted_and_alone_vacuous(whole: AsideWorld) -> None:
    drop(whole, "prefixes", lambda row: row["position"] == 7)
    result = judged(whole)
    assert result.verdict is Verdict.PASS
    assert (result.counts["states_compared"], result.counts["states_left_out_no_prefix"]) == (52, 8)
    drop(whole, "prefixes", lambda row: True)
    result = judged(whole)
    assert result.verdict is Verdict.VACUOUS
    assert "no state could be compared: 60 are at positions where no prefix" in result.message
    assert result.states == ()


@pytest.mark.parametrize("scenario", ["chunked@7", "prefixes"])
def test_digests_without_numbers_are_counted_and_alone_vacuous(
    whole: AsideWorld, scenario: str
) -> None:
    for row in whole.found(scenario, LEFT, 1, 14):
        row["data"] = None
    result = judged(whole)
    assert result.verdict is Verdict.PASS
    assert result.counts["states_compared"] == 56
    assert result.counts["states_left_out_digest_only"] == 4
    for row in whole.states[scenario]:
        row["data"] = None
    result = judged(whole)
    assert result.verdict is Verdict.VACUOUS
    assert "60 left a digest alone: raise states.gib" in result.message


def test_digests_tell_what_was_carried_without_any_number(whole: AsideWorld) -> None:
    for row in whole.states["chunked@7"]:
        row["data"] = None
    whole.state("chunked@7", FOUND, 0, 7)["digest"] = "0"
    assert failed(whole).how == "not carried"


def limits(world: AsideWorld, **limits: float) -> None:
    made = {f"state.{part}": Limit(limit=v, origin="made") for part, v in limits.items()}
    world.profile = world.profile.model_copy(update={"limits": {"bfloat16": made}})


def test_a_part_without_a_limit_is_vacuous(whole: AsideWorld) -> None:
    limits(whole, convolution=0.25)
    result = judged(whole)
    assert (result.verdict, result.message) == (
        Verdict.VACUOUS,
        "the profile has no limit state.recurrent",
    )


def test_a_profile_without_limits_for_the_dtype_is_vacuous(whole: AsideWorld) -> None:
    whole.engines["plain"] = EngineSettings({}, {"dtype": "float16"})
    result = judged(whole)
    assert (result.verdict, result.message) == (
        Verdict.VACUOUS,
        "the profile has no limits for dtype float16",
    )


def test_without_limits_a_state_that_was_not_carried_still_fails(whole: AsideWorld) -> None:
    limits(whole)
    zeros(whole.state("chunked@7", FOUND, 1, 14))
    assert failed(whole).how == "not carried"


def in_dtype(world: AsideWorld, dtype: str) -> None:
    """Every state in another dtype; 0.75 off at the first edge."""
    for rows in world.states.values():
        for row in rows:
            by = scale(row["request"], row["position"], row["index"], row["rank"])
            held(row, np.array(SHAPES[Part(row["part"])]) * by, dtype)
    for moment in (LEFT, FOUND):
        row = world.state("chunked@7", moment, 0, 7)
        held(row, np.array((3.0, 4.0, 3.75)) * 8, dtype)


@pytest.mark.parametrize(
    ("state", "activations", "factor"),
    [
        ("bfloat16", "float16", 8),  # 8 bits of fraction against 11
        ("float16", "float32", 8192),
        ("bfloat16", "bfloat16", 1),
        ("float32", "bfloat16", 1),
        ("float16", "bfloat16", 1),
    ],
)
def test_a_state_kept_more_coarsely_than_the_activations_is_given_its_own_rounding(
    whole: AsideWorld, state: str, activations: str, factor: int
) -> None:
    in_dtype(whole, state)
    whole.settings["chunked@7"]["logits_dtype"] = activations
    result = judged(whole)
    limit = result.limits["convolution.error"]
    assert limit.limit == 0.25 * factor
    assert result.verdict is (Verdict.FAIL if factor == 1 else Verdict.PASS)
    expected = "made" if factor == 1 else f"made, times {factor:.3g} for states in {state}"
    assert limit.origin == expected


@pytest.mark.parametrize("known", [True, None])
def test_a_model_without_state_layers_has_no_answer(whole: AsideWorld, known: bool | None) -> None:
    (spec,) = checks_named(["state_equivalence"])
    whole.linear_attention = known
    assert len(spec.run(whole.evidence())) == 5
    whole.linear_attention = False
    assert spec.run(whole.evidence()) == []


def test_no_scenario_with_states_is_vacuous(world: "World") -> None:
    result = world.judge("state_equivalence", "prefixes")
    assert (result.verdict, result.message) == (
        Verdict.VACUOUS,
        "no scenario was planned whose states are read",
    )


ENDS = [
    (Status.CRASHED, Verdict.FAIL),
    (Status.TIMED_OUT, Verdict.FAIL),
    (Status.UNSUPPORTED, Verdict.UNSUPPORTED),
    (Status.NOT_RUN, Verdict.VACUOUS),
    (Status.ERROR, Verdict.ERROR),
]


@pytest.mark.parametrize(("status", "verdict"), ENDS)
@pytest.mark.parametrize("ended", ["chunked@7", "prefixes"])
def test_the_end_of_the_scenario_or_of_the_prefixes_is_the_verdict(
    whole: AsideWorld, ended: str, status: Status, verdict: Verdict
) -> None:
    whole.end(ended, status, "SIGSEGV")
    result = judged(whole)
    assert (result.verdict, result.message) == (verdict, f"{ended} {status}: SIGSEGV")
    assert result.reference == "prefixes"


def test_a_reference_that_crashed_is_an_error_for_everything_on_it(whole: AsideWorld) -> None:
    whole.end("full", Status.CRASHED, "SIGSEGV")
    whole.end("chunked@7", Status.NOT_RUN)
    result = judged(whole)
    assert result.verdict is Verdict.ERROR and "the reference full crashed" in result.message


@pytest.mark.parametrize("bent", ["chunked@7", "prefixes"])
def test_an_unproven_scenario_is_vacuous(whole: AsideWorld, bent: str) -> None:
    whole.settings[bent]["prefix_caching"] = True
    result = judged(whole)
    assert result.verdict is Verdict.VACUOUS
    assert result.message.startswith(f"{bent}: proof prefix_caching does not hold")


@pytest.mark.parametrize("lost", ["chunked@7", "prefixes"])
def test_states_that_are_not_there_are_an_error(whole: AsideWorld, lost: str) -> None:
    del whole.states[lost]
    result = judged(whole)
    assert (result.verdict, result.message) == (
        Verdict.ERROR,
        f"the states of {lost} are not there: run the scenario again",
    )
