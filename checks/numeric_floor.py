"""Does the reference give the same where nothing but the company of its requests changes?

The prompts of full prefill are served again in the opposite order, in steps that hold few of them.
What that moves is the numeric floor of this model, dtype and machine: noise that no other check may
mistake for a fault.

The fault it exists for: a request whose result depends on which others are served with it, or what
was served before it.

What it cannot see: whatever is wrong in the same way each time.
"""

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.judging import Pair, judged_each
from linattn_verify.checks.numeric import judge_numerically
from linattn_verify.checks.registry import check
from linattn_verify.checks.result import CheckResult
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Need

NAME = "numeric_floor"
LEGS = (Leg.PROMPT, Leg.DECODE)


@check(
    name=NAME,
    fault="full prefill that gives something else in another batch, or after other requests",
    blind="whatever is wrong in the same way each time",
    kinds=(Kind.FULL,),
    legs=LEGS,
    needs=(Need.FLOOR,),
)
def numeric_floor(evidence: Evidence) -> list[CheckResult]:
    """The reference again, in another order and other batches, against the reference. Nothing where
    the profile asks for no contrasts."""
    if not evidence.profile.contrasts:
        return []
    again = [s for s in evidence.judged() if s.kind is Kind.AGAIN]
    return judged_each(NAME, (Kind.AGAIN,), again, evidence, _judge)


def _judge(pair: Pair) -> CheckResult:
    return judge_numerically(pair, LEGS)
