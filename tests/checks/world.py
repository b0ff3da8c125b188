"""A made run: three prompts of odd lengths, five scenarios, every number known beforehand."""

from collections import Counter
from typing import Any

import pyarrow as pa

from linattn_verify.checks.compare import Comparison, compare
from linattn_verify.checks.evidence import EngineSettings, Evidence
from linattn_verify.checks.registry import checks_named
from linattn_verify.checks.result import CheckResult
from linattn_verify.checks.selection import select
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import EnginePlan, Kind, Plan, Scenario
from linattn_verify.configs.profile import Limit, Profile
from linattn_verify.traces.outcome import Outcome, Status
from linattn_verify.traces.schema import ROWS, RequestRecord, Slice, TraceRecord
from linattn_verify.traces.store import NULLABLE, Trace

NAMES = ("alpha", "beta", "gamma")
LENGTHS = (17, 23, 15)
BUDGET, BLOCK, OUTPUT = 7, 8, 5
CUTS = ((0, 9), (1, 19), (2, 11))
BOTH = (Leg.PROMPT, Leg.DECODE, Leg.FREE)
Row = dict[str, Any]


def plan() -> Plan:
    """full and chunked@7 in one engine, cold, warm and warm-2 in another."""
    warm = {"kind": Kind.WARM, "reference": "cold", "budget": 64, "legs": (*BOTH, Leg.CUT)}
    return Plan(
        engines=(
            EnginePlan(
                name="plain",
                requested={"enable_prefix_caching": False, "dtype": "auto"},
                scenarios=(
                    Scenario(name="full", kind=Kind.FULL, reference=None, budget=64, legs=BOTH),
                    Scenario(
                        name="chunked@7",
                        kind=Kind.CHUNKED,
                        reference="full",
                        budget=BUDGET,
                        legs=BOTH,
                    ),
                ),
            ),
            EnginePlan(
                name="cache",
                requested={"enable_prefix_caching": True},
                scenarios=(
                    Scenario(name="cold", kind=Kind.COLD, reference="full", budget=64, legs=BOTH),
                    Scenario.model_validate({"name": "warm", "after": "cold", **warm}),
                    Scenario.model_validate({"name": "warm-2", "after": "warm", **warm}),
                ),
            ),
        )
    )


def profile() -> Profile:
    """Limits so small and simple that every broken one can be told by hand."""
    limits = {"max": 0.5, "mean": 0.05, "first.max": 0.001, "kl_k3": 0.1, "top1_changed": 0.0}
    return Profile(
        name="made",
        description="made",
        budgets=(BUDGET,),
        decode_tokens=OUTPUT,
        top_k=3,
        min_positions_mean=1,
        min_positions_share=1,
        limits={"bfloat16": {k: Limit(limit=v, origin="made") for k, v in limits.items()}},
    )


def steps(cached: int, prompt: int, output: int, budget: int, first: int) -> tuple[Slice, ...]:
    """Prefill in slices of `budget` from `cached` on, then one step for every further token."""
    starts = [*range(cached, prompt, budget), *range(prompt, prompt + output - 1)]
    sizes = [min(budget, prompt - s) if s < prompt else 1 for s in starts]
    both = zip(starts, sizes, strict=True)
    return tuple(Slice(step=first + i, start=s, tokens=n) for i, (s, n) in enumerate(both))


def largest_step(requests: list[RequestRecord]) -> int:
    """Most tokens of a step, where passes count their steps apart; 0 without any request."""
    tokens: Counter[tuple[Leg, int]] = Counter()
    for request in requests:
        for part in request.slices:
            tokens[request.leg, part.step] += part.tokens
    return max(tokens.values(), default=0)


