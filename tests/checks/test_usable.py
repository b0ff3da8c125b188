"""A reference whose answers are of no use is VACUOUS, with what is likely at fault."""

import pytest

from linattn_verify.checks.result import CheckResult, Verdict
from tests.checks.task_rows import FLEXIBLE, STRICT
from tests.checks.task_world import TaskWorld

THOUGHT = "<think>\nSo 3 and 4 make"
FORM = "more examples (--num-fewshot), or the model's own template"
LOOP = "and again they counted it, " * 5


def not_right(tasks: TaskWorld, questions: range) -> None:
    """Wrong in every scenario, in the right form."""
    for scenario in ("full", "chunked@7"):
        tasks.mark(scenario, questions, right=False)


def both_vacuous(tasks: TaskWorld) -> str:
    """The message that reference and candidate share; neither has been judged."""
    full, chunked = tasks.judge("full"), tasks.judge("chunked@7")
    assert full.verdict is chunked.verdict is Verdict.VACUOUS
    assert [s.paired for s in chunked.scores] == [None, None]
    assert (chunked.limits, chunked.flips) == ({}, ())
    reasons = [score.reason for score in full.scores]
    assert [score.reason for score in chunked.scores] == reasons
    assert reasons[0] in full.message and reasons[0] in chunked.message
    return reasons[0]


def test_a_reference_near_zero_has_nothing_to_lose(tasks: TaskWorld) -> None:
    not_right(tasks, range(3, 41))  # 0, 1 and 2 are right: 3 of 41 is below the margin
    reason = both_vacuous(tasks)
    assert reason.startswith("the reference scores 7.3%, so it has next to nothing to lose: ")
    assert "random weights?" in reason
    chunked = tasks.judge()
    assert chunked.message.startswith("strict-match 7.3% against 7.3%: ")


@pytest.mark.parametrize(
    ("right", "margin", "near_zero", "verdict"),
    [
        (5, 0.02, 0.13, Verdict.VACUOUS),  # 5 of 41 is 12.2 %
        (5, 0.13, 0.02, Verdict.VACUOUS),
        (5, 0.02, 5 / 41, Verdict.VACUOUS),
        (6, 0.02, 5 / 41, Verdict.INCONCLUSIVE),
    ],
)
def test_near_zero_is_what_the_profile_says_and_at_least_the_margin(
    tasks: TaskWorld, right: int, margin: float, near_zero: float, verdict: Verdict
) -> None:
    tasks.rules.update(margin=margin, near_zero=near_zero)
    not_right(tasks, range(12))
    not_right(tasks, range(12 + right, 41))
    assert tasks.judge().verdict is verdict


@pytest.mark.parametrize(("invalid", "strict"), [(4, Verdict.PASS), (5, Verdict.VACUOUS)])
def test_a_filter_that_finds_no_answer_in_more_than_a_tenth_is_of_no_use(
    tasks: TaskWorld, invalid: int, strict: Verdict
) -> None:
    tasks.invalidate("full", range(invalid - 2), "no form at all")  # 2 others hold no strict one
    result = tasks.judge("full")
    assert result.scores[0].invalid == invalid
    assert [s.verdict for s in result.scores] == [strict, Verdict.PASS]


def unusable_by_form(tasks: TaskWorld, output: str) -> str:
    for scenario in ("full", "chunked@7"):
        tasks.invalidate(scenario, range(24), output)
    return both_vacuous(tasks)


@pytest.mark.parametrize(
    ("output", "hint"),
    [
        ("The answer is seven", FORM),
        ("  \n", "they are empty, so a stop string or the end comes at once"),
        (
            "<think>3 and 4</think> seven",
            "they are thoughts without an answer after them: give --chat-template",
        ),
        (
            "3 and 4</think> seven",
            "they are thoughts without an answer after them: give --chat-template",
        ),
    ],
    ids=["another form", "empty", "thoughts", "thoughts begun by the template"],
)
def test_outputs_without_an_answer(tasks: TaskWorld, output: str, hint: str) -> None:
    reason = unusable_by_form(tasks, output)
    # 24 of the 41, question 23 among them, and under the strict filter question 31
    assert reason.startswith("25 of 41 outputs of the reference hold no answer: ")
    assert hint in reason


