"""Is greedy output the reference's, up to what the top k of both sides allow?

The rule is that of `check_logprobs_close` in vLLM's tests/models/utils.py: where the outputs first
differ, each side's token must be among the other's k most likely, and the request is not followed
further. Two holes are closed: an output that ends early or late counts, and so does NaN.

The fault it exists for: output that visibly goes another way, judged as vLLM's own tests judge it.

What it cannot see: most numeric faults. Greedy text often survives a lost state, and a wrong token
often lies within the top k; and nothing after the first difference is looked at.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from linattn_verify.checks.compare import Comparison, compare
from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.judging import Pair, each_scenario, planned_legs
from linattn_verify.checks.limits import broken, described, judge_limit
from linattn_verify.checks.registry import check
from linattn_verify.checks.result import CheckResult, Verdict
from linattn_verify.checks.selection import Selection, pass_of, select
from linattn_verify.checks.worst import place, worst_tokens
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind

NAME = "logprobs_close"
KINDS = (Kind.CHUNKED, Kind.COLD, Kind.WARM)
LEGS = (Leg.FREE,)
_RULES = ("non_finite", "length_differences", "outside_top_k")
_ORIGIN = "rule of the check"


@dataclass(frozen=True)
class Ending:
    """How one request's output compares."""

    request: int
    same: int
    """Tokens before the first difference, or before one side ends."""
    of: int
    """Tokens of the longer side."""
    differs: bool
    outside: bool
    length: bool
    where: str

    @property
    def share(self) -> float:
        """Share of the longer output that is the same from the start."""
        return self.same / self.of if self.of else 0.0


@check(
    name=NAME,
    fault="greedy output that goes another way than the reference's, or ends elsewhere",
    blind="most numeric faults: greedy text often survives a lost state; anything after the first "
    "token that differs",
    kinds=KINDS,
    legs=LEGS,
    coarse=True,
)
def logprobs_close(evidence: Evidence) -> list[CheckResult]:
    """Free-running output of every scenario against its reference."""
    return each_scenario(NAME, KINDS, evidence, _judge)


def _judge(pair: Pair) -> CheckResult:
    if not planned_legs(pair, LEGS):
        return pair.result(Verdict.VACUOUS, "planned without the free leg")
    selection = select(pair.scenario, pair.candidate.record, Leg.FREE, pair.evidence.profile)
    comparison = compare(pair.candidate, pair.reference, selection)
    counts = {"requests": len(selection.requests), **selection.left_out, **comparison.counts()}
    if not comparison.candidate_rows and not comparison.reference_rows:
        return pair.result(Verdict.VACUOUS, "no request to judge or no output", counts=counts)
    endings = [_ending(pair, comparison.frame, request) for request in sorted(selection.requests)]
    return _verdict(pair, selection, comparison, endings, counts)


def _verdict(
    pair: Pair,
    selection: Selection,
    comparison: Comparison,
    endings: list[Ending],
    counts: dict[str, int],
) -> CheckResult:
    metrics = {
        "first_difference_share": float(np.mean([e.share for e in endings])),
        "requests_differing": float(sum(e.differs for e in endings)),
        "outside_top_k": float(sum(e.outside for e in endings)),
        "length_differences": float(sum(e.length for e in endings)),
        "non_finite": float(comparison.non_finite_reference + comparison.non_finite_candidate),
    }
    outcomes = {name: judge_limit(metrics[name], 0.0, _ORIGIN) for name in _RULES}
    wrong = next(iter(broken(outcomes)), None)
    same = len(endings) - int(metrics["requests_differing"])
    message = f"{same} of {len(endings)} outputs the same; the rest within the top "
    message += f"{pair.evidence.profile.top_k} of both sides"
    if wrong:
        message = f"{described(wrong, outcomes[wrong])}: {_first(wrong, pair, comparison, endings)}"
    return pair.result(
        Verdict.FAIL if wrong else Verdict.PASS,
        message,
        metrics=metrics,
        limits=outcomes,
        counts=counts,
        worst=worst_tokens(pair.evidence, [comparison]) if wrong == "non_finite" else (),
    )


def _first(wrong: str, pair: Pair, comparison: Comparison, endings: list[Ending]) -> str:
    """The first place where the rule named `wrong` is broken, and on which side."""
    if wrong == "outside_top_k":
        return next(e.where for e in endings if e.outside)
    if wrong == "length_differences":
        return next(e.where for e in endings if e.length)
    side = "reference" if comparison.non_finite_reference else "candidate"
    row = comparison.frame[comparison.frame[f"non_finite_{side}"]].iloc[0].to_dict()
    return f"first on the {side}'s side, {place(pair.evidence, row)}"


def _ending(pair: Pair, frame: pd.DataFrame, request: int) -> Ending:
    rows = frame[frame["request"] == request]
    name = pair.prompt(request)
    both = ~(rows["missing"] | rows["unexpected"])
    equal = (rows["reference_token"] == rows["candidate_token"]).astype("boolean").fillna(False)
    apart = (~(both & equal)).to_numpy(dtype=bool)
    lengths = f"{int((~rows['unexpected']).sum())} and {int((~rows['missing']).sum())} tokens"
    if not apart.any():
        where = f"{name}: {lengths}"
        return Ending(request, len(rows), len(rows), False, False, rows.empty, where)
    same = int(apart.argmax())
    first = rows.iloc[same]
    if first["missing"] or first["unexpected"]:
        where = f"{name}: output of {lengths} (reference, candidate)"
        return Ending(request, same, len(rows), True, False, True, where)
    inside = _within_each_other(first, pair.evidence.profile.top_k)
    cut_short = not bool(both.all()) and not _stopped_by_itself(pair, request, rows)
    where = f"{place(pair.evidence, first.to_dict())}: {first['reference_text']!r} in the reference"
    where += f", {first['candidate_text']!r} in the candidate"
    where += f"; output of {lengths}" if cut_short else ""
    return Ending(request, same, len(rows), True, not inside, cut_short, where)


def _within_each_other(row: pd.Series, k: int) -> bool:
    return bool(
        row["candidate_token"] in _listed(row["reference_top_tokens"], k)
        and row["reference_token"] in _listed(row["candidate_top_tokens"], k)
    )


def _listed(tokens: object, k: int) -> list[int]:
    return tokens[:k].tolist() if isinstance(tokens, np.ndarray) else []


def _stopped_by_itself(pair: Pair, request: int, rows: pd.DataFrame) -> bool:
    """After an allowed difference the outputs are two texts: the shorter may end by itself."""
    shorter = pair.candidate if rows["missing"].any() else pair.reference
    kind = pair.scenario.kind if rows["missing"].any() else _reference_kind(pair)
    leg = pass_of(kind, Leg.FREE)
    ends = [r for r in shorter.record.requests if r.request == request and r.leg is leg]
    return any(record.finish_reason == "stop" for record in ends)


def _reference_kind(pair: Pair) -> Kind:
    return pair.evidence.scenario(pair.reference.record.scenario).kind
