"""Cache tensors filled, read back, and filled again as blocks are handed out; no engine."""

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
    parts.memory.fill(runner, Memory.FINITE)
    assert bool(((made.double() > 1e-4) & (made.double() < 2)).all())
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
    assert raw.unique().tolist() == [-1]


@pytest.mark.parametrize("block", [0, 2, 4], ids=["first", "middle", "last"])
def test_one_number_in_an_end_or_the_middle_is_no_poison(parts: Any, block: int) -> None:
    runner = runner_of(parts)
    parts.memory.fill(runner, Memory.NAN)
    cache(runner, STATES[1])[1][block, 1, 1, 2] = 0.5
    cache(runner, ATTENTION[0])[1, block, 2] = 0.5  # values, behind all keys
    assert parts.memory.poisoned(runner) == {"attention": 1, "convolution": 2, "recurrent": 1}


def scheduled(new: list[Any], more: dict[str, Any], resumed: str = "") -> SimpleNamespace:
    """Blocks of new requests (with tokens found in the cache) and of running ones, by group:
    attention, states."""
    return SimpleNamespace(
        scheduled_new_reqs=[
            SimpleNamespace(block_ids=ids, num_computed_tokens=cached) for ids, cached in new
        ],
        scheduled_cached_reqs=SimpleNamespace(
            req_ids=list(more), new_block_ids=list(more.values()), resumed_req_ids={resumed}
        ),
    )


# A new request got block 3 for keys and values and the null block and 1 for states, a running one
# 2 and 4; what came from the cache, or back after a preemption, has block 0 to 4 of everything.
EVERYTHING = ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4])
STEP = scheduled(
    [(([3], [0, 1]), 0), (EVERYTHING, 16)],
    {"a": None, "b": ([2], [4]), "c": ([], []), "back": EVERYTHING},
    resumed="back",
)


def handed_out(
    parts: Any, before: Memory, content: Memory | None, *cleaned: Part
) -> tuple[int, dict[str, list[list[int]]]]:
    """Blocks counted, and by layer those of each tensor that no longer hold what was there."""
    runner = runner_of(parts)
    parts.memory.fill(runner, before)
    hand_out = parts.memory.HandOut()
    hand_out.begin(content, frozenset(cleaned))
    assert hand_out.active is (content is not None)
    if hand_out.active:
        hand_out.scheduled(SimpleNamespace(runner=runner, scheduled=STEP))
    keys = cache(runner, ATTENTION[0]).transpose(0, 1)
    halves = cache(runner, ATTENTION[1]).unflatten(0, (BLOCKS, 2))
    tensors = {ATTENTION[0]: (keys,), ATTENTION[1]: (halves,)}
    tensors |= {name: cache(runner, name) for name in STATES}
    nan = before is Memory.NAN
    return hand_out.blocks, {n: [clean(t, not nan) for t in ts] for n, ts in tensors.items()}


def clean(tensor: Any, nan: bool) -> list[int]:
    """Blocks that are NaN from end to end, or zeros; all others are the other, end to end."""
    is_nan = [bool(tensor[b].isnan().all()) for b in range(BLOCKS)]
    for block in range(BLOCKS):
        assert is_nan[block] or not bool(tensor[block].float().any())
    return [block for block in range(BLOCKS) if is_nan[block] is nan]


HANDED = {**{key: [[2, 3]] for key in ATTENTION}, **{key: [[1, 4], [1, 4]] for key in STATES}}


def test_blocks_are_nan_as_they_are_handed_out_and_no_others(parts: Any) -> None:
    assert handed_out(parts, Memory.ZERO, Memory.NAN) == (4, HANDED)
    assert handed_out(parts, Memory.NAN, Memory.ZERO) == (4, HANDED)


def test_without_content_they_are_left_as_they_are(parts: Any) -> None:
    untouched: dict[str, list[list[int]]] = {
        **{key: [[]] for key in ATTENTION},
        **{key: [[], []] for key in STATES},
    }
    assert handed_out(parts, Memory.ZERO, None) == (0, untouched)


@pytest.mark.parametrize(
    ("kind", "attention", "states"),
    [
        (Part.ATTENTION, [[2, 3]], [[], []]),
        (Part.CONVOLUTION, [[]], [[1, 4], []]),
        (Part.RECURRENT, [[]], [[], [1, 4]]),
    ],
    ids=["attention", "convolution", "recurrent"],
)
def test_blocks_of_a_cleaned_kind_are_zeroed_instead(
    parts: Any, kind: Part, attention: list[list[int]], states: list[list[int]]
) -> None:
    assert handed_out(parts, Memory.NAN, Memory.NAN, kind) == (
        4,
        {**dict.fromkeys(ATTENTION, attention), **dict.fromkeys(STATES, states)},
    )


def test_a_step_without_new_blocks_fills_nothing(parts: Any) -> None:
    runner = runner_of(parts)
    hand_out = parts.memory.HandOut()
    hand_out.begin(Memory.NAN, frozenset())
    hand_out.scheduled(SimpleNamespace(runner=runner, scheduled=scheduled([], {"a": None})))
    assert hand_out.blocks == 0
    assert parts.memory.poisoned(runner) == dict.fromkeys(TENSORS, 0)