@pytest.mark.parametrize(
    ("output", "hint"),
    [
        (THOUGHT, "they are thoughts: give --max-gen-toks room for them"),
        (LOOP, "they repeat themselves and never stop"),
        ("She sold 48 of them, then", "raise --max-gen-toks"),
    ],
    ids=["thoughts", "repetition", "long"],
)
def test_outputs_that_the_length_limit_ends(tasks: TaskWorld, output: str, hint: str) -> None:
    for scenario in ("full", "chunked@7"):
        tasks.cut_short(scenario, range(21), output)
    reason = both_vacuous(tasks)
    assert reason.startswith("21 of 41 outputs of the reference were cut by the length limit: ")
    assert hint in reason
    assert tasks.judge("full").counts["cut_candidate"] == 21


@pytest.mark.parametrize(("cut", "verdict"), [(4, Verdict.PASS), (5, Verdict.VACUOUS)])
def test_more_than_a_tenth_cut_is_of_no_use(tasks: TaskWorld, cut: int, verdict: Verdict) -> None:
    tasks.cut_short("full", range(cut), THOUGHT)
    assert tasks.judge().verdict is verdict


def test_a_sign_that_few_outputs_show_is_not_named(tasks: TaskWorld) -> None:
    tasks.cut_short("full", range(20), THOUGHT)  # 20 of 41
    assert "they are thoughts" not in tasks.judge("full").message


def test_a_candidate_that_is_cut_is_judged_by_its_answers(tasks: TaskWorld) -> None:
    tasks.cut_short("chunked@7", range(12, 21), LOOP)
    for question in range(12, 21):
        for row in tasks.score_rows("chunked@7", question):
            row.update(score=0.0, answer="[invalid]", valid=False)
    result = tasks.judge()
    assert result.verdict is Verdict.FAIL
    assert (result.counts["cut_candidate"], result.counts["cut_reference"]) == (9, 0)
    assert [(s.invalid, s.reference_invalid) for s in result.scores] == [(11, 2), (9, 0)]


def strict_unusable(tasks: TaskWorld) -> CheckResult:
    for scenario in ("full", "chunked@7"):
        for question in range(30):
            for row in tasks.score_rows(scenario, question, [STRICT]):
                row.update(score=0.0, answer="[invalid]", valid=False)
    return tasks.judge()


def test_a_filter_of_no_use_leaves_the_other_and_is_named(tasks: TaskWorld) -> None:
    result = strict_unusable(tasks)
    assert result.verdict is Verdict.PASS
    assert [s.verdict for s in result.scores] == [Verdict.VACUOUS, Verdict.PASS]
    assert result.message.startswith("flexible-extract 95.1% against 95.1%: +0.0 ")
    # 30 of the 41, questions 5, 11 and 23 among them, and question 31
    assert "; not judged: strict-match 24.4% against 24.4%: 31 of 41 outputs" in result.message
    assert list(result.limits) == ["flexible-extract.drop"]


def test_a_filter_of_no_use_hides_no_fault_of_the_other(tasks: TaskWorld) -> None:
    strict_unusable(tasks)
    tasks.mark("chunked@7", range(32, 39), right=False, filters=[FLEXIBLE])
    result = tasks.judge()
    assert result.verdict is Verdict.FAIL
    assert "7 lost, 0 gained" in result.message and "not judged: strict-match" in result.message


def partly_right(tasks: TaskWorld, scenario: str, filters: list[tuple[str, str]]) -> None:
    for row in tasks.score_rows(scenario, 7, filters):
        row["score"] = 0.5


@pytest.mark.parametrize("scenario", ["full", "chunked@7"])
def test_a_metric_that_is_not_right_or_wrong_is_not_judged(tasks: TaskWorld, scenario: str) -> None:
    partly_right(tasks, scenario, [STRICT])
    result = tasks.judge()
    assert result.verdict is Verdict.PASS
    assert [s.verdict for s in result.scores] == [Verdict.UNSUPPORTED, Verdict.PASS]
    assert "only metrics that are right or wrong are judged" in result.message
    assert result.flips == ()


def test_a_task_without_any_metric_that_is_right_or_wrong_is_unsupported(
    tasks: TaskWorld,
) -> None:
    partly_right(tasks, "full", [STRICT, FLEXIBLE])
    for scenario in ("full", "chunked@7"):
        assert tasks.judge(scenario).verdict is Verdict.UNSUPPORTED


def test_a_task_without_any_score_is_vacuous(tasks: TaskWorld) -> None:
    tasks.scores = {name: [] for name in tasks.scores}
    result = tasks.judge()
    assert result.verdict is Verdict.VACUOUS
    assert result.message == "lm-eval gave no score that can be judged"


def test_a_floor_makes_no_verdict_of_answers_that_are_of_no_use(tasks: TaskWorld) -> None:
    tasks.min_score = 0.5
    unusable_by_form(tasks, "")
