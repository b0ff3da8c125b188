"""A run that is judged again, by other limits than those it was measured with."""

from linattn_verify.configs.profile import Profile

JUDGES = (
    "name",
    "description",
    "min_chunks",
    "min_positions_mean",
    "min_positions_share",
    "limits",
)
"""Settings of a profile that decide how evidence is judged; the others decide what is measured."""
JUDGES_TASKS = ("margin", "near_zero", "most_unusable")
"""Likewise, of its rules for tasks."""


def judged_by(measured: Profile, judge: Profile) -> Profile:
    """What a run was `measured` with, and all that decides a verdict from `judge`."""
    update = {name: getattr(judge, name) for name in JUDGES}
    of_tasks = {name: getattr(judge.task, name) for name in JUDGES_TASKS}
    task = measured.task.model_copy(update=of_tasks)
    return measured.model_copy(update={**update, "task": task})
