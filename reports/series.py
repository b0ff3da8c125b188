"""From traces to the numbers that pictures of them are made of."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from linattn_verify.checks.compare import Comparison, compare
from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.judging import prompt_name
from linattn_verify.checks.selection import pass_of, select
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Scenario
from linattn_verify.reports.differences import (
    BOUNDS,
    CURVES,
    WINDOWS,
    Curve,
    Differences,
    Distribution,
)
from linattn_verify.traces.schema import RequestRecord
from linattn_verify.traces.store import Trace

LEGS = (Leg.PROMPT, Leg.CUT, Leg.DECODE)
"""Along these both sides are forced through the same tokens."""
_DRAWN = (Kind.AGAIN, Kind.CHUNKED, Kind.COLD, Kind.WARM)
_BROKEN = ["missing", "unexpected", "token_mismatch", "non_finite_reference"]
_BROKEN += ["non_finite_candidate"]
_DIGITS = 3
Floats = npt.NDArray[np.float64]


def differences(evidence: Evidence) -> Differences | None:
    """Every scenario of the prompts against its reference, where both left a trace; None where
    nothing was compared."""
    distributions: list[Distribution] = []
    curves: list[Curve] = []
    left_out = {}
    for scenario in evidence.judged():
        if not _is_drawn(scenario, evidence):
            continue
        compared = list(_comparisons(scenario, evidence))
        distributions.extend(distribution(scenario, c) for c in compared if c.compared)
        found = _curves(scenario, compared, evidence)
        curves.extend(found[:CURVES])
        if len(found) > CURVES:
            left_out[scenario.name] = len(found) - CURVES
    if not distributions:
        return None
    return Differences(
        bounds=BOUNDS, distributions=tuple(distributions), curves=tuple(curves), left_out=left_out
    )


def _is_drawn(scenario: Scenario, evidence: Evidence) -> bool:
    """Whether it serves the prompts as they are, not a repetition to prove something else."""
    if scenario.task or scenario.tight or scenario.twin:
        return False
    sides = {scenario.name, scenario.reference}
    return scenario.kind in _DRAWN and sides <= evidence.traces.keys()


def _comparisons(scenario: Scenario, evidence: Evidence) -> Iterator[Comparison]:
    candidate = evidence.traces[scenario.name]
    reference = evidence.traces[scenario.reference or ""]
    for leg in LEGS:
        if leg in scenario.legs:
            selection = select(scenario, candidate.record, leg, evidence.profile)
            try:
                yield compare(candidate, reference, selection)
            except ValueError:
                continue  # The checks say so: such a trace is an ERROR.


def distribution(scenario: Scenario, comparison: Comparison) -> Distribution:
    """How many positions of one leg differ by how much."""
    sizes = comparison.frame.loc[comparison.frame["compared"], "abs_delta"].to_numpy(np.float64)
    classes = np.searchsorted(BOUNDS, sizes, side="right")
    return Distribution(
        scenario=scenario.name,
        reference=scenario.reference or "",
        leg=comparison.leg.value,
        compared=len(sizes),
        exact=int((sizes == 0).sum()),
        counts=tuple(np.bincount(classes, minlength=len(BOUNDS) + 1).tolist()),
    )


def _curves(
    scenario: Scenario, comparisons: Sequence[Comparison], evidence: Evidence
) -> list[Curve]:
    """One a prompt; where there are more than are kept, those that differ most first."""
    trace = evidence.traces[scenario.name]
    records = {r.request: r for r in trace.record.requests if r.leg is _drawn_pass(scenario)}
    frames = [c.frame[c.frame["compared"] | c.frame[_BROKEN].any(axis=1)] for c in comparisons]
    rows = pd.concat(frames) if frames else pd.DataFrame({"request": []})
    curves = [
        curve(scenario, trace, records[request], found, prompt_name(evidence, request))
        for request, found in ((int(str(r)), f) for r, f in rows.groupby("request"))
        if request in records
    ]
    if len(curves) <= CURVES:
        return curves
    return sorted(curves, key=_size, reverse=True)


def _drawn_pass(scenario: Scenario) -> Leg:
    """The pass whose chunks are drawn: the one that computed the whole prompt."""
    return pass_of(scenario.kind, Leg.PROMPT)


def _size(one: Curve) -> tuple[int, float]:
    return len(one.broken), max((v for v in one.largest if v is not None), default=0.0)


def curve(
    scenario: Scenario, trace: Trace, request: RequestRecord, rows: pd.DataFrame, prompt: str
) -> Curve:
    """`rows`: those of one request in every leg's comparison, compared or broken."""
    start, end = int(rows["position"].min()), int(rows["position"].max()) + 1
    stride = -(-(end - start) // WINDOWS)
    window = (rows["position"] - start) // stride
    largest = rows["abs_delta"].groupby(window).max().dropna()
    broken = window[rows[_BROKEN].any(axis=1)]
    record = trace.record
    return Curve(
        scenario=scenario.name,
        reference=scenario.reference or "",
        prompt=prompt,
        prompt_tokens=request.prompt_tokens,
        cached_tokens=request.cached_tokens,
        edges=tuple(s.start for s in request.prefill() if s.start),
        block_size=record.block_size if record.prefix_caching else 0,
        start=start,
        stride=stride,
        largest=tuple(_rounded(largest.get(at)) for at in range(-(-(end - start) // stride))),
        broken=tuple(sorted({int(at) for at in broken})),
    )


def _rounded(size: float | None) -> float | None:
    return None if size is None else float(f"{size:.{_DIGITS}g}")
