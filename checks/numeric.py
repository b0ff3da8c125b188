"""Log-probabilities against the reference's: the judgement of every numeric check."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from linattn_verify.checks.compare import Comparison, compare
from linattn_verify.checks.contrasts import contrasts
from linattn_verify.checks.judging import Pair, class_limits, planned_legs
from linattn_verify.checks.limits import broken, described, finite, judge_limits, tightest
from linattn_verify.checks.result import CheckResult, LimitOutcome, Verdict
from linattn_verify.checks.selection import Selection, select
from linattn_verify.checks.statistics import Least, measure
from linattn_verify.checks.worst import place, what_is_wrong, worst_place, worst_tokens
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.metrics import CONTRASTS, DOUBTS, Segment
from linattn_verify.configs.plan import Kind

_VIOLATIONS = {
    "missing": "the candidate has no row of",
    "unexpected": "the reference has no row of",
    "token_mismatch": "the candidate was forced along another token at",
    "non_finite_reference": "on the reference's side",
    "non_finite_candidate": "on the candidate's side",
}
"""What fails whatever the profile says, in the order in which it is named."""


@dataclass(frozen=True)
class LegTable:
    """One leg of one scenario: who was judged, and how the sides compare."""

    selection: Selection
    comparison: Comparison

    def counts(self) -> dict[str, int]:
        """Counts under the leg's name: requests judged and left out, rows by their fate."""
        requests = {"requests": len(self.selection.requests), **self.selection.left_out}
        both = {**requests, **self.comparison.counts()}
        return {f"{self.selection.leg}.{name}": count for name, count in both.items()}


def judge_numerically(pair: Pair, legs: Sequence[Leg]) -> CheckResult:
    """The verdict on `legs`: whole and finite, within the limits, and not about nothing."""
    tables = [_table(pair, leg) for leg in planned_legs(pair, legs)]
    if not tables:
        return pair.result(Verdict.VACUOUS, f"planned without the legs {', '.join(legs)}")
    metrics = _metrics(pair, tables)
    limits, no_limits = class_limits(pair.evidence, pair.candidate.record.engine)
    outcomes = judge_limits(metrics, limits)
    verdict, message = _verdict(pair, tables, metrics, outcomes, no_limits)
    return pair.result(
        verdict,
        message,
        metrics=finite(metrics),
        limits=outcomes,
        counts={name: n for table in tables for name, n in table.counts().items()},
        worst=worst_tokens(pair.evidence, [t.comparison for t in tables]),
    )


def _table(pair: Pair, leg: Leg) -> LegTable:
    selection = select(pair.scenario, pair.candidate.record, leg, pair.evidence.profile)
    return LegTable(selection, compare(pair.candidate, pair.reference, selection))


def _metrics(pair: Pair, tables: Sequence[LegTable]) -> dict[str, float]:
    of = pair.reference.record
    profile = pair.evidence.profile
    least = Least(averages=profile.min_positions_mean, shares=profile.min_positions_share)
    found = [measure(t.comparison, of.logits_dtype, of.top_logit, least) for t in tables]
    metrics = {name: value for metrics in found for name, value in metrics.items()}
    if pair.scenario.kind is Kind.AGAIN:  # nothing is continued, so nothing comes before that
        return {name: v for name, v in metrics.items() if f".{Segment.FIRST}." not in name}
    for table in tables:
        if table.selection.leg is Leg.PROMPT:
            metrics |= contrasts(pair.evidence, pair.scenario, table.comparison)
    return metrics


