"""Which settings of a profile count when a run is judged again."""

from linattn_verify.configs.profile import Limit, Profile, TaskRules
from linattn_verify.configs.rejudging import judged_by

MEASURED = Profile(
    name="measured", description="m", budgets=(7, 5), decode_tokens=9, min_chunks=4,
    task=TaskRules(limit=11, margin=0.03), limits={},
)  # fmt: skip
JUDGE = Profile(
    name="judge", description="j", budgets=(3,), decode_tokens=5, min_chunks=2,
    task=TaskRules(limit=2, margin=0.5),
    limits={"bfloat16": {"max": Limit(limit=0.25, origin="made")}},
)  # fmt: skip


def test_verdicts_are_the_judges_and_what_was_measured_stays() -> None:
    both = judged_by(MEASURED, JUDGE)
    assert (both.name, both.min_chunks, both.task.margin) == ("judge", 2, 0.5)
    assert both.limits == JUDGE.limits
    assert (both.budgets, both.decode_tokens, both.task.limit) == ((7, 5), 9, 11)


def test_the_profile_that_measured_judges_as_before() -> None:
    assert judged_by(MEASURED, MEASURED) == MEASURED
