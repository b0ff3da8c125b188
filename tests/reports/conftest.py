"""Made evidence: a run over three scenarios, whole or with something wrong."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache

import pytest

from linattn_verify.checks.evidence import EngineSettings, Evidence
from linattn_verify.checks.result import (
    CheckResult,
    LimitOutcome,
    Proof,
    Sensitivity,
    Verdict,
    WorstToken,
)
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import EnginePlan, Kind, Plan, Scenario
from linattn_verify.configs.profile import EngineValue, Limit, Profile
from linattn_verify.reports.build import build_report
from linattn_verify.reports.document import (
    Cpu,
    Environment,
    Model,
    Phase,
    Prompt,
    Report,
    Workload,
)
from linattn_verify.reports.terminal import render_text
from linattn_verify.traces.outcome import Outcome, Status
from tests.reports.pages import compact
from tests.reports.state_results import clean, lost, states_of
from tests.reports.task_results import BETTER, FILTERS, STEADY, WORSE, flip_of, score_of, scored

NOISE = "four times the largest value in 20 healthy runs of 7 model families in bfloat16"
IDENTICAL = "nothing has been continued in a first chunk, so only kernel shapes differ"
STATISTICS = ("mean", "p50", "p90", "p99", "p99_9", "max", "kl_k3", "kl_top_k", "top1_changed")
SIZES = (0.0037, 0.0011, 0.0121, 0.0287, 0.0413, 0.0625, 0.00021, 0.00018, 0.0041)
LIMITS = (0.02, None, None, 0.15, 0.4, 1.2, 0.001, 0.001, 0.02)
SHARES = {
    "first": 0.0,
    "all": 0.8,
    "later": 1.0,
    "edge+0": 1.31,
    "edge+1..3": 1.17,
    "edge+64..": 0.9,
}
LEFT_OUT = {"requests": 2, "requests_left_out_short": 3}


def metrics_of(legs: tuple[str, ...], scale: float = 1.0) -> dict[str, float]:
    """Statistics of a healthy bfloat16 run, by segment; `scale` makes it a broken one."""
    made = {
        f"{leg}.{segment}.{statistic}": size * share * scale
        for leg in legs
        for segment, share in SHARES.items()
        for statistic, size in zip(STATISTICS, SIZES, strict=True)
    }
    return made | {f"{leg}.all.non_finite": 0.0 for leg in legs}


def limits_of(metrics: dict[str, float]) -> dict[str, LimitOutcome]:
    """The profile's limits; a tenth of them for the first segment."""
    by_statistic = dict(zip(STATISTICS, LIMITS, strict=True)) | {"non_finite": 0.0}
    outcomes = {}
    for name, value in metrics.items():
        limit = by_statistic[name.rsplit(".", 1)[1]]
        if limit is not None:
            first = ".first." in name
            outcomes[name] = outcome(value, limit / 10 if first else limit, first)
    return outcomes


def outcome(value: float, limit: float, first: bool = False) -> LimitOutcome:
    return LimitOutcome(
        value=value,
        limit=limit,
        origin=IDENTICAL if first else NOISE,
        holds=value <= limit,
        margin=limit / value if value else None,
    )


def worst(text: str, position: int, delta: float | None = 0.0625, note: str = "") -> WorstToken:
    return WorstToken(
        request=0,
        prompt="ledger",
        leg="prompt",
        position=position,
        text=text,
        chunk=2,
        edge_distance=3,
        reference_logprob=-2.5,
        candidate_logprob=None if delta is None else -2.5 - delta,
        delta=delta,
        note=note,
    )


def comparison(scenario: str, scale: float = 1.0) -> CheckResult:
    """One scenario compared with `full`; ten times the noise breaks limits."""
    legs = ("prompt", "decode", "cut") if scenario == "warm" else ("prompt", "decode")
    metrics = metrics_of(legs, scale)
    limits = limits_of(metrics)
    broken = [name for name, o in limits.items() if not o.holds]
    return CheckResult(
        name="chunked-prefill" if scenario.startswith("chunked") else "prefix-cache",
        scenario=scenario,
        reference="full",
        verdict=Verdict.FAIL if broken else Verdict.PASS,
        message=(
            f"{len(broken)} of {len(limits)} limits are broken, the worst right behind the edges: "
            "state is lost between chunks"
            if broken
            else "Log-probabilities agree within the noise of bfloat16 in every segment."
        ),
        metrics=metrics,
        limits=limits,
        counts={
            f"{leg}.{name}": count
            for leg, rows in zip(legs, (9823, 32, 7), strict=False)
            for name, count in {**LEFT_OUT, "cached": 20, "compared": rows}.items()
        },
        worst=tuple(worst(t, p) for t, p in ((" harbour", 515), ("\n", 768), (" the", 1029))),
    )


