"""Requests into the engine, step by step, and outputs out of it."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from linattn_verify.traces.schema import Slice

_EVERY = 0.2  # seconds between two reports of progress


@dataclass(frozen=True)
class Job:
    """One request as vLLM takes it."""

    prompt: dict[str, Any]
    sampling: Any

    @property
    def tokens(self) -> int:
        """Tokens of the prompt."""
        return len(self.prompt["prompt_token_ids"])


def drive(
    engine: Any,
    scheduler: Any,
    jobs: Sequence[Job],
    whole: int | None,
    concurrency: int,
    total: int,
    report: Callable[[int, int], None],
) -> Iterator[tuple[int, tuple[Any, list[Slice]]]]:
    """Serve the jobs as one pass; yields index, output and the slices of each as it ends.

    At most `concurrency` are in flight. `whole`: tokens of a step; a prompt is submitted only when
    the next step has room for all of it beside what others need, so that none is cut for lack of
    room. None: whatever the scheduler makes of it. `report` is told tokens done, of `total`.
    """
    waiting = deque(enumerate(jobs))
    index_of: dict[str, tuple[int, str]] = {}
    scheduler.forget()
    reported = 0.0
    while waiting or engine.has_unfinished_requests():
        while waiting and _admits(scheduler, waiting[0][1], whole, concurrency):
            index, job = waiting.popleft()
            inside = engine.add_request(str(index), job.prompt, job.sampling)
            index_of[str(index)] = (index, inside)
        for output in engine.step():
            if output.finished:
                index, inside = index_of.pop(output.request_id)
                yield index, (output, scheduler.slices.pop(inside, []))
        if time.monotonic() - reported > _EVERY:
            reported = time.monotonic()
            report(min(scheduler.recorded_tokens, total), total)


def _admits(scheduler: Any, job: Job, whole: int | None, concurrency: int) -> bool:
    if not scheduler.requests:
        return True
    if len(scheduler.requests) >= concurrency:
        return False
    return whole is None or scheduler.wanted_tokens() + job.tokens <= whole
