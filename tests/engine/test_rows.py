"""From made-up engine outputs to rows, worked out by hand."""

from types import SimpleNamespace
from typing import Any

import pytest

from linattn_verify.configs.legs import Leg
from linattn_verify.engine.passes import Ask
from linattn_verify.engine.rows import Row, RowMaker, record_of
from linattn_verify.traces.schema import RequestRecord, Slice

PROMPT = (50, 51, 52, 53, 54, 55, 56, 57, 58)  # nine tokens
OUTPUT = (60, 61, 62)


def entry(logprob: float, rank: int) -> SimpleNamespace:
    return SimpleNamespace(logprob=logprob, rank=rank)


def alternatives(token: int) -> dict[int, SimpleNamespace]:
    """The chosen token first, as vLLM gives it, although it is the third most likely."""
    return {token: entry(-3.0, 3), 7: entry(-0.5, 1), 8: entry(-1.5, 2), 9: entry(-4.0, 4)}


def output(
    prompt: tuple[int, ...] = PROMPT, generated: tuple[int, ...] = OUTPUT
) -> SimpleNamespace:
    completion = SimpleNamespace(
        token_ids=list(generated),
        logprobs=[alternatives(t) for t in generated],
        finish_reason="length",
    )
    scored = [None, *(alternatives(t) for t in prompt[1:])]
    return SimpleNamespace(prompt_logprobs=scored, outputs=[completion], num_cached_tokens=None)


def ask(leg: Leg = Leg.DECODE, **changes: Any) -> Ask:
    values: dict[str, Any] = {"prompt_logprobs": True, "forced": OUTPUT}
    return Ask(2, leg, PROMPT, 3, **{**values, **changes})


def made(
    one: Ask, slices: list[tuple[int, int, int]], cached: int = 0, made_of: Any = None
) -> list[Row]:
    """Rows for slices given as (step, start, tokens)."""
    out = made_of or output()
    out.num_cached_tokens = cached
    record = record_of(one, out, [Slice(step=a, start=b, tokens=c) for a, b, c in slices])
    return list(RowMaker(3, lambda token: f"<{token}>").rows(one, out, record))


def column(rows: list[Row], leg: Leg, name: str) -> list[Any]:
    return [row[name] for row in rows if row["leg"] == leg.value]


CHUNKS = [(0, 0, 4), (1, 4, 4), (3, 8, 1), (4, 9, 1), (5, 10, 1)]


def test_the_record_says_what_was_done() -> None:
    out = output()
    out.num_cached_tokens = 5
    record = record_of(ask(), out, [Slice(step=0, start=0, tokens=9)])
    assert record == RequestRecord(
        request=2,
        leg=Leg.DECODE,
        prompt_tokens=9,
        output_tokens=3,
        cached_tokens=5,
        slices=(Slice(step=0, start=0, tokens=9),),
        finish_reason="length",
    )


def test_an_engine_that_says_nothing_of_its_cache_has_cached_nothing() -> None:
    assert record_of(ask(), output(), []).cached_tokens == 0


def test_a_row_for_every_token_but_the_first() -> None:
    rows = made(ask(), CHUNKS)
    assert column(rows, Leg.PROMPT, "position") == [1, 2, 3, 4, 5, 6, 7, 8]
    assert column(rows, Leg.PROMPT, "token") == list(PROMPT[1:])
    assert column(rows, Leg.DECODE, "position") == [9, 10, 11]
    assert column(rows, Leg.DECODE, "token") == list(OUTPUT)
    assert {row["request"] for row in rows} == {2}
    assert rows[0]["text"] == "<51>"
    assert not any(row["cached"] for row in rows)


def test_a_row_belongs_to_the_chunk_that_computed_it() -> None:
    """Position p is computed from token p - 1: chunks of 4, 4 and 1, then two decode steps."""
    rows = made(ask(), CHUNKS)
    assert column(rows, Leg.PROMPT, "chunk") == [0, 0, 0, 0, 1, 1, 1, 1]
    assert column(rows, Leg.PROMPT, "step") == [0, 0, 0, 0, 1, 1, 1, 1]
    assert column(rows, Leg.PROMPT, "edge_distance") == [None] * 4 + [0, 1, 2, 3]
    # The last prompt token stands alone behind the edge at 8; decode steps draw no edge.
    assert column(rows, Leg.DECODE, "chunk") == [2, 3, 4]
    assert column(rows, Leg.DECODE, "step") == [3, 4, 5]
    assert column(rows, Leg.DECODE, "edge_distance") == [0, 1, 2]


def test_without_chunks_there_is_no_edge() -> None:
    rows = made(ask(), [(0, 0, 9), (1, 9, 1), (2, 10, 1)])
    assert {row["edge_distance"] for row in rows} == {None}
    assert column(rows, Leg.PROMPT, "chunk") == [0] * 8
    assert column(rows, Leg.DECODE, "chunk") == [0, 1, 2]


