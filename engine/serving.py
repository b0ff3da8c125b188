"""Serves scenarios on a loaded engine and turns what it did into traces."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from vllm import SamplingParams

from linattn_verify.configs.plan import Kind, Scenario
from linattn_verify.engine.answers import answer_of, answer_record
from linattn_verify.engine.drive import Job, drive
from linattn_verify.engine.forcing import FORCED
from linattn_verify.engine.messages import EngineFacts, Run, Serve
from linattn_verify.engine.passes import Ask, passes
from linattn_verify.engine.rows import Row, RowMaker, record_of
from linattn_verify.engine.scheduler import RecordingScheduler
from linattn_verify.tasks.request import TaskRequest
from linattn_verify.traces.schema import RequestRecord, TraceRecord
from linattn_verify.traces.store import write_trace

Report = Callable[[int, int], None]
"""Takes tokens done and tokens in all."""


class Server:
    """One loaded engine, serving scenarios one after another."""

    def __init__(self, llm: Any, engine: str, facts: EngineFacts) -> None:
        self.llm = llm
        self.engine = engine
        self.facts = facts
        self.scheduler: RecordingScheduler = llm.llm_engine.engine_core.engine_core.scheduler
        self.tokenizer = llm.get_tokenizer()

    def run(self, run: Run, report: Report) -> None:
        """Serve the prompts as `run.scenario`, write the trace."""
        todo = passes(run, self.facts.block_size)
        total = sum(one.tokens() for one in todo)
        maker = RowMaker(run.top_k, self._text)
        records: list[RequestRecord] = []
        rows: list[Row] = []
        started = self._begin(run.scenario)
        for one in todo:
            jobs = [Job(_prompt(a.token_ids, a.salt), _sampling(a, run.top_k)) for a in one.asks]
            done = dict(self._drive(run.scenario, jobs, len(jobs), total, report))
            for index, ask in enumerate(one.asks):
                if ask.record:
                    record = record_of(ask, *done[index])
                    records.append(record)
                    rows += maker.rows(ask, done[index][0], record)
        self._write(run, "positions", records, rows, started)

    def serve(self, command: Serve, report: Report) -> None:
        """Serve the requests of a task as `command.scenario`, write the trace."""
        scenario, requests = command.scenario, command.requests
        total = sum(len(r.token_ids) + r.max_tokens for r in requests)
        jobs = [
            Job(_prompt(r.token_ids, _task_salt(scenario, i)), _answering(r))
            for i, r in enumerate(requests)
        ]
        started = self._begin(scenario)
        found: dict[int, tuple[RequestRecord, Row]] = {}
        driven = self._drive(scenario, jobs, command.concurrency, total, report)
        for index, (output, slices) in driven:
            forced = requests[index].forced is not None
            record = answer_record(index, output, slices, forced)
            found[index] = (record, answer_of(index, output))
        ordered = [found[index] for index in range(len(requests))]
        records, rows = [r for r, _ in ordered], [row for _, row in ordered]
        self._write(command, "answers", records, rows, started)

    def _begin(self, scenario: Scenario) -> float:
        """Make the engine ready for the scenario; the time at which it starts."""
        if scenario.after is None:
            self.llm.reset_prefix_cache()
        self._rpc("linattn_inject", list(scenario.faults))
        self._rpc("linattn_take_top_logits")
        self.scheduler.max_num_scheduled_tokens = scenario.budget
        self.scheduler.begin()
        return time.monotonic()

    def _drive(
        self, scenario: Scenario, jobs: Sequence[Job], concurrency: int, total: int, report: Report
    ) -> Iterator[tuple[int, Any]]:
        whole = scenario.budget if scenario.kind is not Kind.CHUNKED else None
        return drive(self.llm.llm_engine, self.scheduler, jobs, whole, concurrency, total, report)

    def _write(
        self,
        command: Run | Serve,
        table: Any,
        records: list[RequestRecord],
        rows: list[Row],
        started: float,
    ) -> None:
        top = [t for worker in self._rpc("linattn_take_top_logits") for t in worker]
        record = TraceRecord(
            table=table,
            scenario=command.scenario.name,
            engine=self.engine,
            budget=self.scheduler.max_num_scheduled_tokens,
            largest_step=self.scheduler.largest_step,
            prefix_caching=self.facts.prefix_caching,
            block_size=self.facts.block_size,
            logits_dtype=self.facts.dtype,
            top_logit=statistics.median(top) if top else None,
            requests=tuple(records),
            faults=self._rpc("linattn_fired")[0],
            seconds=time.monotonic() - started,
        )
        write_trace(Path(command.trace), record, rows)

    def _rpc(self, method: str, *args: Any) -> list[Any]:
        answers: list[Any] = self.llm.collective_rpc(method, args=args)
        return answers

    def _text(self, token: int) -> str:
        return str(self.tokenizer.decode([token]))


def _prompt(token_ids: tuple[int, ...], salt: str | None) -> dict[str, Any]:
    prompt: dict[str, Any] = {"prompt_token_ids": list(token_ids)}
    return prompt | ({"cache_salt": salt} if salt else {})


def _task_salt(scenario: Scenario, request: int) -> str | None:
    """One of its own for every request, and the same in every scenario: prompts of a task share
    their examples, so that `cold` would not be cold without, and `warm` finds exactly its own."""
    cached = scenario.kind in (Kind.COLD, Kind.WARM)
    return f"{scenario.task}-{request}" if cached else None


def _sampling(ask: Ask, top_k: int) -> SamplingParams:
    """Greedy, with raw log-probabilities. A request for prompt log-probabilities skips the prefix
    cache unless told otherwise (vllm/v1/core/kv_cache_manager.py), and without detokenisation the
    placeholder ids of cached positions do no harm."""
    return SamplingParams(
        temperature=0.0,
        max_tokens=ask.max_tokens,
        ignore_eos=True,
        detokenize=False,
        logprobs=top_k,
        prompt_logprobs=top_k if ask.prompt_logprobs else None,
        skip_reading_prefix_cache=not ask.read_cache,
        extra_args={FORCED: list(ask.forced) if ask.forced else None},
    )


def _answering(request: TaskRequest) -> SamplingParams:
    """Greedy until a stop string or the end, or along the tokens whose likelihood is asked for."""
    forced = list(request.forced) if request.forced else None
    return SamplingParams(
        temperature=0.0,
        max_tokens=request.max_tokens,
        stop=list(request.until),
        ignore_eos=forced is not None,
        # As lm-eval's own backends decode.
        skip_special_tokens=False,
        spaces_between_special_tokens=False,
        logprobs=2,
        extra_args={FORCED: forced} if forced else None,
    )
