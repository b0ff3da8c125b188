"""What each scenario submits."""

from collections.abc import Sequence
from typing import Any, Literal

import pytest

from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Scenario
from linattn_verify.engine.messages import Prefix, Run, States
from linattn_verify.engine.passes import Ask, Pass, cut_points, passes

BLOCK = 8
PROMPTS = (tuple(range(100, 121)), tuple(range(200, 209)), tuple(range(300, 313)))  # 21, 9, 13
FORCED = ((1, 2, 3), (4, 5, 6), (7, 8, 9))
WHOLE = (Leg.PROMPT, Leg.DECODE, Leg.FREE)


def run(
    kind: Kind, legs: tuple[Leg, ...] = WHOLE, of: dict[str, Any] | None = None, **changes: Any
) -> Run:
    """`of`: fields of the scenario."""
    made = {"name": kind.value, "kind": kind, "budget": 7, "legs": legs}
    reference = None if kind is Kind.FULL else "full"
    scenario = Scenario.model_validate({**made, "reference": reference, **(of or {})})
    values: dict[str, Any] = {
        "scenario": scenario,
        "prompts": PROMPTS,
        "forced": None if kind is Kind.FULL else FORCED,
        "decode_tokens": 3,
        "top_k": 5,
        "cut_offsets": (1, 3, "half", "block"),
        "trace": "unused",
    }
    return Run(**{**values, **changes})


def cold() -> list[Pass]:
    return passes(run(Kind.COLD), BLOCK)


def warm() -> list[Pass]:
    return passes(run(Kind.WARM, (*WHOLE, Leg.CUT)), BLOCK)


Offsets = Sequence[int | Literal["half", "block"]]
CUTS: dict[str, tuple[int, int, Offsets, list[int]]] = {
    # boundaries 8 and 16; 16 + 8 is beyond a prompt of 21
    "around-and-between": (21, 8, (1, "half", "block"), [9, 12, 16, 17, 20]),
    "a-token-follows-the-longest": (18, 8, (1, 2), [9, 10, 17]),
    "none-at-or-beyond-the-end": (17, 8, (1, 2), [9, 10]),
    "half-of-an-odd-block": (16, 7, ("half",), [10]),
    "the-same-cut-once": (15, 7, (3, "half"), [10]),
    "no-offset-beyond-a-block": (99, 50, (49, 50, 51), []),
    "not-before-the-boundary": (99, 50, (0, -1, 48), [98]),
    "prompt-of-one-block": (8, 8, (1, "block"), []),
    "shorter-than-a-block": (5, 8, (1,), []),
    "nothing-in-half-a-token": (4, 1, ("half", "block"), [2, 3]),
}


@pytest.mark.parametrize(("length", "block", "offsets", "expected"), CUTS.values(), ids=CUTS.keys())
def test_cut_points(length: int, block: int, offsets: Offsets, expected: list[int]) -> None:
    assert cut_points(length, block, offsets) == expected


def test_the_reference_generates_freely_in_one_pass() -> None:
    (only,) = passes(run(Kind.FULL), BLOCK)
    assert [ask.token_ids for ask in only.asks] == list(PROMPTS)
    for ask in only.asks:
        assert (ask.leg, ask.forced, ask.prompt_logprobs) == (Leg.FREE, None, True)
        assert (ask.salt, ask.read_cache, ask.max_tokens) == (None, False, 3)


def test_a_chunked_scenario_is_forced_along_the_reference_then_runs_free() -> None:
    forced, free = passes(run(Kind.CHUNKED), BLOCK)
    assert [(a.leg, a.forced, a.prompt_logprobs) for a in forced.asks] == [
        (Leg.DECODE, tokens, True) for tokens in FORCED
    ]
    assert [(a.leg, a.forced, a.prompt_logprobs) for a in free.asks] == [
        (Leg.FREE, None, False)
    ] * 3
    assert not any(a.read_cache or a.salt for a in (*forced.asks, *free.asks))