def agreement(scenario: str, outside: float = 0.0) -> CheckResult:
    """Free-running output of one scenario: a few numbers, without leg or segment."""
    held = outcome(0.0, 0.0).model_copy(update={"origin": "rule of the check"})
    broken = {"value": outside, "holds": not outside, "margin": 0.0 if outside else None}
    return CheckResult(
        name="logprobs-close",
        scenario=scenario,
        reference="full",
        verdict=Verdict.FAIL if outside else Verdict.PASS,
        message="1 of 2 outputs the same",
        metrics={"requests_differing": 1.0, "outside_top_k": outside, "non_finite": 0.0},
        limits={"outside_top_k": held.model_copy(update=broken), "non_finite": held},
        counts={**LEFT_OUT, "compared": 32},
    )


def lone(name: str, scenario: str, verdict: Verdict, message: str) -> CheckResult:
    return CheckResult(
        name=name, scenario=scenario, reference=None, verdict=verdict, message=message
    )


def proofs(cached: int = 3584) -> dict[str, tuple[Proof, ...]]:
    """What was proven: `warm` hit the cache, unless nothing was cached."""

    def proof(name: str, expected: str, observed: str, holds: bool = True) -> Proof:
        return Proof(name=name, expected=expected, observed=observed, holds=holds)

    return {
        "full": (
            proof("one prefill step a request", "1 step for 10 of 10", "1 step for 10 of 10"),
        ),
        "chunked@256": (
            proof("chunks of the asked size", "no chunk above 256", "largest chunk 256"),
            proof("at least 3 chunks a request", "≥ 3", "[5, 5, 5, 5, 4, 4, 4, 3, 3, 3]"),
        ),
        "warm": (
            proof("a prefix came from the cache", "> 0 cached tokens", f"{cached}", cached > 0),
        ),
    }


def plan(twins: tuple[str, ...] = ()) -> Plan:
    """`twins`: the scenarios that are served once more on NaN."""

    def scenario(name: str, kind: Kind, reference: str | None, budget: int) -> Scenario:
        legs = (Leg.PROMPT, Leg.DECODE)
        return Scenario(name=name, kind=kind, reference=reference, budget=budget, legs=legs)

    def with_twins(*served: Scenario) -> tuple[Scenario, ...]:
        again = [s for s in served if s.name in twins]
        named = ({"name": f"{s.name}-nan", "reference": s.name, "twin": s.name} for s in again)
        copies = (s.model_copy(update=u) for s, u in zip(again, named, strict=True))
        return (*served, *copies)

    asked: dict[str, EngineValue] = {
        "dtype": "bfloat16",
        "seed": 0,
        "max_model_len": 2048,
        "enforce_eager": True,
    }
    return Plan(
        engines=(
            EnginePlan(
                name="plain",
                requested={**asked, "enable_prefix_caching": False},
                scenarios=with_twins(
                    scenario("full", Kind.FULL, None, 16384),
                    scenario("chunked@256", Kind.CHUNKED, "full", 256),
                ),
            ),
            EnginePlan(
                name="cached",
                requested={**asked, "enable_prefix_caching": True, "mamba_cache_mode": "all"},
                scenarios=with_twins(scenario("warm", Kind.WARM, "full", 16384)),
            ),
        )
    )


def settings(engine: EnginePlan) -> EngineSettings:
    cached = engine.name == "cached"
    resolved = {**engine.requested, "dtype": "torch.bfloat16", "block_size": 128}
    if cached:
        resolved["mamba_cache_mode"] = "align"
    return EngineSettings(
        requested=dict(engine.requested),
        resolved=resolved,
        notes=("WARNING mamba_cache_mode 'all' is not supported, using 'align'",) if cached else (),
    )


