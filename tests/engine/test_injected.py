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
    starts = {"continued": 7, "restored": 18, "first": 0, "decode": 21}
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


def made(parts: Any, name: str, dose: float = 1.0) -> Any:
    return parts.state_faults.STATE_FAULTS[name](dose)


def struck(
    parts: Any, step: Any, name: str, dose: float = 1.0
) -> tuple[int, dict[tuple[int, int], list[float]]]:
    """How often the fault fired, and by (layer, part) the value in each slot."""
    return made(parts, name, dose).before(step), values(step)


def values(step: Any) -> dict[tuple[int, int], list[float]]:
    return {
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
        ("one_request_state_lost_at_edges", 2, EVERY, [1.0, 0.0, 3.0, 4.0, 5.0]),
        ("last_chunk_state_lost", 2, EVERY, RESTORED_LOST),
        ("restored_state_lost", 2, EVERY, RESTORED_LOST),
        ("restored_state_off_by_one_block", 2, EVERY, [1.0, 2.0, 3.0, 3.0, 5.0]),
    ],
)
def test_a_fault_strikes_its_parts_of_its_requests_and_nothing_else(
    parts: Any, step: Any, name: str, fired: int, where: Any, value: list[float]
) -> None:
    expected = {place: value if place in where else WHOLE for place in EVERY}
    assert struck(parts, step, name) == (fired, expected)


def test_a_dose_blends_the_right_state_with_the_wrong_one(parts: Any, step: Any) -> None:
    fired, found = struck(parts, step, "recurrent_state_lost_at_edges", dose=0.25)
    assert fired == 4
    assert found[0, 1] == found[1, 1] == [1.0, 1.5, 3.0, 3.0, 5.0]
    assert found[0, 0] == found[1, 0] == WHOLE
    _, found = struck(parts, step, "restored_state_off_by_one_block", dose=0.5)
    assert found[0, 0] == [1.0, 2.0, 3.0, 3.5, 5.0]


def test_nan_is_put_into_continued_prefills(parts: Any, step: Any) -> None:
    fired, found = struck(parts, step, "nan_state_at_edges")
    assert fired == 4
    for slots in found.values():
        assert [slot for slot, value in enumerate(slots) if math.isnan(value)] == [1, 3]


def test_a_state_is_rounded_to_half_its_bits(parts: Any, step: Any) -> None:
    for layer in step.layers:
        for state in layer.states:
            state.fill_(1.0390625)  # exact in bfloat16, not in FP8
            state[1].fill_(1.0000001)  # in float32 alone
    fired, found = struck(parts, step, "state_rounded_at_edges")
    assert fired == 4
    assert found[0, 0][3] == 1.0  # two bits of mantissa are left
    assert found[0, 1][1] == 1.0 and found[0, 1][3] == 1.0390625
    assert found[0, 1][2] == pytest.approx(1.0390625, abs=0)


def serve(parts: Any, step: Any, fault: Any, *held: Any) -> int:
    """One more step of these; the model adds 10 to what it touches."""
    step.held = held
    fired = fault.before(step)
    for one in held:
        for _, state in one.states():
            state.add_(10)
    return int(fired + fault.after(step))


def one(parts: Any, step: Any, name: str, slot: int, start: int, tokens: int = 3) -> Any:
    return parts.steps.Held(step.layers[0], name, slot, start, tokens, 21, restored=False)


def test_a_stale_state_is_what_another_request_has_left(parts: Any, step: Any) -> None:
    fault = made(parts, "stale_state_read")
    step.flags[:] = False
    assert serve(parts, step, fault, one(parts, step, "a", 1, 0)) == 0  # nobody was before it
    assert serve(parts, step, fault, one(parts, step, "a", 1, 3)) == 0
    assert serve(parts, step, fault, one(parts, step, "b", 2, 0)) == 1
    assert values(step)[0, 0] == [1.0, 22.0, 32.0, 4.0, 5.0]
    assert step.flags.tolist() == [True, False, False]


def test_a_first_chunk_of_one_token_goes_on_from_what_another_has_left(
    parts: Any, step: Any
) -> None:
    fault = made(parts, "one_token_chunk_as_decode")
    assert serve(parts, step, fault, one(parts, step, "a", 1, 0)) == 0
    assert serve(parts, step, fault, one(parts, step, "b", 2, 0, tokens=2)) == 0
    assert serve(parts, step, fault, one(parts, step, "b", 2, 2, tokens=1)) == 0
    assert serve(parts, step, fault, one(parts, step, "c", 3, 0, tokens=1)) == 1
    assert values(step)[0, 1] == [1.0, 12.0, 23.0, 33.0, 5.0]


def test_a_block_that_a_request_has_left_gets_the_state_of_the_step_after(
    parts: Any, step: Any
) -> None:
    fault = made(parts, "state_published_late", dose=0.5)
    assert serve(parts, step, fault, one(parts, step, "a", 1, 0)) == 0
    assert serve(parts, step, fault, one(parts, step, "a", 1, 3)) == 0
    assert serve(parts, step, fault, one(parts, step, "a", 4, 6)) == 1
    assert values(step)[0, 1] == [1.0, 18.5, 3.0, 4.0, 15.0]
    assert serve(parts, step, fault, one(parts, step, "a", 3, 21)) == 0  # a decode step


def test_decode_steps_after_the_first_leave_no_trace(parts: Any, step: Any) -> None:
    fault = made(parts, "decode_state_stuck")
    assert serve(parts, step, fault, one(parts, step, "a", 1, 21, 1)) == 0
    assert serve(parts, step, fault, one(parts, step, "a", 1, 22, 1)) == 1
    assert serve(parts, step, fault, one(parts, step, "b", 2, 20, 1)) == 0
    assert values(step)[0, 0] == [1.0, 12.0, 13.0, 4.0, 5.0]


@pytest.mark.parametrize(("share", "struck"), [(1.0, 10), (0.5, 5), (0.1, 1), (0.01, 1), (0.3, 3)])
def test_a_share_of_occasions_is_struck_the_first_one_among_them(
    parts: Any, share: float, struck: int
) -> None:
    due = parts.state_faults.Due(share)
    found = [due() for _ in range(10)]
    assert found[0] and sum(found) == struck


def test_a_copy_leaves_out_its_last_item(parts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[int] = []
    utils = parts.faults.mamba_utils
    monkeypatch.setattr(utils, "do_mamba_copy_block", lambda b: copied.append(b.offset))
    faults, _ = faults_of(parts)
    utils.do_mamba_copy_block(SimpleNamespace(offset=4))
    faults.activate(("copy_drops_last_item@50%",))
    for _ in range(3):
        utils.do_mamba_copy_block(SimpleNamespace(offset=4))
    utils.do_mamba_copy_block(SimpleNamespace(offset=0))
    assert copied == [4, 3, 4, 3, 0]
    assert faults.fired == {"copy_drops_last_item@50%": 2}


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