def test_only_the_legs_asked_for_are_served() -> None:
    (only,) = passes(run(Kind.CHUNKED, (Leg.FREE,)), BLOCK)
    assert {a.leg for a in only.asks} == {Leg.FREE}
    (forced,) = passes(run(Kind.CHUNKED, (Leg.PROMPT, Leg.DECODE)), BLOCK)
    assert {a.leg for a in forced.asks} == {Leg.DECODE}


def salts(found: list[Pass], leg: Leg) -> list[str | None]:
    return [ask.salt for one in found for ask in one.asks if ask.leg is leg]


def test_a_second_round_finds_nothing_of_the_first() -> None:
    small = run(Kind.COLD, (Leg.PROMPT, Leg.DECODE), {"tight": True})
    rounds = [salts(passes(small, BLOCK, number), Leg.DECODE) for number in range(3)]
    assert len({salt for one in rounds for salt in one}) == 3 * len(PROMPTS)


def test_no_two_requests_of_a_cold_scenario_share_a_salt_but_a_ladders_own() -> None:
    found = cold()
    whole = salts(found, Leg.DECODE) + salts(found, Leg.FREE)
    ladder = {(a.request, a.salt) for p in found for a in p.asks if a.leg is Leg.CUT}
    every = [*whole, *(salt for _, salt in ladder)]
    assert len(whole) == 6
    assert None not in every
    assert len(set(every)) == len(every)


def test_a_warm_scenario_finds_its_own_requests_again() -> None:
    first, second = cold(), warm()
    for leg in (Leg.DECODE, Leg.FREE):
        assert salts(first, leg) == salts(second, leg)
    by_ladder = {a.request: a.salt for p in first for a in p.asks if a.leg is Leg.CUT}
    for ask in second[-1].asks:
        assert ask.salt == by_ladder[ask.request]
    assert all(a.read_cache for p in (*first, *second) for a in p.asks)


def test_the_ladder_ends_a_token_after_every_block_boundary() -> None:
    rungs = cold()[2:]
    assert [[(a.request, len(a.token_ids)) for a in rung.asks] for rung in rungs] == [
        [(0, 9), (2, 9)],  # the prompt of 9 ends there itself, and is never cut
        [(0, 17)],
    ]
    for ask in (a for rung in rungs for a in rung.asks):
        assert ask.token_ids == PROMPTS[ask.request][: len(ask.token_ids)]
        assert (ask.record, ask.max_tokens, ask.forced) == (False, 1, None)


def test_every_boundary_before_a_cut_has_a_rung() -> None:
    rungs = {(a.request, len(a.token_ids) - 1) for p in cold()[2:] for a in p.asks}
    for ask in warm()[-1].asks:
        boundary = (len(ask.token_ids) - 1) // BLOCK * BLOCK
        assert (ask.request, boundary) in rungs


def test_each_cut_asks_for_the_prompts_own_next_token() -> None:
    cuts = warm()[-1].asks
    assert [(a.request, len(a.token_ids)) for a in cuts] == [
        *((0, 9), (0, 11), (0, 12), (0, 16), (0, 17), (0, 19), (0, 20)),
        *((2, 9), (2, 11), (2, 12)),
    ]
    for ask in cuts:
        prompt, end = PROMPTS[ask.request], len(ask.token_ids)
        assert ask.token_ids == prompt[:end]
        assert ask.forced == (prompt[end],)
        assert (ask.leg, ask.max_tokens, ask.record) == (Leg.CUT, 1, True)


def test_prompts_below_a_block_leave_no_empty_pass() -> None:
    short: dict[str, Any] = {"prompts": ((1, 2, 3), (4, 5)), "forced": ((1,), (2,))}
    assert len(passes(run(Kind.COLD, **short), BLOCK)) == 2
    assert len(passes(run(Kind.WARM, (*WHOLE, Leg.CUT), **short), BLOCK)) == 2