def _verdict(
    pair: Pair,
    tables: Sequence[LegTable],
    metrics: dict[str, float],
    outcomes: dict[str, LimitOutcome],
    no_limits: str,
) -> tuple[Verdict, str]:
    """What is wrong comes before what is missing: one empty leg hides no fault of another."""
    broken_reference = next((t for t in tables if _reference_is_nothing(t)), None)
    if broken_reference:
        leg = broken_reference.selection.leg
        return Verdict.ERROR, (
            f"{leg} leg: the reference {pair.scenario.reference} has no finite log-probability, so "
            "there is nothing to compare with: look at the checkpoint and at full prefill"
        )
    violation = next((text for table in tables if (text := _violation(pair, table))), None)
    if violation:
        return Verdict.FAIL, violation
    beyond = broken(outcomes)
    wrong = _tightest_but(CONTRASTS, beyond) or _tightest_but(DOUBTS, beyond)
    if wrong:
        return Verdict.FAIL, _broken_message(pair, tables, wrong, outcomes)
    doubt = tightest(beyond)
    if doubt:
        return Verdict.INCONCLUSIVE, f"{DOUBTS[doubt]}; {described(doubt, outcomes[doubt])}"
    nothing = next((text for table in tables if (text := _nothing(pair, table, metrics))), None)
    if nothing:
        return Verdict.VACUOUS, nothing
    tight = tightest(outcomes)
    if not tight:
        return Verdict.VACUOUS, no_limits or "no limit of the profile is about any metric here"
    return Verdict.PASS, f"tightest: {described(tight, outcomes[tight])}; {_extent(tables)}"


def _tightest_but(left_out: Collection[str], beyond: dict[str, LimitOutcome]) -> str | None:
    return tightest({name: outcome for name, outcome in beyond.items() if name not in left_out})


def _reference_is_nothing(table: LegTable) -> bool:
    rows = table.comparison.reference_rows
    return 0 < rows == table.comparison.non_finite_reference


def _violation(pair: Pair, table: LegTable) -> str | None:
    """The first violation of a leg in words: what, where, on which side, and how many."""
    frame, leg = table.comparison.frame, table.selection.leg
    for flag, text in _VIOLATIONS.items():
        rows = frame[frame[flag]]
        if len(rows):
            row = rows.iloc[0].to_dict()
            if flag.startswith("non_finite"):
                text = (
                    f"{what_is_wrong(row[flag.removeprefix('non_finite_') + '_logprob'])} {text},"
                )
            where = f"{leg} leg, {place(pair.evidence, row)}"
            extent = f"{len(rows)} such positions in {rows['request'].nunique()} requests"
            return f"{text} {where}; {extent}"
    return None


def _nothing(pair: Pair, table: LegTable, metrics: dict[str, float]) -> str | None:
    """Why a leg says nothing; None where it does."""
    leg = table.selection.leg
    if not table.selection.records:
        return f"{leg} leg: no request to judge ({_advice(pair)})"
    if not table.comparison.compared:
        return f"{leg} leg: no position compared ({_advice(pair)})"
    continued = pair.scenario.kind in (Kind.CHUNKED, Kind.WARM)
    if leg is Leg.PROMPT and continued and f"{leg}.{Segment.LATER}.mean" not in metrics:
        return f"{leg} leg: no position after a chunk edge was compared ({_advice(pair)})"
    return None


def _advice(pair: Pair) -> str:
    if pair.scenario.kind is Kind.CHUNKED:
        least = (pair.evidence.profile.min_chunks - 1) * pair.scenario.budget
        return f"use prompts above {least} tokens or a smaller budget"
    return f"use prompts longer than a block of {pair.candidate.record.block_size} tokens"


def _broken_message(
    pair: Pair, tables: Sequence[LegTable], metric: str, outcomes: dict[str, LimitOutcome]
) -> str:
    count = f"{len(broken(outcomes))} of {len(outcomes)} limits broken"
    text = f"{described(metric, outcomes[metric])}; {count}"
    where = _worst_place(pair, tables, metric)
    return f"{text}; worst token there: {where}" if where else text


def _worst_place(pair: Pair, tables: Sequence[LegTable], metric: str) -> str:
    if metric in CONTRASTS:
        return ""
    leg, rest = metric.split(".", 1)
    table = next(t for t in tables if t.selection.leg == leg)
    return worst_place(pair.evidence, table.comparison, Segment(rest.rsplit(".", 1)[0]))


def _extent(tables: Sequence[LegTable]) -> str:
    positions = sum(t.comparison.compared for t in tables)
    requests = frozenset[int]().union(*(t.selection.requests for t in tables))
    return f"{positions} positions of {len(requests)} requests compared"
