"""What the cache tensors hold before a run: zeros, or numbers that nobody may ever read."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch

from linattn_verify.configs.plan import Memory
from linattn_verify.engine.steps import Step, cache_tensors
from linattn_verify.traces.states import Part

_BYTE = {Memory.ZERO: 0, Memory.NAN: 0xFF, Memory.FINITE: 0x3F}
"""0xFF repeated is NaN in every floating-point dtype that caches have: bfloat16, float16, float32,
float64, and both of FP8, so that layers of different dtypes may share memory. 0x3F repeated lies
between 1e-4 and 2 in all of them."""


def fill(runner: Any, memory: Memory) -> int:
    """Fill every cache tensor, whole, whoever shares it; returns the number of bytes."""
    storages = {
        tensor.untyped_storage().data_ptr(): tensor.untyped_storage()
        for _, tensor in _tensors(runner)
    }
    for storage in storages.values():
        everything = torch.empty(0, dtype=torch.uint8, device=storage.device)
        everything.set_(storage).fill_(_BYTE[memory])
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
class HandOut:
    """Fills blocks as they are handed out, before the engine does anything with them: what a former
    owner has left is as forbidden to read as what nobody has written."""

    memory: Memory | None = None
    """What they are filled with; None: they are left as they are."""
    cleaned: frozenset[Part] = frozenset()
    """Kinds of block that are zeroed instead."""
    blocks: int = 0
    """Blocks filled so far, each time counted."""

    @property
    def active(self) -> bool:
        return self.memory is not None

    def begin(self, memory: Memory | None, cleaned: frozenset[Part]) -> None:
        """From now on; counts anew."""
        self.memory, self.cleaned, self.blocks = memory, cleaned, 0

    def scheduled(self, step: Step) -> None:
        assert self.memory is not None
        runner, every = step.runner, cache_tensors(step.runner)
        for group, blocks in enumerate(_new_blocks(step.scheduled)):
            self.blocks += len(blocks)
            for name in runner.kv_cache_config.kv_cache_groups[group].layer_names:
                for part, tensor in every[name]:
                    byte = _BYTE[Memory.ZERO if part in self.cleaned else self.memory]
                    _blocks(tensor, runner).view(torch.uint8)[sorted(blocks)] = byte

    def before(self, step: Step) -> None: ...

    def after(self, step: Step) -> None: ...


def _new_blocks(scheduled: Any) -> list[set[int]]:
    """By KV-cache group: blocks handed out in this step. Not the null block, and none of a request
    that found states in the cache, or that was preempted: some of theirs are in use already."""
    cached = scheduled.scheduled_cached_reqs
    tables = [r.block_ids for r in scheduled.scheduled_new_reqs if not r.num_computed_tokens]
    tables += [
        ids
        for name, ids in zip(cached.req_ids, cached.new_block_ids, strict=True)
        if ids and name not in cached.resumed_req_ids
    ]
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
