"""Where a task was not served whole, not scored, or not asked alike, nothing passes."""

import math
from typing import TYPE_CHECKING

import pytest

from linattn_verify.checks.registry import checks_named, run_checks
from linattn_verify.checks.result import Verdict
from linattn_verify.configs.plan import Plan
from linattn_verify.traces.outcome import Status
from tests.checks.task_rows import STRICT
from tests.checks.task_world import TaskWorld

if TYPE_CHECKING:
    from tests.checks.world import World


def test_without_scores_it_is_our_error(tasks: TaskWorld) -> None:
    del tasks.scores["gsm8k/chunked@7"]
    result = tasks.judge()
    assert (result.verdict, result.message) == (
        Verdict.ERROR,
        "gsm8k/chunked@7 has no scores",
    )
    assert tasks.judge("cold").verdict is Verdict.PASS


def test_without_the_references_scores_everything_is_our_error(tasks: TaskWorld) -> None:
    del tasks.scores["gsm8k/full"]
    for scenario in ("full", "chunked@7", "warm"):
        result = tasks.judge(scenario)
        assert (result.verdict, result.message) == (Verdict.ERROR, "gsm8k/full has no scores")


@pytest.mark.parametrize(
    ("status", "own", "others"),
    [
        (Status.CRASHED, Verdict.ERROR, Verdict.ERROR),
        (Status.TIMED_OUT, Verdict.ERROR, Verdict.ERROR),
        (Status.NOT_RUN, Verdict.ERROR, Verdict.ERROR),
        (Status.UNSUPPORTED, Verdict.UNSUPPORTED, Verdict.UNSUPPORTED),
    ],
)
def test_a_reference_that_was_not_served_says_nothing_of_the_others(
    tasks: TaskWorld, status: Status, own: Verdict, others: Verdict
) -> None:
    tasks.end("full", status, "SIGILL in the kernel")
    result = tasks.judge("full")
    assert (result.verdict, result.message) == (
        own,
        f"the reference gsm8k/full {status}: SIGILL in the kernel",
    )
    assert tasks.judge("cold").verdict is others


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (Status.CRASHED, Verdict.FAIL),
        (Status.TIMED_OUT, Verdict.FAIL),
        (Status.UNSUPPORTED, Verdict.UNSUPPORTED),
        (Status.NOT_RUN, Verdict.VACUOUS),
        (Status.ERROR, Verdict.ERROR),
    ],
)
def test_the_end_of_a_candidate_is_its_verdict(
    tasks: TaskWorld, status: Status, verdict: Verdict
) -> None:
    tasks.end("warm", status, "SIGSEGV in step 3")
    result = tasks.judge("warm")
    assert (result.verdict, result.message) == (verdict, f"gsm8k/warm {status}: SIGSEGV in step 3")
    assert tasks.judge("cold").verdict is Verdict.PASS


@pytest.mark.parametrize("choices", [1, 3])
def test_nan_in_a_candidates_outputs_fails_whatever_they_score(choices: int) -> None:
    tasks = TaskWorld(choices=choices)
    for request in (3, 17):
        tasks.answer("warm", request, logprobs=[-0.5, math.nan, -0.5, -0.5, -0.5])
    result = tasks.judge("warm")
    assert (result.verdict, result.message) == (
        Verdict.FAIL,
        f"gsm8k/warm: NaN in 2 of {41 * choices} outputs",
    )
    assert tasks.judge("warm-2").verdict is Verdict.PASS


def test_nan_in_the_references_outputs_leaves_nothing_to_compare_with(tasks: TaskWorld) -> None:
    tasks.answer("full", 3, logprobs=[math.nan] * 5)
    tasks.answer("cold", 3, logprobs=[math.nan] * 5)
    for scenario in ("full", "chunked@7", "cold"):
        result = tasks.judge(scenario)
        assert result.verdict is Verdict.ERROR
        assert result.message == "gsm8k/full: NaN in 1 of 41 outputs"


def test_a_scenario_that_was_planned_without_a_reference_is_our_error(tasks: TaskWorld) -> None:
    """It must not be taken for the reference itself, which is compared with nothing."""
    plain, cache = tasks.plan.engines
    alone = plain.scenarios[1].model_copy(update={"reference": None})
    plain = plain.model_copy(update={"scenarios": (plain.scenarios[0], alone)})
    tasks.plan = Plan(engines=(plain, cache))
    result = tasks.judge()
    assert (result.verdict, result.message) == (
        Verdict.ERROR,
        "gsm8k/chunked@7 was planned without a reference",
    )


def test_without_a_task_the_check_is_vacuous(world: "World") -> None:
    (result,) = run_checks(checks_named(["task_score"]), world.evidence())
    assert (result.verdict, result.scenario) == (Verdict.VACUOUS, "every task")
    assert result.message == "no task was planned: give --task, or leave this check out"


@pytest.mark.parametrize("side", ["full", "chunked@7"])
@pytest.mark.parametrize("fault", ["a question missing", "a filter missing", "a question twice"])
def test_sides_that_cannot_be_put_beside_each_other_are_an_error_of_the_scenario(
    tasks: TaskWorld, side: str, fault: str
) -> None:
    rows = tasks.scores[f"gsm8k/{side}"]
    for row in tasks.score_rows(side, 40):
        if fault == "a question missing":
            rows.remove(row)
        elif fault == "a question twice" and row["filter"] == STRICT[0]:
            rows.append(dict(row))
    if fault == "a filter missing":
        rows[:] = [row for row in rows if row["filter"] != STRICT[0]]
    results = {r.scenario: r for r in run_checks(checks_named(["task_score"]), tasks.evidence())}
    result = results["gsm8k/chunked@7"]
    assert result.verdict is Verdict.ERROR
    assert result.message.startswith("the sides do not fit together: ")
    if side != "full":  # another scenario is judged all the same
        assert results["gsm8k/cold"].verdict is Verdict.PASS
    expected = {
        "a question missing": "different questions",
        "a filter missing": "different filters or metrics",
        "a question twice": "not a one-to-one",
    }
    assert expected[fault] in result.message
