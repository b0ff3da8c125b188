"""Does any result rest on memory that nobody has written?

Scenarios are served again, in the same order and steps, after every cache tensor (attention blocks,
convolution and recurrent states) has been filled with NaN, the pool dirty from the requests before,
and every block again as it is handed out; the trace must be the same, bit for bit, as on zeroed
memory. So also in a pool so small that blocks are used over and over.

The fault it exists for: a block or state slot that is read before its owner has written it, be it
untouched or stale, as where vLLM does not zero the blocks it hands out (`_zero_block_ids`). Fresh
memory holds zeros, which look like a right initial state: no other check sees it on a fresh engine.

What it cannot see: reads whose result is thrown away, which do no harm; blocks handed out while a
cache is being read (`warm-nan` goes on from what `cold-nan` left, and fills nothing itself).
"""

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.judging import (
    Pair,
    ended_badly,
    prompt_name,
    refusal,
    result_of,
    unproven,
)
from linattn_verify.checks.limits import judge_limit
from linattn_verify.checks.registry import check
from linattn_verify.checks.result import CheckResult, Verdict, without_scenario
from linattn_verify.configs.plan import Kind, Need, Scenario
from linattn_verify.traces.difference import Difference, first_difference, non_finite
from linattn_verify.traces.schema import TraceRecord

NAME = "cache_hygiene"
KINDS = (Kind.FULL, Kind.CHUNKED, Kind.COLD, Kind.WARM)
_RULE = "rule of the check"


@check(
    name=NAME,
    fault="a cache block or state slot that is read before its owner has written it",
    blind="reads whose result is thrown away; blocks handed out while a cache is being read",
    kinds=KINDS,
    needs=(Need.HYGIENE,),
)
def cache_hygiene(evidence: Evidence) -> list[CheckResult]:
    """Every scenario's twin on NaN against the scenario itself on zeros."""
    twins = [s for s in evidence.judged() if s.twin is not None]
    if twins:
        return [_answer(evidence, twin) for twin in twins]
    message = "no scenario was planned on memory filled with NaN"
    return [without_scenario(NAME, "every scenario", Verdict.VACUOUS, message)]


def _answer(evidence: Evidence, twin: Scenario) -> CheckResult:
    refused = refusal(evidence, twin) or _cache_unproven(evidence, twin)
    if refused:
        return result_of(NAME, twin, *refused)
    assert twin.reference is not None
    traces = evidence.traces
    return _judge(Pair(NAME, evidence, twin, traces[twin.name], traces[twin.reference]))


def _cache_unproven(evidence: Evidence, twin: Scenario) -> tuple[Verdict, str] | None:
    """VACUOUS where the twin goes on in a cache of which it is not proven how it was filled."""
    if twin.after is None:
        return None
    ended = ended_badly(evidence, twin.after)
    if ended is not None:
        return Verdict.VACUOUS, f"{twin.after} {ended[0]}: {ended[1]}"
    return unproven(evidence, (twin.after,))


def _judge(pair: Pair) -> CheckResult:
    rows, bad = len(pair.candidate.rows), non_finite(pair.candidate.rows)
    difference = first_difference(pair.reference.rows, pair.candidate.rows)
    metrics = {
        "rows_differing": float(difference.rows if difference else 0),
        "non_finite": float(bad),
    }
    excuse = _excuse(pair, difference, bad)
    verdict, message = excuse or _verdict(pair, difference, rows, bad)
    limits = {} if excuse else {name: judge_limit(v, 0.0, _RULE) for name, v in metrics.items()}
    counts = {"rows_compared": rows, **_blocks(pair.candidate.record)}
    return pair.result(verdict, message, metrics=metrics, limits=limits, counts=counts)


def _excuse(pair: Pair, difference: Difference | None, bad: int) -> tuple[Verdict, str] | None:
    """The verdict where a difference is no fault of memory."""
    if difference is None:
        return None
    after = pair.evidence.traces.get(pair.scenario.after or "")
    records = [pair.candidate.record, *([after.record] if after else [])]
    if not bad and any(record.repeats is False for record in records):
        return Verdict.INCONCLUSIVE, (
            f"{difference.rows:,} of {difference.compared:,} rows differ, but so they do on zeroed "
            "memory: this engine does not repeat itself bit for bit"
        )
    harmless = any(record.finite_shows is False for record in records)
    if harmless and pair.evidence.linear_attention is False:
        return Verdict.PASS, (
            f"NaN shows in {difference.rows:,} rows, finite numbers in none: unwritten keys have "
            "no weight, and blocks of a model without states hold finite keys and values alone"
        )
    return None


def _verdict(pair: Pair, difference: Difference | None, rows: int, bad: int) -> tuple[Verdict, str]:
    record = pair.candidate.record
    if difference is not None:
        return Verdict.FAIL, _differs(pair, difference, record)
    if bad:
        return Verdict.FAIL, f"NaN or infinity at {bad} positions, on zeroed memory too"
    there = set(pair.candidate.rows["leg"])
    missing = [leg for leg in pair.scenario.legs if leg.value not in there]
    if missing or not rows:
        return Verdict.VACUOUS, f"nothing was compared in: {', '.join(missing) or 'any leg'}"
    said = f"{rows:,} rows the same, bit for bit"
    if pair.scenario.tight:
        said += f"; {record.allocated_blocks} blocks handed out from {record.pool_blocks}"
    return Verdict.PASS, said


def _differs(pair: Pair, difference: Difference, record: TraceRecord) -> str:
    what = _what(difference)
    place = f"{prompt_name(pair.evidence, difference.request)} position {difference.position}"
    where = f"{difference.leg} leg, {place} (chunk {difference.chunk})"
    kinds = " and ".join(record.suspects)
    rests = (
        f"{kinds} blocks are read before they are written"
        if kinds
        else "no kind of block alone is read before it is written"
    )
    if pair.scenario.after:
        rests = f"the states saved by {pair.scenario.after} were made on NaN"
    return (
        f"{what} first at {where}; {difference.rows:,} of {difference.compared:,} rows differ, "
        f"{difference.nan:,} hold NaN; {rests}"
    )


def _what(difference: Difference) -> str:
    """Nine digits tell any two float32 apart."""
    reference, candidate = difference.reference_logprob, difference.candidate_logprob
    if candidate is None:
        return "NaN" if difference.nan else "nothing"
    if candidate == reference:
        return "another token, rank or alternative"
    before = "nothing" if reference is None else f"{reference:.9g}"
    return f"{candidate:.9g} in place of {before}"


def _blocks(record: TraceRecord) -> dict[str, int]:
    return {"blocks_in_the_pool": record.pool_blocks, "blocks_handed_out": record.allocated_blocks}
