"""Questions that change sides, and where the two outputs part."""

import math

import pytest

from linattn_verify.checks.result import Flip, Verdict
from tests.checks.task_rows import FLEXIBLE, STRICT, TOKENS
from tests.checks.task_world import TaskWorld


def flips(tasks: TaskWorld, filter_: str = "strict-match") -> list[Flip]:
    return [flip for flip in tasks.judge().flips if flip.filter == filter_]


def only_flip(tasks: TaskWorld) -> Flip:
    """The one under the strict filter, of question 17."""
    (flip,) = flips(tasks)
    assert flip.question == 17
    return flip


def test_a_lost_question_is_told_with_both_answers(tasks: TaskWorld) -> None:
    tasks.mark("chunked@7", [17], right=False)
    assert only_flip(tasks) == Flip(
        task="gsm8k",
        filter="strict-match",
        question=17,
        text="What is 17?",
        target="#### 17",
        change="lost",
        reference_answer="17",
        candidate_answer="1017",
        reference_output="It is 17.",
        candidate_output="It is 1017.",
        parted_at=3,
        reference_lead=1.0,
    )
    assert [f.question for f in flips(tasks, "flexible-extract")] == [17]


def test_a_gained_question_is_told_as_such(tasks: TaskWorld) -> None:
    tasks.mark("full", [17], right=False)
    flip = only_flip(tasks)
    assert (flip.change, flip.reference_answer, flip.candidate_answer) == ("gained", "1017", "17")
    assert (flip.reference_output, flip.candidate_output) == ("It is 1017.", "It is 17.")


def test_a_question_changes_sides_under_one_filter_alone(tasks: TaskWorld) -> None:
    tasks.mark("chunked@7", [17], right=False, filters=[STRICT])
    tasks.mark("chunked@7", [19], right=False, filters=[FLEXIBLE])
    assert [f.question for f in flips(tasks)] == [17]
    assert [f.question for f in flips(tasks, "flexible-extract")] == [19]


def test_outputs_that_differ_without_changing_sides_are_no_flip(tasks: TaskWorld) -> None:
    tasks.answer("chunked@7", 17, output="17, I say.", tokens=[1, 2, 3])
    assert flips(tasks) == []


OTHER = 999


@pytest.mark.parametrize(
    ("tokens", "parted_at", "lead"),
    [
        ([OTHER, *TOKENS[1:]], 0, 0.25),
        ([*TOKENS[:2], OTHER, *TOKENS[3:]], 2, 0.75),
        ([*TOKENS[:4], OTHER], 4, 1.25),
        ([*TOKENS[:2], OTHER], 2, 0.75),
        ([TOKENS[0], OTHER, TOKENS[2], OTHER, OTHER], 1, 0.5),
        (list(TOKENS[:3]), 3, 1.0),
        ([], 0, 0.25),
        ([*TOKENS, OTHER], 5, None),
        (list(TOKENS), None, None),
    ],
    ids=[
        *("first", "third", "last", "third, and shorter", "second, and later again"),
        *("ends earlier", "empty", "goes on", "equal"),
    ],
)
def test_where_outputs_part_and_how_sure_the_reference_was(
    tasks: TaskWorld, tokens: list[int], parted_at: int | None, lead: float | None
) -> None:
    """The reference's tokens lead by 0.25, 0.5, 0.75, 1 and 1.25 nats. Equal tokens with another
    score are the harness's doing; a candidate that goes on has no token of the reference beside
    it."""
    tasks.mark("chunked@7", [17], right=False)
    tasks.answer("chunked@7", 17, tokens=tokens)
    flip = only_flip(tasks)
    assert (flip.parted_at, flip.reference_lead) == (parted_at, lead)


@pytest.mark.parametrize("runner_up", [None, math.nan, -math.inf])
def test_a_lead_that_cannot_be_told_is_none(tasks: TaskWorld, runner_up: float | None) -> None:
    tasks.mark("chunked@7", [17], right=False)
    tasks.answer("full", 17, runners_up=[-0.75, -1.0, -1.25, runner_up, -1.75])
    flip = only_flip(tasks)
    assert (flip.parted_at, flip.reference_lead) == (3, None)


def test_a_forced_token_may_trail_its_runner_up(tasks: TaskWorld) -> None:
    tasks.mark("chunked@7", [17], right=False)
    tasks.answer("full", 17, logprobs=[-0.5, -0.5, -0.5, -2.5, -0.5])
    assert only_flip(tasks).reference_lead == -1.0


@pytest.fixture
def choosing() -> TaskWorld:
    """A multiple-choice task: three requests a question, none with an end of its own."""
    return TaskWorld(task="arc_easy", choices=3)


def test_a_multiple_choice_task_passes_by_both_of_its_metrics(choosing: TaskWorld) -> None:
    result = choosing.judge()
    assert result.verdict is Verdict.PASS
    assert list(result.limits) == ["none.acc.drop", "none.acc_norm.drop"]
    assert [(s.filter, s.metric, s.questions) for s in result.scores] == [
        ("none", "acc", 41),
        ("none", "acc_norm", 41),
    ]
    assert result.counts["cut_candidate"] == 0
    assert choosing.judge("full").verdict is Verdict.PASS


def test_a_choice_that_changes_has_no_place_where_outputs_part(choosing: TaskWorld) -> None:
    choosing.mark("chunked@7", [17], right=False, filters=[("none", "acc_norm")])
    (flip,) = choosing.judge().flips
    assert (flip.task, flip.question, flip.change) == ("arc_easy", 17, "lost")
    assert (flip.parted_at, flip.reference_lead) == (None, None)
    assert flip.reference_output == "It is 17."


def test_the_request_whose_output_parts_is_shown(choosing: TaskWorld) -> None:
    """Question 17 has the requests 51, 52 and 53."""
    choosing.mark("chunked@7", [17], right=False, filters=[("none", "acc")])
    choosing.answer("chunked@7", 52, output="other", tokens=[*TOKENS[:4], OTHER])
    choosing.answer("chunked@7", 53, output="late", tokens=[OTHER])
    (flip,) = choosing.judge().flips
    assert (flip.candidate_output, flip.parted_at, flip.reference_lead) == ("other", 4, 1.25)


def test_a_question_is_judged_where_all_its_requests_were_cut(choosing: TaskWorld) -> None:
    short = choosing.requests["arc_easy/chunked@7"][52].slices[:1]
    part = short[0].model_copy(update={"tokens": 5})
    choosing.change_record("chunked@7", 52, prompt_tokens=5, slices=(part,))
    choosing.mark("chunked@7", [17], right=False)
    result = choosing.judge()
    assert result.counts["questions_left_out_short"] == 1
    assert [s.questions for s in result.scores] == [40, 40]
    assert result.flips == ()


def test_where_no_question_had_all_its_requests_cut_nothing_is_judged(
    choosing: TaskWorld,
) -> None:
    """One request of each is too short, so that the proof holds by the others."""
    for question in range(41):
        part = choosing.requests["arc_easy/chunked@7"][3 * question].slices[0]
        part = part.model_copy(update={"tokens": 5})
        choosing.change_record("chunked@7", 3 * question, prompt_tokens=5, slices=(part,))
    result = choosing.judge()
    assert result.verdict is Verdict.VACUOUS
    assert "no question is left to judge" in result.message
    assert result.counts["questions_compared"] == 0