def outcomes(twins: tuple[str, ...] = ()) -> dict[str, Outcome]:
    return {
        s.name: Outcome(
            scenario=s.name,
            engine=e.name,
            status=Status.DONE,
            trace=f"traces/{s.name}.parquet",
            seconds=2.25,
        )
        for e in plan(twins).engines
        for s in e.scenarios
    }


@dataclass(frozen=True)
class Made:
    """The inputs of a report; `replace` what shall be different."""

    results: tuple[CheckResult, ...] = (
        comparison("chunked@256"),
        agreement("chunked@256"),
        comparison("warm", 0.5),
    )
    outcomes: dict[str, Outcome] = field(default_factory=outcomes)
    proofs: dict[str, tuple[Proof, ...]] = field(default_factory=proofs)
    linear_attention: bool = True
    notes: tuple[str, ...] = ()
    twins: tuple[str, ...] = ()
    """Scenarios that are served once more; `served_again` makes what belongs to them."""
    sensitivity: tuple[Sensitivity, ...] = ()
    run_folder: str = "runs/2026-01-17T09-30-00-tiny-qwen3.5"

    def report(self) -> Report:
        return build_report(
            evidence=self._evidence(),
            results=self.results,
            model=self._model(),
            workload=Workload(
                source="embedded texts",
                prompts=(Prompt(id="ledger", tokens=1187), Prompt(id="story", tokens=811)),
                decode_tokens=16,
            ),
            environment=_environment(),
            run_folder=self.run_folder,
            phases=(
                Phase(name="import the engine", seconds=9.5),
                Phase(name="serve", seconds=41.0),
                Phase(name="judge", seconds=0.4),
            ),
            notes=self.notes,
            sensitivity=self.sensitivity,
            created=datetime(2026, 1, 17, 9, 31, tzinfo=UTC),
        )

    def _evidence(self) -> Evidence:
        profile = Profile(
            name="ci",
            description="Every change to the engine",
            budgets=(256,),
            limits={"bfloat16": {"mean": Limit(limit=0.02, origin=NOISE)}},
        )
        return Evidence(
            plan=plan(self.twins),
            profile=profile,
            prompt_names=("ledger", "story"),
            outcomes=self.outcomes,
            traces={},
            engines={e.name: settings(e) for e in plan().engines},
            proofs=self.proofs,
        )

    def _model(self) -> Model:
        linear = self.linear_attention
        return Model(
            name="tiny-qwen3.5",
            path="models/tiny-qwen3.5",
            architecture="Qwen3_5ForCausalLM",
            dtype="bfloat16",
            linear_attention=linear,
            layers={"linear attention": 3, "full attention": 1} if linear else {"attention": 4},
            vocab_size=4099,
            parameters=3_141_593,
            weights_digest="sha256:7c1f0e5b3a",
        )


def _environment() -> Environment:
    return Environment(
        versions={"vllm": "0.32.0", "torch": "2.13.0", "transformers": "5.19", "python": "3.11.9"},
        cpu=Cpu(model="Example CPU at 2.0 GHz", features=("avx2", "avx512f"), threads=2),
        platform="Linux x86_64",
        kernel_path=("gated delta net: cpu_gdn_attention", "attention: CPU_ATTN"),
        variables={"VLLM_CPU_KVCACHE_SPACE": "1"},
    )


def crashed() -> Made:
    """The engine died of a signal while it served chunked@256."""
    ends = outcomes()
    ends["chunked@256"] = Outcome(
        scenario="chunked@256",
        engine="plain",
        status=Status.CRASHED,
        message="The engine's process ended by signal 11 (SIGSEGV).",
        traceback="Traceback (most recent call last):\n  step [bold]\nRuntimeError: \x1b[31mred\n",
        log_tail=tuple(f"line {n} of the engine's log" for n in range(1, 14)),
        seconds=1.5,
    )
    failed = lone("completes", "chunked@256", Verdict.FAIL, "The engine died of SIGSEGV.")
    return Made(results=(comparison("warm"), failed), outcomes=ends)


def vacuous() -> Made:
    """`warm` ran, but nothing came from the cache."""
    missing = lone("prefix-cache", "warm", Verdict.VACUOUS, "A proof is missing.")
    return Made(results=(comparison("chunked@256"), missing), proofs=proofs(cached=0))


