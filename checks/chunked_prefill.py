"""Does a prompt that is prefilled in several steps give what it gives in one?

The fault it exists for: recurrent or convolution state that is lost, masked or read in the wrong
layout when a prompt continues in another engine step. The later chunks and the few tokens after
an edge show it, while the first chunk stays as the reference has it.

What it cannot see: faults that full prefill has as well, edges at other places than the budgets
tried put them, and a small part of the state lost in a layer whose effect on the log-probabilities
lies below the limits.
"""

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.judging import Pair, each_scenario
from linattn_verify.checks.numeric import judge_numerically
from linattn_verify.checks.registry import check
from linattn_verify.checks.result import CheckResult
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Need

NAME = "chunked_prefill"
KINDS = (Kind.CHUNKED,)
LEGS = (Leg.PROMPT, Leg.DECODE)


@check(
    name=NAME,
    fault="state lost, masked or misread where a prompt continues in another engine step",
    blind="faults that full prefill shares; edges where no tried budget puts them; a loss of state "
    "that moves the log-probabilities less than the limits",
    kinds=KINDS,
    legs=LEGS,
    needs=(Need.FLOOR,),
)
def chunked_prefill(evidence: Evidence) -> list[CheckResult]:
    """Prompt and decode log-probabilities of every chunked scenario against full prefill."""
    return each_scenario(NAME, KINDS, evidence, _judge)


def _judge(pair: Pair) -> CheckResult:
    return judge_numerically(pair, LEGS)
