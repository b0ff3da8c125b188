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
        self.begin()

    def begin(self) -> None:
        """Start the record of a scenario."""
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
