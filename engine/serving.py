"""Serves scenarios on a loaded engine and turns what it did into traces."""

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from linattn_verify.configs.plan import Kind, Memory, Scenario
from linattn_verify.engine.answers import answer_of, answer_record
from linattn_verify.engine.drive import Job, drive
from linattn_verify.engine.messages import EngineFacts, Run, Serve, States
from linattn_verify.engine.passes import passes
from linattn_verify.engine.rows import Row, RowMaker, record_of
from linattn_verify.engine.scheduler import RecordingScheduler
from linattn_verify.engine.submission import answering, prompt_of, sampling, task_salt
from linattn_verify.traces.difference import first_difference
from linattn_verify.traces.schema import Filled, RequestRecord, TraceRecord
from linattn_verify.traces.states import Part
from linattn_verify.traces.store import frame_of, read_trace, write_states, write_trace

_FEW = 2  # requests at a time in a small pool
_MOST_ROUNDS = 64
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
        self.filled: Filled | None = None
        self._rpc("linattn_install")

    def run(self, run: Run, report: Report) -> None:
        """Serve the prompts as `run.scenario`, write the trace."""
        started = self._begin(run)
        if run.states:
            self._rpc("linattn_read_states", run.states.most_bytes)
        records, rows = self._rounds(run, report)
        more: dict[str, Any] = {
            "allocated_blocks": self.scheduler.allocated_blocks,
            "handed_out_blocks": self._rpc("linattn_handed_out")[0],
            "state_rows": self._write_states(run.states),
            **self._suspects(run, rows, report),
        }
        self._write(run, "positions", records, rows, started, **more)

    def _rounds(self, run: Run, report: Report) -> tuple[list[RequestRecord], list[Row]]:
        """What the scenario serves. In a small pool again and again, until more blocks have been
        handed out than there are: the last round then uses blocks that others have had."""
        records, rows = self._prompts(run, report)
        for number in range(1, _MOST_ROUNDS):
            if not run.scenario.tight or self._blocks_were_reused():
                break
            records, rows = self._prompts(run, report, number)
        return records, rows

    def _blocks_were_reused(self) -> bool:
        return self.scheduler.allocated_blocks > self.scheduler.pool_blocks

    def _prompts(
        self, run: Run, report: Report, round_: int = 0
    ) -> tuple[list[RequestRecord], list[Row]]:
        """Every pass of the scenario, in order."""
        todo = passes(run, self.facts.block_size, round_)
        total = sum(one.tokens() for one in todo)
        maker = RowMaker(run.top_k, self._text)
        records: list[RequestRecord] = []
        rows: list[Row] = []
        for one in todo:
            jobs = [Job(prompt_of(a.token_ids, a.salt), sampling(a, run.top_k)) for a in one.asks]
            together = _FEW if run.scenario.tight else len(jobs)
            done = dict(self._drive(run.scenario, jobs, together, total, report))
            for index, ask in enumerate(one.asks):
                if ask.record:
                    record = record_of(ask, *done[index])
                    records.append(record)
                    rows += maker.rows(ask, done[index][0], record)
        return records, rows

    def _write_states(self, wanted: States | None) -> int:
        """Write the states that were read; returns the number of rows."""
        if wanted is None:
            return 0
        rows = [row for worker in self._rpc("linattn_take_states") for row in worker]
        write_states(Path(wanted.path), rows)
        return len(rows)

    def _suspects(self, run: Run, rows: list[Row], report: Report) -> dict[str, Any]:
        """Where a twin's trace is another: whether the engine repeats itself at all, with every
        block zeroed when handed out; whether finite numbers show as well as NaN; and which kinds of
        block show NaN where they alone are not zeroed."""
        unasked = run.scenario.mutates is not None or run.scenario.memory is not Memory.NAN
        if run.baseline is None or unasked:
            return {}
        baseline = read_trace(Path(run.baseline)).rows
        if first_difference(baseline, frame_of(rows)) is None:
            return {}

        def differs(memory: Memory, cleaned: list[Part]) -> bool:
            self._make_ready(run, memory, [part.value for part in cleaned])
            again = frame_of(self._rounds(run, report)[1])
            return first_difference(baseline, again) is not None

        kinds = [Part(kind) for kind in (self.filled.tensors if self.filled else ())]
        others = {part: [p for p in kinds if p is not part] for part in kinds}
        return {
            "repeats": not differs(Memory.NAN, kinds),
            "finite_shows": differs(Memory.FINITE, []),
            "suspects": tuple(part for part in kinds if differs(Memory.NAN, others[part])),
        }

    def serve(self, command: Serve, report: Report) -> None:
        """Serve the requests of a task as `command.scenario`, write the trace."""
        scenario, requests = command.scenario, command.requests
        total = sum(len(r.token_ids) + r.max_tokens for r in requests)
        jobs = [
            Job(prompt_of(r.token_ids, task_salt(scenario, i)), answering(r))
            for i, r in enumerate(requests)
        ]
        started = self._begin(command)
        found: dict[int, tuple[RequestRecord, Row]] = {}
        driven = self._drive(scenario, jobs, command.concurrency, total, report)
        for index, (output, slices) in driven:
            forced = requests[index].forced is not None
            record = answer_record(index, output, slices, forced)
            found[index] = (record, answer_of(index, output))
        ordered = [found[index] for index in range(len(requests))]
        records, rows = [r for r, _ in ordered], [row for _, row in ordered]
        self._write(command, "answers", records, rows, started)

    def _begin(self, command: Run | Serve) -> float:
        """Make the engine ready for the scenario; the time at which it starts."""
        started = time.monotonic()
        self._make_ready(command, command.scenario.memory)
        self._rpc("linattn_inject", list(command.scenario.faults))
        self._rpc("linattn_take_top_logits")
        self.scheduler.max_num_scheduled_tokens = command.scenario.budget
        return started

    def _make_ready(
        self, command: Run | Serve, memory: Memory | None, cleaned: Sequence[str] = ()
    ) -> None:
        """Cache and pool as the scenario wants to find them, and memory filled; blocks of the kinds
        `cleaned` are zeroed when handed out, whatever memory holds."""
        scenario = command.scenario
        self.scheduler.whole_pool()
        if scenario.after is None:
            self.llm.reset_prefix_cache()
        self.filled = self._fill(memory)
        # What a former owner has left must not matter either, where blocks are used again.
        content = memory.value if memory and (scenario.twin or scenario.tight) else None
        self._rpc("linattn_hand_out", content, list(cleaned))
        if scenario.tight and isinstance(command, Run):
            longest = max(map(len, command.prompts)) + command.decode_tokens
            self.scheduler.shrink_pool(_FEW, longest)
        self.scheduler.begin()

    def _fill(self, memory: Memory | None) -> Filled | None:
        """Fill every cache tensor; what the workers say of it, added up."""
        if memory is None:
            return None
        answers = self._rpc("linattn_fill", memory.value)

        return Filled(
            content=memory,
            bytes=sum(answer["bytes"] for answer in answers),
            tensors=_added(answer["tensors"] for answer in answers),
            poisoned=_added(answer["poisoned"] for answer in answers),
        )

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
        **more: Any,
    ) -> None:
        top = [t for worker in self._rpc("linattn_take_top_logits") for t in worker]
        more = {"allocated_blocks": self.scheduler.allocated_blocks, **more}
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
            pool_blocks=self.scheduler.pool_blocks,
            filled=self.filled,
            faults=self._rpc("linattn_fired")[0],
            seconds=time.monotonic() - started,
            **more,
        )
        write_trace(Path(command.trace), record, rows)

    def _rpc(self, method: str, *args: Any) -> list[Any]:
        answers: list[Any] = self.llm.collective_rpc(method, args=args)
        return answers

    def _text(self, token: int) -> str:
        return str(self.tokenizer.decode([token]))


def _added(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    """Every worker's counts together, those that are 0 too."""
    together: dict[str, int] = {}
    for one in counts:
        for kind, number in one.items():
            together[kind] = together.get(kind, 0) + number
    return together
