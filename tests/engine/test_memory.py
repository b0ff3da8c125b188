"""Cache tensors filled, read back and cleaned; no engine."""

from types import SimpleNamespace
from typing import Any

import pytest

from linattn_verify.configs.plan import Memory
from linattn_verify.traces.states import Part
from tests.engine.made_runner import ATTENTION, BLOCKS, STATES, runner_of

TENSORS = {"attention": 2, "convolution": 2, "recurrent": 2}
# float16 keys and values, FP8; two layers of a bfloat16 window and a float32 state
BYTES = 2 * 5 * 3 * 2 + 10 * 3 + 2 * (5 * 12 * 2 + 5 * 12 * 4)


def cache(runner: Any, name: str) -> Any:
    return runner.compilation_config.static_forward_context[name].kv_cache


def every(runner: Any) -> list[Any]:
    return [
        *(cache(runner, name) for name in ATTENTION),
        *(t for name in STATES for t in cache(runner, name)),
    ]


@pytest.mark.parametrize(
    "dtype", ["bfloat16", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"]
)
def test_the_pattern_is_nan_in_every_dtype_that_a_cache_may_have(parts: Any, dtype: str) -> None:
    runner = runner_of(parts)
    made = parts.torch.zeros(BLOCKS, 12, dtype=getattr(parts.torch, dtype))
    runner.compilation_config.static_forward_context[ATTENTION[0]].kv_cache = made
    parts.memory.fill(runner, Memory.NAN)
    assert bool(made.isnan().all())
    parts.memory.fill(runner, Memory.ZERO)
    assert made.untyped_storage().tolist() == [0] * made.untyped_storage().nbytes()


def test_every_tensor_is_filled_whole_and_read_back(parts: Any) -> None:
    runner = runner_of(parts)
    assert parts.memory.tensors(runner) == TENSORS
    assert parts.memory.poisoned(runner) == dict.fromkeys(TENSORS, 0)
    assert parts.memory.fill(runner, Memory.NAN) == BYTES
    assert all(bool(tensor.isnan().all()) for tensor in every(runner))
    assert parts.memory.poisoned(runner) == TENSORS
    assert parts.memory.fill(runner, Memory.ZERO) == BYTES
    assert all(not bool(tensor.float().any()) for tensor in every(runner))
    assert parts.memory.poisoned(runner) == dict.fromkeys(TENSORS, 0)


def test_memory_that_layers_share_is_filled_and_counted_once(parts: Any) -> None:
    """As where attention and states have blocks of the same pages."""
    torch, runner = parts.torch, runner_of(parts)
    raw = torch.zeros(BLOCKS * 48, dtype=torch.int8)
    context = runner.compilation_config.static_forward_context
    context[ATTENTION[0]].kv_cache = raw.view(torch.float16).view(BLOCKS, 24)
    context[STATES[0]].kv_cache = (
        raw.view(torch.bfloat16).view(BLOCKS, 24)[:, :12],
        raw.view(torch.float32).view(BLOCKS, 12)[:, 6:],
    )
    whole = BYTES - 60 - 5 * 12 * 6 + 240
    assert parts.memory.fill(runner, Memory.NAN) == whole
    assert raw.view(torch.int16).unique().tolist() == [0x7FFF]


@pytest.mark.parametrize("block", [0, 2, 4], ids=["first", "middle", "last"])
def test_one_number_in_an_end_or_the_middle_is_no_poison(parts: Any, block: int) -> None:
    runner = runner_of(parts)
    parts.memory.fill(runner, Memory.NAN)
    cache(runner, STATES[1])[1][block, 1, 1, 2] = 0.5
    cache(runner, ATTENTION[0])[1, block, 2] = 0.5  # values, behind all keys
    assert parts.memory.poisoned(runner) == {"attention": 1, "convolution": 2, "recurrent": 1}


def scheduled(new: list[tuple[list[int], list[int]]], more: Any) -> SimpleNamespace:
    """Blocks of new requests and of running ones, by group: attention, states."""
    return SimpleNamespace(
        scheduled_new_reqs=[SimpleNamespace(block_ids=ids) for ids in new],
        scheduled_cached_reqs=SimpleNamespace(new_block_ids=more),
    )


def cleaned(parts: Any, *kinds: Part) -> dict[str, list[list[int]]]:
    """By layer: the blocks that hold no NaN any more, of each of its tensors. New requests got
    block 3 for keys and values and the null block and 1 for states, a running one 2 and 4."""
    runner = runner_of(parts)
    parts.memory.fill(runner, Memory.NAN)
    cleaner = parts.memory.Cleaner(frozenset(kinds))
    assert cleaner.active is bool(kinds)
    step = SimpleNamespace(
        runner=runner, scheduled=scheduled([([3], [0, 1])], [None, ([2], [4]), ([], [])])
    )
    cleaner.scheduled(step)
    keys = cache(runner, ATTENTION[0]).transpose(0, 1)
    halves = cache(runner, ATTENTION[1]).unflatten(0, (BLOCKS, 2))
    tensors = {ATTENTION[0]: (keys,), ATTENTION[1]: (halves,)}
    tensors |= {name: cache(runner, name) for name in STATES}
    return {name: [clean_blocks(t) for t in found] for name, found in tensors.items()}


def clean_blocks(tensor: Any) -> list[int]:
    """Blocks of zeros; all others are NaN from end to end."""
    clean = [b for b in range(BLOCKS) if not bool(tensor[b].isnan().any())]
    assert all(not bool(tensor[b].float().any()) for b in clean)
    assert all(bool(tensor[b].isnan().all()) for b in range(BLOCKS) if b not in clean)
    return clean


def test_new_attention_blocks_are_zeroed_and_states_left(parts: Any) -> None:
    assert cleaned(parts, Part.ATTENTION) == {
        **{key: [[2, 3]] for key in ATTENTION},
        **{key: [[], []] for key in STATES},
    }


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(Part.CONVOLUTION, [[1, 4], []]), (Part.RECURRENT, [[], [1, 4]])],
    ids=["convolution", "recurrent"],
)
def test_new_states_of_one_kind_are_zeroed_but_for_the_null_block(
    parts: Any, kind: Part, expected: list[list[int]]
) -> None:
    assert cleaned(parts, kind) == {
        **{key: [[]] for key in ATTENTION},
        **dict.fromkeys(STATES, expected),
    }


def test_a_cleaner_without_kinds_does_nothing(parts: Any) -> None:
    assert cleaned(parts) == {
        **{key: [[]] for key in ATTENTION},
        **{key: [[], []] for key in STATES},
    }


def test_a_step_without_new_blocks_cleans_nothing(parts: Any) -> None:
    runner = runner_of(parts)
    parts.memory.fill(runner, Memory.NAN)
    step = SimpleNamespace(runner=runner, scheduled=scheduled([], [None]))
    parts.memory.Cleaner(frozenset(Part)).scheduled(step)
    assert parts.memory.poisoned(runner) == TENSORS
