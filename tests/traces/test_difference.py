"""Bit for bit: which row differs first, and how many do."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from linattn_verify.traces.difference import Difference, first_difference, non_finite
from linattn_verify.traces.store import frame_of

Row = dict[str, object]
CACHED: dict[str, Any] = {
    **{"logprob": None, "rank": None, "top_tokens": [], "top_logprobs": []},
    **{"step": None, "chunk": None, "edge_distance": None, "cached": True},
}
UP = float(np.nextafter(np.float32(-1.25), np.float32(0)))
"""-1.25 with its last bit changed: 2^-23 away."""


def row(request: int, position: int, leg: str = "prompt", **changes: Any) -> Row:
    values: Row = {
        **{"request": request, "leg": leg, "position": position, "token": 70 + position},
        **{"text": "x", "logprob": -1.25, "rank": 1, "top_tokens": [70 + position, 5]},
        **{"top_logprobs": [-1.25, -3.5], "step": 2, "chunk": 1, "edge_distance": 3},
        **{"cached": False},
    }
    return {**values, **changes}


def rows() -> list[Row]:
    """Two requests, two legs; the first two positions of request 0 come from the cache."""
    return [
        *(row(0, p, **CACHED) for p in (1, 2)),
        *(row(0, p) for p in (3, 4)),
        row(0, 5, "decode"),
        *(row(1, p) for p in (1, 2, 3)),
        row(1, 4, "decode"),
    ]


def differ(change: Callable[[list[Row]], object], reference: Any = None) -> Difference | None:
    """The first difference, once the candidate has been changed."""
    candidate = rows()
    change(candidate)
    return first_difference(frame_of(reference or rows()), frame_of(candidate))


def found(change: Callable[[list[Row]], object]) -> Difference:
    difference = differ(change)
    assert difference is not None
    return difference


def place(difference: Difference) -> tuple[int, int, str]:
    return difference.request, difference.position, difference.leg


def test_the_same_rows_do_not_differ() -> None:
    assert differ(lambda rows: None) is None


def test_the_order_of_rows_does_not_matter() -> None:
    assert differ(lambda rows: rows.reverse()) is None


def test_one_bit_of_a_log_probability_is_a_difference() -> None:
    difference = found(lambda rows: rows[3].update(logprob=UP))
    assert difference == Difference(
        request=0,
        leg="prompt",
        position=4,
        chunk=1,
        edge_distance=3,
        reference_logprob=-1.25,
        candidate_logprob=UP,
        rows=1,
        compared=9,
        nan=0,
    )


def test_minus_zero_is_another_bit() -> None:
    reference = [row(0, 1, logprob=0.0)]
    assert first_difference(frame_of(reference), frame_of([row(0, 1, logprob=-0.0)])) is not None


def test_nan_in_the_candidate_is_a_difference_and_counted() -> None:
    def poison(rows: list[Row]) -> None:
        for each in rows[5:8]:
            each.update(logprob=math.nan)

    difference = found(poison)
    assert place(difference) == (1, 1, "prompt")
    assert (difference.reference_logprob, difference.candidate_logprob) == (-1.25, None)
    assert (difference.rows, difference.nan) == (3, 3)


def test_nan_on_both_sides_is_none_but_is_counted() -> None:
    reference = rows()
    reference[6].update(logprob=math.nan)
    assert differ(lambda rows: rows[6].update(logprob=math.nan), reference) is None
    assert non_finite(frame_of(reference)) == 1


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"token": 8}, (1, 2, "prompt")),
        ({"rank": 2}, (1, 2, "prompt")),
        ({"rank": None}, (1, 2, "prompt")),
        ({"top_tokens": [72, 6]}, (1, 2, "prompt")),
        ({"top_tokens": [5, 72]}, (1, 2, "prompt")),
        ({"top_tokens": [72]}, (1, 2, "prompt")),
        ({"top_logprobs": [-1.25, -3.5000002]}, (1, 2, "prompt")),
        ({"top_logprobs": [-1.25, math.nan]}, (1, 2, "prompt")),
        ({"top_logprobs": None}, (1, 2, "prompt")),
        ({"cached": True}, (1, 2, "prompt")),
    ],
    ids=[
        *("token", "rank", "no-rank", "alternative", "order", "fewer", "alternatives-bit"),
        *("alternatives-nan", "no-alternatives", "cached"),
    ],
)
def test_everything_that_was_computed_counts(
    change: dict[str, object], expected: tuple[int, int, str]
) -> None:
    difference = found(lambda rows: rows[6].update(change))
    assert place(difference) == expected
    assert difference.rows == 1


@pytest.mark.parametrize("change", [{"step": 9}, {"chunk": 0}, {"edge_distance": 1}])
def test_where_it_was_computed_does_not(change: dict[str, object]) -> None:
    assert differ(lambda rows: rows[6].update(change)) is None


def test_a_missing_row_is_a_difference() -> None:
    difference = found(lambda rows: rows.pop(7))
    assert place(difference) == (1, 3, "prompt")
    assert (difference.reference_logprob, difference.candidate_logprob) == (-1.25, None)
    assert (difference.chunk, difference.rows, difference.compared) == (None, 1, 9)
    assert difference.nan == 0


def test_an_extra_row_is_a_difference() -> None:
    difference = found(lambda rows: rows.append(row(1, 4)))
    assert place(difference) == (1, 4, "prompt")
    assert (difference.reference_logprob, difference.candidate_logprob) == (None, -1.25)
    assert (difference.rows, difference.compared) == (1, 10)


def test_legs_that_the_candidate_has_not_are_left_out() -> None:
    reference = [*rows(), row(0, 5, "free"), row(1, 4, "free", logprob=-9.0)]
    assert differ(lambda rows: None, reference) is None
    difference = differ(lambda rows: rows[8].update(logprob=UP), reference)
    assert difference is not None and (place(difference), difference.compared) == (
        (1, 4, "decode"),
        9,
    )


def test_the_first_is_by_request_then_position() -> None:
    def change(rows: list[Row]) -> None:
        for index in (5, 4, 3):  # request 1 position 1; request 0 positions 5 and 4
            rows[index].update(logprob=-2.0)
        rows.reverse()

    difference = found(change)
    assert place(difference) == (0, 4, "prompt")
    assert difference.rows == 3


def test_positions_are_numbers_not_words() -> None:
    reference = [row(0, p) for p in (9, 10)]
    candidate = [row(0, p, logprob=UP) for p in (9, 10)]
    difference = first_difference(frame_of(reference), frame_of(candidate))
    assert difference is not None and difference.position == 9


def test_a_cached_position_is_not_non_finite_and_every_other_without_a_number_is() -> None:
    values = [math.nan, math.inf, -math.inf, None, -0.5]
    made = [row(0, i, logprob=value) for i, value in enumerate(values)]
    assert non_finite(frame_of([*made, row(0, 7, **CACHED)])) == 4
    assert non_finite(frame_of([])) == 0


def test_without_rows_there_is_nothing_to_differ() -> None:
    assert first_difference(frame_of([]), frame_of([])) is None
    assert first_difference(frame_of(rows()), frame_of([])) is None
