"""Blocks withheld, given back and counted, in vLLM's own pool; no engine."""

from types import SimpleNamespace
from typing import Any

import pytest


@pytest.fixture
def scheduler(parts: Any) -> Any:
    """With 41 blocks, one of which is the null block, and groups of 16 and 48 tokens a block."""
    from vllm.v1.core.block_pool import BlockPool

    made: Any = object.__new__(parts.scheduler.RecordingScheduler)
    pool = BlockPool(num_gpu_blocks=41, enable_caching=True, hash_block_size=16)
    made.kv_cache_manager = SimpleNamespace(block_pool=pool)
    groups = [SimpleNamespace(kv_cache_spec=SimpleNamespace(block_size=n)) for n in (16, 48)]
    made.kv_cache_config = SimpleNamespace(kv_cache_groups=groups)
    made._withheld = []
    made._count_blocks()
    made.begin()
    return made


def free(scheduler: Any) -> int:
    return int(scheduler.kv_cache_manager.block_pool.get_num_free_blocks())


def test_a_small_pool_has_room_for_the_requests_at_hand(scheduler: Any) -> None:
    assert (scheduler.pool_blocks, free(scheduler)) == (40, 40)
    # 50 tokens: 4 blocks of 16 and 2 of 48, 2 to spare in each group, for 2 requests
    scheduler.shrink_pool(2, 50)
    assert (scheduler.pool_blocks, free(scheduler)) == (20, 20)


def test_whole_blocks_need_no_further_one(scheduler: Any) -> None:
    scheduler.shrink_pool(1, 48)  # 3 + 2 and 1 + 2
    assert scheduler.pool_blocks == 8


def test_what_was_withheld_is_given_back_once(scheduler: Any) -> None:
    scheduler.shrink_pool(2, 50)
    for _ in range(2):
        scheduler.whole_pool()
        assert (scheduler.pool_blocks, free(scheduler)) == (40, 40)


def test_a_pool_with_no_more_than_that_stays_whole(scheduler: Any) -> None:
    scheduler.shrink_pool(3, 200)
    assert (scheduler.pool_blocks, free(scheduler)) == (40, 40)


def test_blocks_are_counted_each_time_they_are_handed_out(scheduler: Any) -> None:
    pool = scheduler.kv_cache_manager.block_pool
    for number in (3, 4):
        pool.free_blocks(pool.get_new_blocks(number))
    assert scheduler.allocated_blocks == 7
    scheduler.forget()  # a pass ends
    assert scheduler.allocated_blocks == 7
    scheduler.begin()
    assert scheduler.allocated_blocks == 0


def test_the_cache_can_be_reset_once_the_pool_is_whole(scheduler: Any) -> None:
    pool = scheduler.kv_cache_manager.block_pool
    scheduler.shrink_pool(2, 50)
    assert not pool.reset_prefix_cache()
    scheduler.whole_pool()
    assert pool.reset_prefix_cache()