def test_a_restored_prefix_is_an_edge_and_its_positions_are_cached() -> None:
    rows = made(ask(), [(0, 5, 4), (1, 9, 1), (2, 10, 1)], cached=5)
    # tokens 0 to 4 came from the cache: rows 1 to 5 would have been computed from them
    assert column(rows, Leg.PROMPT, "cached") == [True] * 5 + [False] * 3
    assert column(rows, Leg.PROMPT, "edge_distance") == [None] * 5 + [0, 1, 2]
    assert column(rows, Leg.PROMPT, "chunk") == [None] * 5 + [0, 0, 0]
    assert column(rows, Leg.DECODE, "edge_distance") == [3, 4, 5]
    assert column(rows, Leg.DECODE, "cached") == [False] * 3


def test_a_cached_position_has_no_values_even_where_the_engine_returned_some() -> None:
    rows = made(ask(), [(0, 5, 4), (1, 9, 1), (2, 10, 1)], cached=5)
    for row in rows[:5]:
        assert (row["logprob"], row["rank"], row["step"]) == (None, None, None)
        assert (row["top_tokens"], row["top_logprobs"]) == ([], [])
    assert rows[5]["logprob"] == -3.0


def test_a_prefix_restored_and_then_cut() -> None:
    rows = made(ask(), [(0, 4, 3), (1, 7, 2), (2, 9, 1), (3, 10, 1)], cached=4)
    assert column(rows, Leg.PROMPT, "edge_distance") == [None] * 4 + [0, 1, 2, 0]
    assert column(rows, Leg.PROMPT, "chunk") == [None] * 4 + [0, 0, 0, 1]
    assert column(rows, Leg.DECODE, "edge_distance") == [1, 2, 3]


def test_alternatives_are_in_order_and_the_k_most_likely() -> None:
    row = made(ask(), CHUNKS)[0]
    assert row["top_tokens"] == [7, 8, 51]
    assert row["top_logprobs"] == [-0.5, -1.5, -3.0]
    assert (row["logprob"], row["rank"]) == (-3.0, 3)


def test_the_chosen_token_keeps_its_logprob_where_it_is_not_among_the_k() -> None:
    out = output()
    out.outputs[0].logprobs[0] = {
        60: entry(-9.0, 17), 7: entry(-1.0, 1), 8: entry(-2.0, 2), 9: entry(-3.0, 3)
    }  # fmt: skip
    row = next(r for r in made(ask(), CHUNKS, made_of=out) if r["leg"] == "decode")
    assert row["top_tokens"] == [7, 8, 9]
    assert (row["logprob"], row["rank"]) == (-9.0, 17)


@pytest.mark.parametrize("missing", ["none", "short"], ids=["no-entry", "list-ends-early"])
def test_a_position_that_the_engine_left_out_is_empty_and_not_called_cached(missing: str) -> None:
    out = output()
    if missing == "none":
        out.prompt_logprobs[8] = None
    else:
        del out.prompt_logprobs[8:]
    rows = [r for r in made(ask(), CHUNKS, made_of=out) if r["leg"] == "prompt"]
    assert len(rows) == 8
    assert (rows[7]["logprob"], rows[7]["top_tokens"], rows[7]["cached"]) == (None, [], False)


def test_the_references_free_output_is_both_legs() -> None:
    rows = made(ask(Leg.FREE, forced=None), [(0, 0, 9), (1, 9, 1), (2, 10, 1)])
    legs = [row["leg"] for row in rows]
    assert legs == ["prompt"] * 8 + ["decode"] * 3 + ["free"] * 3
    decode, free = (
        [r | {"leg": ""} for r in rows if r["leg"] == leg] for leg in ("decode", "free")
    )
    assert decode == free


def test_a_candidates_free_output_is_the_free_leg_alone() -> None:
    rows = made(ask(Leg.FREE, forced=None, prompt_logprobs=False), CHUNKS)
    assert {row["leg"] for row in rows} == {"free"}
    assert len(rows) == 3


def test_a_cut_yields_its_next_token_alone() -> None:
    cut = Ask(2, Leg.CUT, PROMPT[:6], 1, forced=(56,), read_cache=True)
    (row,) = made(cut, [(0, 4, 2)], cached=4, made_of=output(PROMPT[:6], (56,)))
    assert (row["leg"], row["position"], row["token"]) == ("cut", 6, 56)
    assert (row["chunk"], row["edge_distance"], row["cached"]) == (0, 1, False)


def test_tokens_without_logprobs_are_an_error() -> None:
    out = output()
    out.outputs[0].logprobs.pop()
    with pytest.raises(ValueError, match="zip"):
        made(ask(), CHUNKS, made_of=out)
