"""Which states are read, and what is kept of them; no engine."""

import math
from typing import Any

import pytest

from linattn_verify.traces.states import numbers
from linattn_verify.traces.store import read_states, write_states
from tests.engine.made_runner import STATES, Steps

CONVOLUTION_BYTES, RECURRENT_BYTES = 3 * 4 * 2, 2 * 2 * 3 * 4
STATE_BYTES = 2 * (CONVOLUTION_BYTES + RECURRENT_BYTES)  # of both layers
Place = tuple[int, int]


@pytest.fixture
def steps(parts: Any) -> Steps:
    """With a reader that keeps all it reads."""
    reader = parts.states.StateReader(rank=3)
    reader.begin(10**6)
    return Steps(parts, reader)


def places(rows: list[dict[str, Any]], moment: str, request: int = 0) -> list[Place]:
    """(position, edge) of what was read, each with two layers of two parts."""
    of = [r for r in rows if (r["moment"], r["request"]) == (moment, request)]
    found = [(r["position"], r["edge"]) for r in of]
    assert all(found.count(place) == 4 for place in found)
    return list(dict.fromkeys(found))


def test_the_1st_2nd_4th_8th_chunk_the_end_and_the_first_and_last_decode_step(
    steps: Steps,
) -> None:
    # 21 tokens in chunks of 2, then 5 tokens out: the last of them is never fed back.
    steps.ask("a", prompt=21, most=5)
    steps.serve("a", [*[2] * 10, 1, *[1] * 4])
    rows = steps.reader.take()
    ends = [(2, 1), (4, 2), (8, 4), (16, 8), (21, 11), (22, 12), (25, 15)]
    assert places(rows, "left") == ends
    assert places(rows, "found") == ends[:-1]


def test_a_prompt_of_one_step_and_one_token_out_leaves_its_end_alone(steps: Steps) -> None:
    steps.ask("a", prompt=21, most=1)
    steps.serve("a", [21])
    rows = steps.reader.take()
    assert (places(rows, "left"), places(rows, "found")) == ([(21, 1)], [])


def test_a_restored_state_is_read_as_the_first_step_finds_it(steps: Steps) -> None:
    steps.ask("a", prompt=21, most=2, restored=16)
    steps.serve("a", [5, 1])
    rows = steps.reader.take()
    assert places(rows, "found") == [(16, 0), (21, 1)]
    assert places(rows, "left") == [(21, 1), (22, 2)]


def test_what_is_found_is_read_before_the_step_and_what_is_left_after(steps: Steps) -> None:
    steps.ask("a", prompt=21, restored=16)
    steps.serve("a", [5])
    by_moment = {r["moment"]: r for r in steps.reader.take() if r["part"] == "convolution"}
    assert by_moment["found"]["norm"] == 0
    assert by_moment["left"]["norm"] == pytest.approx(math.sqrt(12))  # 12 ones


def test_requests_without_a_label_are_not_read(steps: Steps) -> None:
    steps.ask("a", prompt=9, label=None)
    steps.ask("b", prompt=7, label=4)
    steps.step(a=4, b=4)
    steps.step(a=5, b=3)
    rows = steps.reader.take()
    assert {r["request"] for r in rows} == {4}
    assert places(rows, "left", request=4) == [(4, 1), (7, 2)]


def test_each_request_is_read_by_its_own_steps(steps: Steps) -> None:
    steps.ask("a", prompt=12, label=0)
    steps.ask("b", prompt=8, label=2)
    steps.serve("a", [3, 3])
    steps.step(a=3, b=4)
    steps.step(a=3, b=4)
    rows = steps.reader.take()
    assert places(rows, "left") == [(3, 1), (6, 2), (12, 4)]
    assert places(rows, "left", request=2) == [(4, 1), (8, 2)]
    assert places(rows, "found") == [(3, 1), (6, 2)]


def test_a_kept_state_is_looked_for_after_a_step_without_its_request(steps: Steps) -> None:
    """Another request's step may be what tramples on it."""
    steps.ask("a", prompt=12, label=0)
    steps.ask("b", prompt=8, label=2)
    steps.step(a=5)
    steps.step(b=8)
    steps.step(a=7)
    assert places(steps.reader.take(), "found") == [(5, 1)]


