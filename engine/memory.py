"""What the cache tensors hold before a run: zeros, or numbers that nobody may ever read."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch

from linattn_verify.configs.plan import Memory
from linattn_verify.engine.steps import Step, cache_tensors
from linattn_verify.traces.states import Part

_PATTERN = {Memory.ZERO: 0, Memory.NAN: 0x7FFF}
"""As 16-bit words. 0x7FFF repeated is NaN in every floating-point dtype that caches have: bfloat16,
float16, float32, float64, and both of FP8, so that layers of different dtypes may share memory."""


def fill(runner: Any, memory: Memory) -> int:
    """Fill every cache tensor, whole, whoever shares it; returns the number of bytes."""
    storages = {
        tensor.untyped_storage().data_ptr(): tensor.untyped_storage()
        for _, tensor in _tensors(runner)
    }
    for storage in storages.values():
        device = storage.device
        words = torch.empty(0, dtype=torch.int16, device=device)
        words.set_(storage, 0, (storage.nbytes() // 2,)).fill_(_PATTERN[memory])
    return sum(storage.nbytes() for storage in storages.values())


def tensors(runner: Any) -> dict[str, int]:
    """Cache tensors by what they hold."""
    return dict(Counter(part.value for part, _ in _tensors(runner)))


def poisoned(runner: Any) -> dict[str, int]:
    """Of those, the ones whose first, middle and last block read back as NaN from end to end."""
    found = dict.fromkeys(tensors(runner), 0)
    for part, tensor in _tensors(runner):
        blocks = _blocks(tensor, runner)
        ends = (blocks[0], blocks[len(blocks) // 2], blocks[-1])
        found[part.value] += all(bool(end.isnan().all()) for end in ends)
    return found


@dataclass
class Cleaner:
    """Zeroes the blocks of these kinds as they are handed out, so that only those of other kinds
    are ever found as they were."""

    parts: frozenset[Part] = frozenset()

    @property
    def active(self) -> bool:
        return bool(self.parts)

    def scheduled(self, step: Step) -> None:
        runner, every = step.runner, cache_tensors(step.runner)
        for group, blocks in enumerate(_new_blocks(step.scheduled)):
            for name in runner.kv_cache_config.kv_cache_groups[group].layer_names:
                for part, tensor in every[name]:
                    if part in self.parts:
                        _blocks(tensor, runner)[sorted(blocks)] = 0

    def before(self, step: Step) -> None: ...

    def after(self, step: Step) -> None: ...


def _new_blocks(scheduled: Any) -> list[set[int]]:
    """By KV-cache group: blocks handed out in this step, without the null block."""
    tables = [r.block_ids for r in scheduled.scheduled_new_reqs]
    tables += [ids for ids in scheduled.scheduled_cached_reqs.new_block_ids if ids]
    groups = max((len(table) for table in tables), default=0)
    return [{b for table in tables for b in table[g]} - {0} for g in range(groups)]


def _tensors(runner: Any) -> list[tuple[Part, torch.Tensor]]:
    """Every cache tensor, with the kind of block that it holds."""
    return [pair for pairs in cache_tensors(runner).values() for pair in pairs]


def _blocks(tensor: torch.Tensor, runner: Any) -> torch.Tensor:
    """[blocks, …]: some backends put keys and values first, some cut a block into smaller ones."""
    blocks = runner.kv_cache_config.num_blocks
    first = tensor if len(tensor) >= blocks else tensor.transpose(0, 1)
    return first.unflatten(0, (blocks, len(first) // blocks))