def unmeasured() -> Made:
    """A candidate full of NaN: nothing to average, one limit without a value."""
    base = comparison("chunked@256")
    nothing = LimitOutcome(value=None, limit=0.02, origin=NOISE, holds=False, margin=None)
    result = base.model_copy(
        update={
            "verdict": Verdict.FAIL,
            "message": "3 log-probabilities are NaN.",
            "metrics": {"prompt.all.mean": math.nan, "prompt.all.max": math.inf},
            "limits": {"prompt.all.mean": nothing},
            "worst": (worst(" of", 257, delta=None, note="candidate NaN"),),
        }
    )
    return Made(results=(result,))


def with_tasks() -> Made:
    """Prompts and a task, both as they should be; two questions flip in chunks."""
    flips = (
        *(flip_of(name) for name in FILTERS),
        flip_of(question=40, change="gained", parted_at=3, reference_lead=1.25),
        flip_of(question=41, change="gained", parted_at=None, reference_lead=None),
    )
    return Made(
        results=(
            comparison("chunked@256"),
            scored("full"),
            scored("chunked@256", BETTER, flips),
            scored("warm", STEADY),
        )
    )


def with_states(*results: CheckResult) -> Made:
    """States and memory, with `full` and `chunked@256` served once more on NaN."""
    twins = ("full", "chunked@256")
    poisoned = Proof(name="poison", expected="NaN before", observed="NaN everywhere", holds=True)
    again = {f"{name}-nan": (*proofs()[name], poisoned) for name in twins}
    return Made(
        results=(comparison("chunked@256"), *(clean(f"{name}-nan") for name in twins), *results),
        outcomes=outcomes(twins),
        proofs={**proofs(), **again},
        twins=twins,
    )


MAKERS: dict[str, Callable[[], Made]] = {
    "pass": Made,
    "fail": lambda: Made(
        results=(
            comparison("warm"),
            comparison("chunked@256", 31.0),
            agreement("chunked@256", 3.0),
            agreement("warm"),
        )
    ),
    "vacuous": vacuous,
    "crash": crashed,
    "unmeasured": unmeasured,
    "nothing judged": lambda: Made(results=(), proofs={}),
    "tasks": with_tasks,
    "tasks that fail": lambda: Made(
        results=(
            scored("full"),
            scored(
                "chunked@256",
                WORSE,
                tuple(flip_of(question=n) for n in range(15)),
                verdict=Verdict.FAIL,
                message="strict-match: a real drop",
                scores=tuple(score_of(name, WORSE, verdict=Verdict.FAIL) for name in FILTERS),
            ),
            scored(
                "warm",
                STEADY,
                verdict=Verdict.INCONCLUSIVE,
                message="made up",
                scores=tuple(score_of(n, STEADY, verdict=Verdict.INCONCLUSIVE) for n in FILTERS),
            ),
        )
    ),
    "states": lambda: with_states(states_of("chunked@256"), states_of("warm", restored=3)),
    "states that part": lambda: with_states(states_of("chunked@256"), lost("warm")),
    "dense": lambda: Made(linear_attention=False, notes=("A note of the run.",)),
}


@cache
def report_of(kind: str) -> Report:
    return MAKERS[kind]().report()


@pytest.fixture(params=sorted(MAKERS), scope="session")
def any_report(request: pytest.FixtureRequest) -> Report:
    """A report of each kind."""
    return report_of(request.param)


@pytest.fixture(scope="session")
def made() -> Callable[..., Report]:
    """`made("pass", results=…)`: the report of that kind, with some inputs replaced."""

    def make(kind: str, **changes: object) -> Report:
        if not changes:
            return report_of(kind)
        return replace(MAKERS[kind](), **changes).report()  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="session")
def compared() -> Callable[..., CheckResult]:
    """`compared("warm", 0.5)`: a scenario compared with `full`, at that share of the noise."""
    return comparison


@pytest.fixture(params=[compact, render_text], ids=["compact", "full"], scope="module")
def page(request: pytest.FixtureRequest) -> Callable[..., str]:
    """Either page, as a function of report and width; each is rendered once."""
    rendered: dict[tuple[int, int], tuple[Report, str]] = {}

    def shown(report: Report, width: int = 80) -> str:
        key = id(report), width
        if key not in rendered:
            rendered[key] = report, request.param(report, width)
        return rendered[key][1]

    return shown