def test_a_row_says_whose_state_it_is(steps: Steps) -> None:
    steps.ask("a", prompt=5, label=7)
    steps.serve("a", [5])
    rows = steps.reader.take()
    assert [(r["layer"], r["index"], r["part"], r["dtype"]) for r in rows] == [
        (STATES[0], 0, "convolution", "bfloat16"),
        (STATES[0], 0, "recurrent", "float32"),
        (STATES[1], 1, "convolution", "bfloat16"),
        (STATES[1], 1, "recurrent", "float32"),
    ]
    assert {(r["request"], r["rank"], r["kind"]) for r in rows} == {(7, 3, "mamba2")}


def test_the_bytes_are_the_requests_own_slot(steps: Steps, tmp_path: Any) -> None:
    for name in ("other", "a"):
        steps.ask(name, prompt=5, label=7 if name == "a" else None)
    for layer in steps.layers:
        for state in layer.states:
            state[steps.slot("a")] = 1.5
    steps.step(other=5, a=5)
    path = tmp_path / "states.parquet"
    write_states(path, steps.reader.take())
    rows = read_states(path)
    assert len(rows) == 4
    for row in rows.to_dict("records"):
        found = numbers(row["data"], row["dtype"])
        assert found.tolist() == [2.5] * len(found)
        assert row["norm"] == pytest.approx(2.5 * math.sqrt(12))


def test_beyond_the_limit_a_digest_is_left(steps: Steps) -> None:
    steps.reader.begin(STATE_BYTES + CONVOLUTION_BYTES)
    steps.ask("a", prompt=9)
    steps.serve("a", [3, 3, 3])
    rows = steps.reader.take()
    left = [r for r in rows if r["moment"] == "left"]
    assert [len(r["data"] or b"") for r in left] == [
        *(CONVOLUTION_BYTES, RECURRENT_BYTES) * 2,
        *(CONVOLUTION_BYTES, 0, 0, 0),
        *(0, 0, 0, 0),
    ]
    assert steps.reader.bytes_left == 0
    assert all(r["digest"] for r in rows)


def test_what_is_found_leaves_a_digest_and_costs_nothing(steps: Steps) -> None:
    steps.reader.begin(2 * STATE_BYTES)
    steps.ask("a", prompt=6)
    steps.serve("a", [3, 3])
    rows = steps.reader.take()
    assert [r["data"] for r in rows if r["moment"] == "found"] == [None] * 4
    assert all(r["data"] for r in rows if r["moment"] == "left")


def read(steps: Steps, value: float) -> dict[str, Any]:
    """The first part of a state of this value, as found."""
    steps.reader.begin(0)
    steps.ask("a", prompt=9, restored=3)
    for layer in steps.layers:
        for state in layer.states:
            state.fill_(value)
    steps.step(a=6)
    row: dict[str, Any] = steps.reader.take()[0]
    return row


def test_digests_are_the_same_where_the_bytes_are_and_nowhere_else(steps: Steps) -> None:
    digests = [read(steps, value)["digest"] for value in (1.0, 1.0, 1.0078125, 0.0, -0.0)]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 4


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_the_norm_tells_what_is_no_number(steps: Steps, value: float) -> None:
    assert not math.isfinite(read(steps, value)["norm"])


def test_the_norm_of_large_numbers_is_finite(steps: Steps) -> None:
    assert read(steps, 1e30)["norm"] == pytest.approx(1e30 * math.sqrt(12), rel=0.01)


def test_reading_begins_anew_and_ends_with_taking(steps: Steps) -> None:
    steps.ask("a", prompt=9)
    steps.serve("a", [3])
    assert steps.reader.active
    assert len(steps.reader.take()) == 4
    assert not steps.reader.active
    assert steps.reader.take() == []
    steps.serve("a", [3])
    steps.reader.begin(10**6)
    assert steps.reader.rows == []
    steps.ask("a", prompt=9)
    steps.serve("a", [9])
    assert places(steps.reader.take(), "left") == [(9, 1)]
