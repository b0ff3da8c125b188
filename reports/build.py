"""From evidence and results to a report."""

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from os import PathLike, fspath

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.kernel_paths import by_path, kernel_path
from linattn_verify.checks.limits import tightest
from linattn_verify.checks.result import (
    EXIT_CODES,
    CheckResult,
    Sensitivity,
    Verdict,
    overall,
)
from linattn_verify.configs.plan import Scenario
from linattn_verify.reports.cases import at_best
from linattn_verify.reports.document import (
    Check,
    Environment,
    Kernels,
    KernelsReport,
    Model,
    Phase,
    ProfileName,
    Report,
    ScenarioReport,
    Tool,
    Workload,
)
from linattn_verify.reports.headline import headline
from linattn_verify.reports.series import differences
from linattn_verify.reports.settings import engine_section
from linattn_verify.traces.kernels import KernelEvidence
from linattn_verify.traces.outcome import Outcome, Status

TOOL = "linattn-verify"
NO_LINEAR_ATTENTION = (
    "This model has no linear-attention layer: no recurrent or convolution state is carried "
    "across chunks, so the checks below compare attention caches only, and state_equivalence has "
    "nothing to compare."
)


def build_report(
    *,
    evidence: Evidence,
    results: Sequence[CheckResult],
    model: Model,
    workload: Workload,
    environment: Environment,
    run_folder: str | PathLike[str],
    sensitivity: Sequence[Sensitivity] = (),
    phases: Iterable[Phase] = (),
    notes: Iterable[str] = (),
    created: datetime | None = None,
) -> Report:
    """The report on a run: everything that was judged, and the worst of it as the verdict."""
    outweighed = {(one.check, one.scenario) for one in sensitivity if one.outweighed_by}
    checks = tuple(_check(result, outweighed) for result in results)
    deciding = [check for check in checks if check.decides]
    scenarios = tuple(_scenario(evidence, planned) for planned in evidence.judged())
    mutations = (s for s in evidence.plan.scenarios() if s.mutates is not None)
    verdict = _verdict(deciding, scenarios)
    return Report(
        tool=this_tool(),
        created=created or datetime.now(UTC).replace(microsecond=0),
        verdict=verdict,
        exit_code=EXIT_CODES[verdict],
        headline=headline(verdict, deciding, scenarios),
        model=model,
        workload=workload,
        profile=ProfileName(name=evidence.profile.name, description=evidence.profile.description),
        engine=engine_section(evidence.engines),
        scenarios=scenarios,
        checks=checks,
        differences=differences(evidence),
        mutations=tuple(_scenario(evidence, planned) for planned in mutations),
        sensitivity=tuple(sensitivity),
        kernels=_kernels(evidence.kernels) if evidence.kernels else None,
        environment=environment,
        phases=tuple(phases),
        notes=_notes(model, notes),
        run_folder=fspath(run_folder),
    )


def build_kernels_report(
    *,
    measured: KernelEvidence,
    results: Sequence[CheckResult],
    environment: Environment,
    strict: bool,
    run_folder: str | PathLike[str] | None = None,
    notes: Iterable[str] = (),
    created: datetime | None = None,
) -> KernelsReport:
    """The report on the engine's operators alone."""
    checks = tuple(_check(result) for result in results)
    verdict = overall(check.verdict for check in checks)
    return KernelsReport(
        tool=this_tool(),
        created=created or datetime.now(UTC).replace(microsecond=0),
        verdict=verdict,
        exit_code=EXIT_CODES[verdict],
        headline=headline(verdict, checks, ()),
        checks=checks,
        kernels=_kernels(measured, strict),
        environment=environment,
        notes=tuple(notes),
        run_folder=None if run_folder is None else fspath(run_folder),
    )


def _kernels(measured: KernelEvidence, strict: bool = False) -> Kernels:
    return Kernels(
        paths=tuple(kernel_path(rows, strict) for rows in by_path(measured.rows).values()),
        kernel_path=measured.kernel_path,
        seconds=measured.seconds,
    )


def _verdict(checks: Sequence[Check], scenarios: Sequence[ScenarioReport]) -> Verdict:
    judged = [check.verdict for check in checks]
    if not judged:
        judged = [overall(())]
    return overall(judged + [at_best(scenario) for scenario in scenarios])


def _scenario(evidence: Evidence, planned: Scenario) -> ScenarioReport:
    engine = next(e.name for e in evidence.plan.engines if planned in e.scenarios)
    outcome = evidence.outcomes.get(planned.name) or Outcome(
        scenario=planned.name, engine=engine, status=Status.NOT_RUN, message="It left no outcome."
    )
    return ScenarioReport(
        name=planned.name,
        kind=planned.kind,
        engine=engine,
        status=outcome.status,
        reference=planned.reference,
        twin=planned.twin,
        budget=planned.budget,
        proofs=evidence.proofs.get(planned.name, ()),
        trace=outcome.trace,
        seconds=outcome.seconds,
        message=outcome.message,
        traceback=outcome.traceback,
        log_tail=outcome.log_tail,
    )


def _check(result: CheckResult, outweighed: Collection[tuple[str, str]] = ()) -> Check:
    """`outweighed`: check and scenario where a coarse check was blind to what a finer one saw."""
    blind = (result.name, result.scenario) in outweighed
    return Check(
        name=result.name,
        scenario=result.scenario,
        reference=result.reference,
        verdict=result.verdict,
        decides=not (blind and result.verdict is Verdict.VACUOUS),
        message=result.message,
        tightest=tightest(result.limits),
        metrics={name: _finite(value) for name, value in result.metrics.items()},
        limits=result.limits,
        counts=result.counts,
        worst=result.worst,
        scores=result.scores,
        flips=result.flips,
        parted=result.parted,
        states=result.states,
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None


def _notes(model: Model, notes: Iterable[str]) -> tuple[str, ...]:
    first = (NO_LINEAR_ATTENTION,) if model.linear_attention is False else ()
    return tuple(dict.fromkeys((*first, *notes)))


def this_tool() -> Tool:
    """This program and its version."""
    try:
        return Tool(name=TOOL, version=version(TOOL))
    except PackageNotFoundError:
        return Tool(name=TOOL, version="unknown")
