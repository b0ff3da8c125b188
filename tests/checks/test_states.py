"""Relative errors of states, and states found against states left."""

import math
from collections.abc import Sequence

import pytest

from linattn_verify.checks.states import carried, equivalence
from linattn_verify.traces.states import Moment, Part
from tests.checks.state_rows import Row, every_state, frame, held, off_by, state_row

LEFT, FOUND = Moment.LEFT, Moment.FOUND
NAN, INF = math.nan, math.inf

ERRORS: dict[str, tuple[Sequence[float], Sequence[float], float]] = {
    "the-same": ((3, 4, 0), (3, 4, 0), 0.0),
    "one-element": ((3, 4, 2.5), (3, 4, 0), 0.5),
    "lost": ((0, 0, 0), (3, 4, 0), 1.0),
    "of-the-other-sign": ((-3, -4, 0), (3, 4, 0), 2.0),
    "relative-to-the-prefix": ((6, 8, 0), (3, 4, 0), 1.0),
    "both-zero": ((0, 0, 0), (0, 0, 0), 0.0),
    "something-for-zero": ((0, 1e-30, 0), (0, 0, 0), INF),
    "nan": ((3, NAN, 0), (3, 4, 0), INF),
    "nan-in-the-prefix": ((3, 4, 0), (3, NAN, 0), INF),
    "nan-in-both": ((3, NAN, 0), (3, NAN, 0), INF),
    "infinity": ((3, INF, 0), (3, 4, 0), INF),
    "another-shape": ((3, 4), (3, 4, 0), INF),
}


@pytest.mark.parametrize(("candidate", "reference", "error"), ERRORS.values(), ids=ERRORS.keys())
def test_relative_error(
    candidate: Sequence[float], reference: Sequence[float], error: float
) -> None:
    states = frame([held(state_row(0, 7, 1), candidate)])
    found = equivalence(states, frame([held(state_row(0, 7, 1), reference)]))
    assert found.rows["error"].tolist() == [pytest.approx(error)]


def test_numbers_are_compared_whatever_the_dtype() -> None:
    states = frame([held(state_row(0, 7, 1), (3, 4, 2.5), "float16")])
    prefixes = frame([held(state_row(0, 7, 1), (3, 4, 0), "bfloat16")])
    (row,) = equivalence(states, prefixes).rows.to_dict("records")
    assert (row["error"], row["dtype"], row["dtype_reference"]) == (0.5, "float16", "bfloat16")


def test_each_state_meets_its_own_place_layer_part_and_worker() -> None:
    states = [r for p in (7, 14) for r in every_state(0, p, p // 7, LEFT, ranks=2)]
    prefixes = [r for i in (0, 1) for p in (14, 7) for r in every_state(i, p, 1, LEFT, ranks=2)]
    found = equivalence(frame(states), frame(prefixes))
    assert (len(found.rows), found.unmatched, found.without_numbers) == (16, 0, 0)
    assert set(found.rows["error"]) == {0.0}


def test_the_earliest_edge_comes_first_then_position_request_layer_and_part() -> None:
    rows = [
        *(state_row(1, 9, 2), state_row(0, 9, 2), state_row(1, 8, 2)),
        *(state_row(0, 30, 1, index=1), state_row(0, 30, 1, part=Part.RECURRENT)),
        *(state_row(0, 30, 1), state_row(0, 30, 1, index=1, part=Part.RECURRENT)),
    ]
    found = equivalence(frame(rows), frame(rows)).rows
    key = ["edge", "position", "request", "index", "part"]
    assert list(found[key].itertuples(index=False, name=None)) == [
        (1, 30, 0, 0, "convolution"),
        (1, 30, 0, 0, "recurrent"),
        (1, 30, 0, 1, "convolution"),
        (1, 30, 0, 1, "recurrent"),
        (2, 8, 1, 0, "convolution"),
        (2, 9, 0, 0, "convolution"),
        (2, 9, 1, 0, "convolution"),
    ]


def test_states_without_a_prefix_or_numbers_are_counted() -> None:
    states = [state_row(0, p, 1) for p in (7, 14, 17)]
    states[1]["data"] = None
    prefixes = [state_row(0, p, 1) for p in (14, 17)]
    found = equivalence(frame(states), frame(prefixes))
    assert (found.rows["position"].tolist(), found.unmatched, found.without_numbers) == (
        [17],
        1,
        1,
    )
    prefixes[1]["data"] = None
    found = equivalence(frame(states), frame(prefixes))
    assert (len(found.rows), found.unmatched, found.without_numbers) == (0, 1, 2)


def test_only_what_was_left_is_compared_with_prefixes() -> None:
    states = frame([state_row(0, 7, 1, FOUND), state_row(0, 7, 1)])
    found = equivalence(states, states)
    assert (len(found.rows), found.unmatched) == (1, 0)


def test_nothing_read_is_nothing_compared() -> None:
    nothing = frame([])
    assert len(equivalence(nothing, nothing).rows) == 0
    assert equivalence(frame([state_row(0, 7, 1)]), nothing).unmatched == 1
    assert len(carried(nothing, nothing).rows) == len(carried(nothing, None).rows) == 0


def row_of(rows: list[Row], saved: list[Row] | None = None) -> Row:
    (row,) = carried(frame(rows), None if saved is None else frame(saved)).rows.to_dict("records")
    return {str(k): v for k, v in row.items()}


def test_what_a_step_finds_is_what_the_step_before_had_left() -> None:
    row = row_of([state_row(0, 7, 1), state_row(0, 7, 1, FOUND)])
    # 5 times 1 + 7
    assert (row["same"], row["restored"], row["norm"], row["norm_left"]) == (True, False, 40, 40)


def test_another_state_is_not_the_same_however_small_the_difference() -> None:
    row = row_of([state_row(0, 7, 1), off_by(state_row(0, 7, 1, FOUND), 1e-30)])
    assert (row["same"], row["norm"], row["norm_left"]) == (False, 40, 40)


def test_a_state_is_looked_for_at_its_own_step() -> None:
    """A position may be passed twice, by a request that was restored and by one that was not."""
    twice = [off_by(state_row(0, 7, 2), 0.5), state_row(0, 7, 1), state_row(0, 7, 1, FOUND)]
    assert row_of(twice)["same"]


def test_a_restored_state_is_looked_for_among_the_saved_alone() -> None:
    restored, wrong = state_row(0, 16, 0, FOUND), off_by(state_row(0, 16, 3), 0.5)
    row = row_of([wrong, restored], [state_row(0, 16, 1)])
    assert (row["same"], row["restored"]) == (True, True)
    row = row_of([state_row(0, 16, 3), restored], [wrong])
    assert (row["same"], row["restored"]) == (False, True)


def test_states_that_nobody_was_seen_to_leave_are_counted() -> None:
    rows = [
        *(state_row(0, 7, 1, FOUND), state_row(0, 16, 0, FOUND)),
        *(state_row(1, 7, 1), state_row(0, 7, 2), state_row(0, 7, 1, rank=1)),
    ]
    for saved in (None, [state_row(0, 8, 1)], []):
        found = carried(frame(rows), None if saved is None else frame(saved))
        assert (len(found.rows), found.unmatched) == (0, 2)
