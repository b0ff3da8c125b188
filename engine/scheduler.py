"""A scheduler that writes down what it schedules.

vLLM takes a scheduler class by name (`scheduler_cls`); this one only listens.
"""

from typing import Any

from vllm.v1.core.sched.scheduler import Scheduler

from linattn_verify.traces.schema import Slice


class RecordingScheduler(Scheduler):  # type: ignore[misc]
    """vLLM's own scheduler, with a record of tokens per request and step."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.forget()

    def forget(self) -> None:
        """Start a new record at step 0."""
        self.recorded_steps = 0
        self.recorded_tokens = 0
        self.slices: dict[str, list[Slice]] = {}
        self.cached: dict[str, int] = {}

    def schedule(self, *args: Any, **kwargs: Any) -> Any:
        output = super().schedule(*args, **kwargs)
        if not output.num_scheduled_tokens:
            return output
        for request_id, tokens in output.num_scheduled_tokens.items():
            # schedule() has already counted this step's tokens as computed.
            start = self.requests[request_id].num_computed_tokens - tokens
            mine = self.slices.setdefault(request_id, [])
            if not mine:
                self.cached[request_id] = start
            mine.append(Slice(step=self.recorded_steps, start=start, tokens=tokens))
            self.recorded_tokens += tokens
        self.recorded_steps += 1
        return output
