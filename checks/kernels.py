"""Do the engine's own operators compute the published recurrences, in one call and in two?

The faults it exists for: an operator that ignores or misreads the state it is given, writes it to
another slot, or copies it wrongly; one that dies. It finds them without a model and says in which
operator, where a comparison of log-probabilities can only say that something is wrong.

What counts. A path counts where the engine would choose it on this machine, and where it could be
run although the engine chooses another. What cannot run here and would not be chosen (CUDA on a
machine without it, Mamba-1's scan in a CPU build) is listed in the report by name as UNSUPPORTED
and decides nothing: else no machine would ever see exit code 0. Where the engine would choose a
path that cannot be run, the check is UNSUPPORTED, which is exit code 3. Combinations of dtypes
that a build refuses are counted beside the cases. A call that an operator's signature allows and
no layer of the engine makes is run all the same; where it fails, the report lists it as FAIL, and
it decides the verdict only under `--strict`.

What it cannot see: how the engine prepares the calls (slots, starts, has_initial_state), which
path a real layer takes, and shapes that it does not try.
"""

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.kernel_paths import by_path, kernel_path, outcome, tightest_case
from linattn_verify.checks.registry import check
from linattn_verify.checks.result import (
    CheckResult,
    KernelPath,
    LimitOutcome,
    Verdict,
    without_scenario,
)
from linattn_verify.configs.kernels import CHECK
from linattn_verify.configs.plan import Need
from linattn_verify.traces.kernels import CaseStatus, KernelEvidence, KernelRow


@check(
    name=CHECK,
    fault="an operator that ignores, misreads or misplaces a state, or dies of a call",
    blind="how the engine prepares its calls; shapes that are not tried",
    needs=(Need.KERNELS,),
)
def kernels(evidence: Evidence) -> list[CheckResult]:
    """An answer for every operator and kernel path that counts."""
    if evidence.kernels is None:
        return [_alone(Verdict.VACUOUS, "no operator was called")]
    return judge(evidence.kernels)


def judge(measured: KernelEvidence, strict: bool = False) -> list[CheckResult]:
    """The answers for what was measured; `strict`: calls that no layer makes count as well."""
    results = []
    for rows in by_path(measured.rows).values():
        path = kernel_path(rows, strict)
        if path.counts:
            results.append(_result(path, [r for r in rows if strict or r.called]))
    if measured.failure:
        results.append(_alone(Verdict.ERROR, measured.failure))
    if not results and measured.rows:
        said = "; ".join(dict.fromkeys(f"{r.operator}: {r.note}" for r in measured.rows))
        return [_alone(Verdict.UNSUPPORTED, said)]
    return results or [_alone(Verdict.VACUOUS, "no operator was called")]


def _result(path: KernelPath, rows: list[KernelRow]) -> CheckResult:
    limits = _limits(rows)
    uncalled = f"; beside the verdict: {'; '.join(path.uncalled)}" if path.uncalled else ""
    return CheckResult(
        name=CHECK,
        scenario=path.name,
        reference=None,
        verdict=path.verdict,
        message=path.message + uncalled,
        metrics={what: found.value for what, found in limits.items() if found.value is not None},
        limits=limits,
        counts={
            "cases": len(rows),
            "cases_measured": path.cases,
            "cases_unsupported": sum(r.status is CaseStatus.UNSUPPORTED for r in rows),
            "faults_fired": sum(r.fired for r in rows),
        },
    )


def _limits(rows: list[KernelRow]) -> dict[str, LimitOutcome]:
    """By what was measured: the case with the least room below its limit."""
    kinds = dict.fromkeys(m.what for r in rows for m in r.measures)
    found = {}
    for what in kinds:
        alike = [
            r.model_copy(update={"measures": tuple(m for m in r.measures if m.what == what)})
            for r in rows
        ]
        tightest = tightest_case(alike)
        assert tightest is not None  # `what` is of one of them
        found[what] = outcome(tightest[1])
    return found


def _alone(verdict: Verdict, message: str) -> CheckResult:
    return without_scenario(CHECK, "every operator", verdict, message)
