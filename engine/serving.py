"""Serves scenarios on a loaded engine and turns what it did into traces."""

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from vllm import SamplingParams

from linattn_verify.engine.forcing import FORCED
from linattn_verify.engine.messages import EngineFacts, Run
from linattn_verify.engine.passes import Ask, Pass, passes
from linattn_verify.engine.rows import Row, RowMaker, record_of
from linattn_verify.engine.scheduler import RecordingScheduler
from linattn_verify.traces.schema import RequestRecord, TraceRecord
from linattn_verify.traces.store import write_trace

_EVERY = 0.2  # seconds between two reports of progress


class Server:
    """One loaded engine, serving scenarios one after another."""

    def __init__(self, llm: Any, engine: str, facts: EngineFacts) -> None:
        self.llm = llm
        self.engine = engine
        self.facts = facts
        self.scheduler: RecordingScheduler = llm.llm_engine.engine_core.engine_core.scheduler
        self.tokenizer = llm.get_tokenizer()

    def run(self, run: Run, progress: Callable[[int, int], None]) -> float:
        """Serve the workload as `run.scenario`, write the trace, return the seconds taken."""
        started = time.monotonic()
        todo = passes(run, self.facts.block_size)
        report = _throttled(progress, sum(p.tokens() for p in todo))
        maker = RowMaker(run.top_k, self._text)
        records: list[RequestRecord] = []
        rows: list[Row] = []
        self._begin(run)
        for one in todo:
            for wave in _waves(one, run.scenario.budget):
                for ask, output, record in self._serve(wave, run.top_k, report):
                    records.append(record)
                    rows += maker.rows(ask, output, record)
        seconds = time.monotonic() - started
        write_trace(Path(run.trace), self._record(run, records, seconds), rows)
        return seconds

    def _begin(self, run: Run) -> None:
        if run.scenario.after is None:
            self.llm.reset_prefix_cache()
        self._rpc("linattn_inject", list(run.scenario.faults))
        self._rpc("linattn_take_top_logits")
        self.scheduler.max_num_scheduled_tokens = run.scenario.budget

    def _serve(
        self, wave: Pass, top_k: int, report: Callable[[int], None]
    ) -> Iterator[tuple[Ask, Any, RequestRecord]]:
        """Submit the wave, step the engine until it is served, yield what was asked to be kept."""
        engine = self.llm.llm_engine
        self.scheduler.forget()
        ids = {str(i): engine.add_request(str(i), _prompt(a), _sampling(a, top_k))
               for i, a in enumerate(wave.asks)}  # fmt: skip
        outputs: dict[str, Any] = {}
        while engine.has_unfinished_requests():
            outputs |= {o.request_id: o for o in engine.step() if o.finished}
            report(self.scheduler.recorded_tokens)
        report(-self.scheduler.recorded_tokens)
        for name, internal in ids.items():
            ask = wave.asks[int(name)]
            if ask.record:
                slices = self.scheduler.slices.get(internal, [])
                cached = outputs[name].num_cached_tokens or 0
                yield ask, outputs[name], record_of(ask, outputs[name], slices, cached)

    def _record(self, run: Run, records: list[RequestRecord], seconds: float) -> TraceRecord:
        top = [t for worker in self._rpc("linattn_take_top_logits") for t in worker]
        return TraceRecord(
            scenario=run.scenario.name,
            engine=self.engine,
            budget=self.scheduler.max_num_scheduled_tokens,
            prefix_caching=self.facts.prefix_caching,
            block_size=self.facts.block_size,
            logits_dtype=self.facts.dtype,
            top_logit=statistics.median(top) if top else None,
            requests=tuple(records),
            faults=self._rpc("linattn_fired")[0],
            seconds=seconds,
        )

    def _rpc(self, method: str, *args: Any) -> list[Any]:
        answers: list[Any] = self.llm.collective_rpc(method, args=args)
        return answers

    def _text(self, token: int) -> str:
        return str(self.tokenizer.decode([token]))


def _prompt(ask: Ask) -> dict[str, Any]:
    prompt: dict[str, Any] = {"prompt_token_ids": list(ask.token_ids)}
    return prompt | ({"cache_salt": ask.salt} if ask.salt else {})


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


def _waves(one: Pass, budget: int) -> Iterator[Pass]:
    """All requests at once, but for prompts longer than the step budget there is no other way
    than chunks: only where each prompt fits into a step are they grouped so that each does."""
    if any(len(a.token_ids) > budget for a in one.asks):
        yield one
        return
    wave: list[Ask] = []
    for ask in one.asks:
        if wave and sum(len(a.token_ids) for a in wave) + len(ask.token_ids) > budget:
            yield Pass(tuple(wave))
            wave = []
        wave.append(ask)
    yield Pass(tuple(wave))


def _throttled(progress: Callable[[int, int], None], total: int) -> Callable[[int], None]:
    """Reports tokens done of `total`; a negative number closes a wave and keeps its tokens."""
    before = 0
    last = 0.0

    def report(tokens: int) -> None:
        nonlocal before, last
        now = time.monotonic()
        if tokens < 0:
            before -= tokens
        elif now - last > _EVERY:
            last = now
            progress(min(before + tokens, total), total)

    return report
