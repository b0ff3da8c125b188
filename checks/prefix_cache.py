"""Does a prompt that is served from the prefix cache give what it gives when it is computed?

The fault it exists for: a cache hit restores a state that is not the one at that boundary (another
block's, partial, overwritten since, none at all), or switching the cache on changes what a request
computes without any hit.

What it cannot see: faults that the computed side shares with the restored one, hits at boundaries
that the workload does not reach, and requests that hit each other while both are running.
"""

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.judging import Pair, each_scenario
from linattn_verify.checks.numeric import judge_numerically
from linattn_verify.checks.registry import check
from linattn_verify.checks.result import CheckResult
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Need

NAME = "prefix_cache"
KINDS = (Kind.COLD, Kind.WARM)
LEGS = (Leg.PROMPT, Leg.DECODE, Leg.CUT)


@check(
    name=NAME,
    fault="a cache hit restores a state that is not the one at that boundary, or the cache "
    "changes what is computed without a hit",
    blind="faults that cold and warm share; boundaries that no prompt of the workload reaches; "
    "hits between requests that run at the same time",
    kinds=KINDS,
    legs=LEGS,
    needs=(Need.FLOOR,),
)
def prefix_cache(evidence: Evidence) -> list[CheckResult]:
    """Cold against full prefill; warm against cold: the suffix after the restored prefix, the
    decoded tokens, and the next token after prefixes of many lengths."""
    return each_scenario(NAME, KINDS, evidence, _judge)


def _judge(pair: Pair) -> CheckResult:
    return judge_numerically(pair, LEGS)
