"""What the faults do to states and metadata, and how they count; no engine."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

from tests.engine.made_runner import runner_of

SLOTS = {"continued": 1, "restored": 3, "first": 2, "decode": 4}


@pytest.fixture
def step(parts: Any) -> Any:
    """Four requests: a prefill that goes on, one restored, one that begins, a decode step."""
    runner = runner_of(parts)
    layers = parts.steps.state_layers(runner)
    for layer in layers:
        for state in layer.states:
            for slot in range(len(state)):
                state[slot] = slot + 1.0
    starts = {"continued": 7, "restored": 16, "first": 0, "decode": 21}
    held = tuple(
        parts.steps.Held(
            layer=layer,
            request_id=name,
            slot=SLOTS[name],
            start=start,
            tokens=3,
            prompt_tokens=21,
            restored=name == "restored",
        )
        for layer in layers
        for name, start in starts.items()
    )
    flags = parts.torch.tensor([False, True, True])
    metadata = [SimpleNamespace(has_initial_state=flags), SimpleNamespace(no_flags=0)]
    return SimpleNamespace(layers=layers, held=held, metadata=lambda: metadata, flags=flags)


def struck(parts: Any, step: Any, name: str) -> tuple[int, dict[tuple[int, int], list[float]]]:
    """How often the fault fired, and by (layer, part) the value in each slot."""
    fired = parts.faults._BEFORE_FORWARD[name](step)
    return fired, {
        (layer.index, part): [float(slot.flatten()[0]) for slot in state]
        for layer in step.layers
        for part, state in enumerate(layer.states)
    }


WHOLE = [1.0, 2.0, 3.0, 4.0, 5.0]
LOST = [1.0, 0.0, 3.0, 0.0, 5.0]  # the two prefills that go on from a state
RESTORED_LOST = [1.0, 2.0, 3.0, 0.0, 5.0]
EVERY = ((0, 0), (0, 1), (1, 0), (1, 1))


@pytest.mark.parametrize(
    ("name", "fired", "where", "value"),
    [
        ("state_lost_at_edges", 4, EVERY, LOST),
        ("conv_state_lost_at_edges", 4, ((0, 0), (1, 0)), LOST),
        ("recurrent_state_lost_at_edges", 4, ((0, 1), (1, 1)), LOST),
        ("one_layer_state_lost_at_edges", 2, ((1, 0), (1, 1)), LOST),
        ("restored_state_lost", 2, EVERY, RESTORED_LOST),
        ("restored_state_off_by_one_block", 2, EVERY, [1.0, 2.0, 3.0, 3.0, 5.0]),
    ],
)
def test_a_fault_strikes_its_parts_of_its_requests_and_nothing_else(
    parts: Any, step: Any, name: str, fired: int, where: Any, value: list[float]
) -> None:
    expected = {place: value if place in where else WHOLE for place in EVERY}
    assert struck(parts, step, name) == (fired, expected)


def test_nan_is_put_into_the_last_part_of_continued_prefills(parts: Any, step: Any) -> None:
    fired, values = struck(parts, step, "nan_state_at_edges")
    assert fired == 4
    for (_, part), found in values.items():
        broken = [slot for slot, value in enumerate(found) if math.isnan(value)]
        assert broken == ([1, 3] if part else [])


@pytest.mark.parametrize(
    ("name", "fired", "flags"),
    [
        ("has_initial_state_ignored", 4, [False] * 3),
        ("unwritten_state_read", 2, [True] * 3),
    ],
)
def test_flags_are_set_where_there_are_any(
    parts: Any, step: Any, name: str, fired: int, flags: list[bool]
) -> None:
    assert struck(parts, step, name) == (fired, dict.fromkeys(EVERY, WHOLE))
    assert step.flags.tolist() == flags


def test_flags_are_left_where_no_request_is_hit(parts: Any, step: Any) -> None:
    step.held = tuple(h for h in step.held if h.request_id == "decode")
    for name in ("has_initial_state_ignored", "unwritten_state_read", "nan_state_at_edges"):
        assert struck(parts, step, name) == (0, dict.fromkeys(EVERY, WHOLE))
    assert step.flags.tolist() == [False, True, True]


def faults_of(parts: Any) -> tuple[Any, list[list[int]]]:
    zeroed: list[list[int]] = []
    runner = SimpleNamespace(
        model=SimpleNamespace(compute_logits=lambda hidden: hidden),
        _zero_block_ids=zeroed.append,
        input_batch=SimpleNamespace(req_ids=["a", "b", "c"]),
    )
    faults = parts.faults.Faults(runner)
    faults.runner = runner
    return faults, zeroed


def test_blocks_are_zeroed_unless_told_otherwise_and_counted(parts: Any) -> None:
    faults, zeroed = faults_of(parts)
    faults.runner._zero_block_ids([3])
    assert not faults.active
    faults.activate(("blocks_not_zeroed",))
    faults.runner._zero_block_ids([5, 7])
    faults.runner._zero_block_ids([8])
    assert (faults.active, zeroed, faults.fired) == (True, [[3]], {"blocks_not_zeroed": 2})
    faults.activate(())
    faults.runner._zero_block_ids([9])
    assert (zeroed, faults.fired) == ([[3], [9]], {})


def test_logits_are_swapped_among_the_requests_of_a_step_alone(parts: Any) -> None:
    faults, _ = faults_of(parts)
    compute = faults.runner.model.compute_logits
    three, four = parts.torch.tensor([[1.0], [2.0], [3.0]]), parts.torch.zeros(4, 1)
    assert compute(three).flatten().tolist() == [1, 2, 3]
    faults.activate(("logits_swapped",))
    assert compute(three).flatten().tolist() == [3, 1, 2]
    assert compute(four) is four  # of a prompt's positions
    assert faults.fired == {"logits_swapped": 1}


def test_every_active_fault_counts_its_own(parts: Any, step: Any) -> None:
    faults, _ = faults_of(parts)
    faults.activate(("restored_state_lost", "conv_state_lost_at_edges", "blocks_not_zeroed"))
    faults.before(step)
    faults.before(step)
    assert faults.fired == {
        "restored_state_lost": 4,
        "conv_state_lost_at_edges": 8,
        "blocks_not_zeroed": 0,
    }