class World:
    """A run whose rows and records a test may bend before it is judged."""

    def __init__(self, made: Plan | None = None) -> None:
        self.plan = made or plan()
        self.profile = profile()
        self.outcomes: dict[str, Outcome] = {}
        self.engines = {
            engine.name: EngineSettings(engine.requested, {**engine.requested, "dtype": "bfloat16"})
            for engine in self.plan.engines
        }
        self.rows: dict[str, list[Row]] = {}
        self.requests: dict[str, list[RequestRecord]] = {}
        self.settings: dict[str, dict[str, Any]] = {}
        for engine in self.plan.engines:
            for scenario in engine.scenarios:
                self._serve(scenario, engine.name)

    def evidence(self) -> Evidence:
        """What the checks are given."""
        traces = {n: self.trace(n) for n, o in self.outcomes.items() if o.status is Status.DONE}
        return Evidence(
            self.plan, self.profile, NAMES, dict(self.outcomes), traces, dict(self.engines)
        )

    def judge(self, check: str, scenario: str) -> CheckResult:
        """The one answer of a check for a scenario (or an engine)."""
        (spec,) = checks_named([check])
        (result,) = [r for r in spec.run(self.evidence()) if r.scenario == scenario]
        return result

    def compared(self, name: str, leg: Leg) -> Comparison:
        """One leg of a scenario against its reference."""
        scenario = next(s for s in self.plan.scenarios() if s.name == name)
        trace = self.trace(name)
        chosen = select(scenario, trace.record, leg, self.profile)
        return compare(trace, self.trace(scenario.reference or ""), chosen)

    def trace(self, name: str) -> Trace:
        """The scenario's trace, as the store would read it."""
        table = pa.Table.from_pylist(self.rows[name], schema=ROWS)
        settings = {"largest_step": largest_step(self.requests[name]), **self.settings[name]}
        record = TraceRecord(requests=tuple(self.requests[name]), **settings)
        return Trace(record, table.to_pandas(types_mapper=NULLABLE.get))

    def row(self, scenario: str, leg: Leg, request: int, position: int) -> Row:
        """One row, to be bent in place."""
        key = (leg.value, request, position)
        return next(
            r for r in self.rows[scenario] if (r["leg"], r["request"], r["position"]) == key
        )

    def shift(self, scenario: str, leg: Leg, request: int, position: int, by: float) -> None:
        """Move one log-probability."""
        self.row(scenario, leg, request, position)["logprob"] += by

    def drop(self, scenario: str, leg: Leg, request: int, position: int) -> None:
        """Take one row away."""
        self.rows[scenario].remove(self.row(scenario, leg, request, position))

    def change_record(self, scenario: str, index: int, **fields: Any) -> None:
        """Replace fields of one request's record."""
        old = self.requests[scenario][index]
        self.requests[scenario][index] = old.model_copy(update=fields)

    def end(self, scenario: str, status: Status, message: str = "") -> None:
        """Let a scenario end some other way."""
        engine = self.outcomes[scenario].engine
        self.outcomes[scenario] = Outcome(
            scenario=scenario, engine=engine, status=status, message=message
        )

    def _serve(self, scenario: Scenario, engine: str) -> None:
        name, warm = scenario.name, scenario.kind is Kind.WARM
        self.rows[name], self.requests[name] = [], []
        caching = scenario.kind in (Kind.COLD, Kind.WARM)
        self.settings[name] = {
            **{"scenario": name, "engine": engine, "budget": scenario.budget, "seconds": 1.5},
            **{"prefix_caching": caching, "block_size": BLOCK},
            **{"logits_dtype": "bfloat16", "top_logit": 9.0},
            **{"pool_blocks": 64, "allocated_blocks": 9},
        }
        forced, free = (Leg.DECODE, (Leg.PROMPT, Leg.DECODE)), (Leg.FREE, (Leg.FREE,))
        passes = [one for one in (forced, free) if one[0] in scenario.legs]
        for leg, gives in [(Leg.FREE, BOTH)] if scenario.kind is Kind.FULL else passes:
            for request, length in enumerate(LENGTHS):
                self._request(scenario, leg, gives, request, length, OUTPUT)
        for request, cut in CUTS if warm and Leg.CUT in scenario.legs else ():
            self._request(scenario, Leg.CUT, (Leg.CUT,), request, cut, 1)
        self.outcomes[name] = Outcome(scenario=name, engine=engine, status=Status.DONE)

    def _request(
        self,
        scenario: Scenario,
        leg: Leg,
        gives: tuple[Leg, ...],
        request: int,
        length: int,
        output: int,
    ) -> None:
        earlier = [s.step for r in self.requests[scenario.name] if r.leg is leg for s in r.slices]
        cached = (length - 1) // BLOCK * BLOCK if scenario.kind is Kind.WARM else 0
        slices = steps(cached, length, output, scenario.budget, max(earlier, default=-1) + 1)
        self.requests[scenario.name].append(
            RequestRecord(
                request=request,
                leg=leg,
                prompt_tokens=length,
                output_tokens=output,
                cached_tokens=cached,
                slices=slices,
                finish_reason="length",
            )
        )
        for given in gives:
            first, last = (1, length) if given is Leg.PROMPT else (length, length + output)
            self.rows[scenario.name] += [
                made_row(request, given, position, slices, cached)
                for position in range(first, last)
            ]


def made_row(request: int, leg: Leg, position: int, slices: tuple[Slice, ...], cached: int) -> Row:
    """Probabilities e^-1, e^-2, e^-3 for the token and two others, wherever it was computed."""
    token, at = 100 * request + position, position - 1
    row: Row = {
        **{"request": request, "leg": leg.value, "position": position, "token": token},
        **{"text": f"t{token}", "logprob": None, "rank": None, "cached": at < cached},
        **{"top_tokens": [], "top_logprobs": [], "step": None},
        **{"chunk": None, "edge_distance": None},
    }
    if at < cached:
        return row
    chunk = next(i for i, s in enumerate(slices) if s.start <= at < s.start + s.tokens)
    edge = slices[chunk].start
    return row | {
        **{"logprob": -1.0, "rank": 1, "step": slices[chunk].step, "chunk": chunk},
        **{"top_tokens": [token, token + 1000, token + 2000], "top_logprobs": [-1.0, -2.0, -3.0]},
        "edge_distance": at - edge if edge else None,
    }
