"""A scheduler that writes down what it schedules.

vLLM takes a scheduler class by name (`scheduler_cls`); this one only listens.
"""

from typing import Any

from vllm.v1.core.sched.scheduler import Scheduler

from linattn_verify.traces.schema import Slice

_SPARE = 2  # blocks


class RecordingScheduler(Scheduler):  # type: ignore[misc]
    """vLLM's own scheduler, with a record of tokens per request and step."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._withheld: list[Any] = []
        self._count_blocks()
        self.begin()

    def begin(self) -> None:
        """Start the record of a scenario."""
        self.allocated_blocks = 0
        self.recorded_tokens = 0
        self.largest_step = 0
        self.forget()

    def forget(self) -> None:
        """Start the record of a pass: steps are counted from 0."""
        self.recorded_steps = 0
        self.slices: dict[str, list[Slice]] = {}

    def wanted_tokens(self) -> int:
        """Tokens that the requests at hand would have the next step compute."""
        return sum(r.num_tokens - r.num_computed_tokens for r in self.requests.values())

    @property
    def pool_blocks(self) -> int:
        """Blocks that can be handed out: all but the null block and those withheld."""
        pool = self.kv_cache_manager.block_pool
        return int(pool.num_gpu_blocks) - 1 - len(self._withheld)

    def shrink_pool(self, requests: int, tokens: int) -> None:
        """Leave room for `requests` of up to `tokens` tokens, and for what each layer group holds
        beside its tokens' blocks while a step runs. The rest of the pool is withheld."""
        sizes = [g.kv_cache_spec.block_size for g in self.kv_cache_config.kv_cache_groups]
        room = requests * sum(-(-tokens // size) + _SPARE for size in sizes)
        pool = self.kv_cache_manager.block_pool
        free = pool.get_num_free_blocks()
        self._withheld = pool.get_new_blocks(max(0, free - room))

    def whole_pool(self) -> None:
        """Give back what was withheld."""
        self.kv_cache_manager.block_pool.free_blocks(self._withheld)
        self._withheld = []

    def _count_blocks(self) -> None:
        pool = self.kv_cache_manager.block_pool
        hand_out = pool.get_new_blocks

        def counted(number: int) -> Any:
            self.allocated_blocks += number
            return hand_out(number)

        pool.get_new_blocks = counted

    def schedule(self, *args: Any, **kwargs: Any) -> Any:
        output = super().schedule(*args, **kwargs)
        if not output.num_scheduled_tokens:
            return output
        for request_id, tokens in output.num_scheduled_tokens.items():
            # schedule() has already counted this step's tokens as computed.
            start = self.requests[request_id].num_computed_tokens - tokens
            mine = self.slices.setdefault(request_id, [])
            mine.append(Slice(step=self.recorded_steps, start=start, tokens=tokens))
        total = sum(output.num_scheduled_tokens.values())
        self.recorded_tokens += total
        self.largest_step = max(self.largest_step, total)
        self.recorded_steps += 1
        return output