def test_tokens_of_a_pass() -> None:
    asks = (Ask(0, Leg.FREE, (1, 2, 3), 4), Ask(1, Leg.FREE, (1,), 6))
    assert Pass(asks).tokens() == 14


READ: dict[str, Any] = {"states": States(path="unused", requests=(0, 2), most_bytes=9)}


def marked(found: list[Pass]) -> list[list[bool]]:
    return [[ask.states for ask in one.asks] for one in found]


def test_states_are_read_of_some_requests_in_the_first_pass_alone() -> None:
    some, none = [True, False, True], [False] * 3
    assert marked(passes(run(Kind.FULL, **READ), BLOCK)) == [some]
    assert marked(passes(run(Kind.CHUNKED, **READ), BLOCK)) == [some, none]
    # a ladder of two rungs; a pass of ten cuts
    assert marked(passes(run(Kind.COLD, **READ), BLOCK)) == [some, none, [False] * 2, [False]]
    warm = run(Kind.WARM, (*WHOLE, Leg.CUT), **READ)
    assert marked(passes(warm, BLOCK)) == [some, none, [False] * 10]


def test_without_a_wish_no_state_is_read() -> None:
    assert not any(ask.states for one in (*cold(), *warm()) for ask in one.asks)


def test_prefixes_are_served_at_once_each_for_its_state_alone() -> None:
    # 21 tokens of prompt 0; 9 of prompt 1 and two of the three that followed
    wanted = tuple(Prefix(request=r, position=p) for r, p in ((0, 8), (0, 21), (1, 11)))
    (only,) = passes(run(Kind.PREFIX, (Leg.PREFIX,), prefixes=wanted, **READ), BLOCK)
    assert [(a.request, a.token_ids) for a in only.asks] == [
        (0, PROMPTS[0][:8]),
        (0, PROMPTS[0]),
        (1, (*PROMPTS[1], 4, 5)),
    ]
    for ask in only.asks:
        assert (ask.leg, ask.max_tokens, ask.forced, ask.salt) == (Leg.PREFIX, 1, None, None)
        assert (ask.states, ask.record, ask.read_cache, ask.prompt_logprobs) == (
            *(True, True, False, False),
        )


@pytest.mark.parametrize(
    "aside",
    [{"twin": "cold"}, {"tight": True}, {"twin": "cold-tight", "tight": True}],
    ids=["twin", "tight", "both"],
)
def test_a_cold_scenario_for_one_check_alone_builds_no_ladder(aside: dict[str, Any]) -> None:
    """Nobody goes on from its boundaries."""
    legs = (Leg.PROMPT, Leg.DECODE)
    (only,) = passes(run(Kind.COLD, legs, of=aside), BLOCK)
    assert only == cold()[0]


def test_a_twin_of_warm_finds_what_the_twin_of_cold_saved() -> None:
    legs = (Leg.PROMPT, Leg.DECODE)
    (first,) = passes(run(Kind.COLD, legs, of={"twin": "cold"}), BLOCK)
    (second,) = passes(run(Kind.WARM, legs, of={"twin": "warm"}), BLOCK)
    assert first == second


def test_the_twin_of_the_reference_is_forced_along_nothing_either() -> None:
    assert passes(run(Kind.FULL, of={"twin": "full", "reference": "full"}), BLOCK) == passes(
        run(Kind.FULL), BLOCK
    )


def test_the_reference_again_submits_the_same_requests_the_other_way_round() -> None:
    (again,) = passes(run(Kind.AGAIN, (Leg.PROMPT, Leg.DECODE)), BLOCK)
    assert [(a.request, a.token_ids, a.forced) for a in again.asks] == [
        (i, PROMPTS[i], FORCED[i]) for i in (2, 1, 0)
    ]
    assert all(a.prompt_logprobs and not a.read_cache for a in again.asks)
