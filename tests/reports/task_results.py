"""Made results of a task: 64 questions, of which the reference answers 55."""

from linattn_verify.checks.limits import judge_limit
from linattn_verify.checks.result import CheckResult, Flip, Paired, Score, Verdict

QUESTIONS, RIGHT = 64, 55
MARGIN = "the profile's margin: the drop that the 95 % interval must exclude"
FILTERS = ("strict-match", "flexible-extract")


def score_of(filter_: str, paired: Paired | None = None, **changes: object) -> Score:
    """One filter's score over 64 questions, of which the reference answers 55."""
    right = RIGHT if paired is None else paired.both_right + paired.gained
    score = Score(
        task="gsm8k",
        metric="exact_match",
        filter=filter_,
        questions=QUESTIONS,
        score=right / QUESTIONS,
        reference_score=None if paired is None else RIGHT / QUESTIONS,
        invalid=2,
        reference_invalid=None if paired is None else 2,
        verdict=Verdict.PASS,
        reason="made up",
        paired=paired,
    )
    return score.model_copy(update=changes)


def paired(lost: int, gained: int, low: float, high: float, p_value: float) -> Paired:
    """Of the 55 questions that the reference answers `lost` are lost, of the 9 others `gained`."""
    return Paired(
        both_right=RIGHT - lost,
        lost=lost,
        gained=gained,
        both_wrong=QUESTIONS - RIGHT - gained,
        difference=(gained - lost) / QUESTIONS,
        low=low,
        high=high,
        p_value=p_value,
        smallest_visible=0.125,
        questions_needed=None,
    )


STEADY = paired(0, 0, -0.0566, 0.0566, 1.0)
BETTER = paired(1, 2, -0.0564, 0.0939, 1.0)
WORSE = paired(15, 1, -0.3395, -0.1132, 0.000519)


def flip_of(filter_: str = "strict-match", **changes: object) -> Flip:
    """Question 17, lost at a near-tie."""
    told = "Half of the 48 clips were sold in May, so she sold 48 / 2 = "
    flip = Flip(
        task="gsm8k",
        filter=filter_,
        question=17,
        text="Natalia sold clips to 48 of her friends. How many clips are that in May?",
        target="48 / 2 = 24\n#### 24",
        change="lost",
        reference_answer="24",
        candidate_answer="23",
        reference_output=f"{told}24 clips.\n#### 24",
        candidate_output=f"{told}23 clips.\n#### 23",
        parted_at=20,
        reference_lead=0.03125,
    )
    return flip.model_copy(update=changes)


def scored(
    scenario: str, paired: Paired | None = None, flips: tuple[Flip, ...] = (), **changes: object
) -> CheckResult:
    """A task's scores in one scenario under both filters; without `paired` the reference's own."""
    drops = {} if paired is None else {f"{name}.drop": -paired.low for name in FILTERS}
    cut = {"cut_candidate": 1} if paired is None else {"cut_reference": 1, "cut_candidate": 3}
    result = CheckResult(
        name="task_score",
        scenario=f"gsm8k/{scenario}",
        reference=None if paired is None else "gsm8k/full",
        verdict=Verdict.PASS,
        message="As good as can be told.",
        limits={name: judge_limit(drop, 0.1, MARGIN) for name, drop in drops.items()},
        counts={"questions": QUESTIONS, "questions_compared": QUESTIONS, **cut},
        scores=tuple(score_of(name, paired) for name in FILTERS),
        flips=flips,
    )
    return result.model_copy(update=changes)
