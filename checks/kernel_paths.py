"""What the cases of each operator and kernel path come to."""

import math
from collections.abc import Sequence

from linattn_verify.checks.limits import described, judge_limit, room
from linattn_verify.checks.result import KernelPath, LimitOutcome, Verdict
from linattn_verify.traces.kernels import CaseStatus, KernelRow, Measure

_DEAD = (CaseStatus.CRASHED, CaseStatus.TIMED_OUT)


def by_path(rows: Sequence[KernelRow]) -> dict[tuple[str, str], list[KernelRow]]:
    """Rows by operator and path, in their order."""
    found: dict[tuple[str, str], list[KernelRow]] = {}
    for row in rows:
        found.setdefault((row.operator, row.path), []).append(row)
    return found


def kernel_path(rows: Sequence[KernelRow], strict: bool = False) -> KernelPath:
    """The rows of one path together; `strict`: calls that no layer makes count as well."""
    counted = [row for row in rows if strict or row.called]
    measured = [row for row in counted if row.measures]
    verdict, message = _judged(counted, measured)
    found = tightest_case(measured)
    throughput = [row.gb_per_s for row in measured if row.gb_per_s is not None]
    return KernelPath(
        operator=rows[0].operator,
        path=rows[0].path,
        engine_uses=rows[0].engine_uses,
        counts=rows[0].engine_uses or any(r.status is not CaseStatus.UNSUPPORTED for r in counted),
        verdict=verdict,
        message=message,
        cases=len(measured),
        unsupported=tuple(
            r.dtypes or r.case for r in counted if r.status is CaseStatus.UNSUPPORTED
        ),
        uncalled=tuple(_failure(r) for r in rows if not r.called and not strict and _fails(r)),
        error=found[1].error if found else None,
        limit=found[1].limit if found else None,
        origin=_origin(measured, found),
        gb_per_s=min(throughput, default=None),
    )


def _origin(measured: Sequence[KernelRow], tightest: tuple[KernelRow, Measure] | None) -> str:
    """Where the limit of rounding comes from; of an exact operator, that it is exact."""
    rounded = tightest_case([r for r in measured if any(m.limit for m in r.measures)])
    if tightest is None or rounded is None or tightest[1].limit:
        return tightest[1].origin if tightest else ""
    return next(m.origin for m in rounded[0].measures if m.limit)


def outcome(measure: Measure) -> LimitOutcome:
    """A measure as a limit kept or broken."""
    error = math.nan if measure.error is None else measure.error
    return judge_limit(error, measure.limit, measure.origin)


def tightest_case(rows: Sequence[KernelRow]) -> tuple[KernelRow, Measure] | None:
    """The measure with the least room below its limit, and its case."""
    found = [(row, measure) for row in rows for measure in row.measures]
    return min(found, key=lambda pair: _room(pair[1]), default=None)


def _room(measure: Measure) -> float:
    """A number to sort by: what broke an exact limit comes before what broke a rounded one."""
    return -0.5 if measure.limit == 0 and not measure.holds else room(outcome(measure))


def _judged(counted: list[KernelRow], measured: list[KernelRow]) -> tuple[Verdict, str]:
    ours = [row for row in counted if row.status is CaseStatus.ERROR]
    failed = [row for row in counted if _fails(row)]
    if failed:
        worst = failed[0] if failed[0].status in _DEAD else _worst(failed)
        called = sum(row.status is not CaseStatus.UNSUPPORTED for row in counted)
        more = f"; {len(failed)} of {called} cases fail" if len(failed) > 1 else ""
        return Verdict.FAIL, _failure(worst) + more
    if ours:
        return Verdict.ERROR, f"{ours[0].case}: {ours[0].note}"
    refused = [row for row in counted if row.status is CaseStatus.UNSUPPORTED]
    if measured:
        return Verdict.PASS, f"{len(measured)} cases{_aside(refused)}"
    if refused:
        return Verdict.UNSUPPORTED, refused[0].note
    return Verdict.VACUOUS, "no case was measured"


def _aside(refused: list[KernelRow]) -> str:
    return f"; {len(refused)} combinations of dtypes unsupported" if refused else ""


def _fails(row: KernelRow) -> bool:
    return row.status in _DEAD or not all(measure.holds for measure in row.measures)


def _worst(failed: list[KernelRow]) -> KernelRow:
    found = tightest_case(failed)
    return found[0] if found else failed[0]


def _failure(row: KernelRow) -> str:
    """Case, and by how much it fails or what it died of."""
    often = "once" if row.fired == 1 else f"{row.fired} times"
    fault = f" (fault {row.fault} fired {often})" if row.fired else ""
    if row.status in _DEAD:
        return f"{row.case}: {row.note}{fault}"
    broken = [m for m in row.measures if not m.holds]
    worst = min(broken, key=_room)
    beside = ", ".join(m.what for m in broken if m is not worst)
    note = f", {worst.note}" if worst.note else ""
    also = f"; also {beside}" if beside else ""
    return f"{row.case}: {described(worst.what, outcome(worst))}{note}{also}{fault}"


def judge_error(path: KernelPath) -> LimitOutcome | None:
    """The path's tightest error against its limit; None where nothing was measured."""
    if path.limit is None:
        return None
    error = math.nan if path.error is None else path.error
    return judge_limit(error, path.limit, path.origin)
