"""Are a reference's answers of any use? If not, which setting of the harness is likely at fault?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from linattn_verify.checks.answered import Answered
from linattn_verify.checks.result import Verdict
from linattn_verify.configs.profile import TaskRules

_THOUGHT = ("<think>", "</think>")
"""The template itself may write the first: then an output has the second alone."""
_MANY = 0.5
"""Share of outputs that must show a sign for it to be named."""


@dataclass(frozen=True)
class Use:
    """PASS, or why answers cannot be judged under one filter."""

    verdict: Verdict
    reason: str = ""


NOT_BINARY = Use(Verdict.UNSUPPORTED, "only metrics that are right or wrong are judged")


def usefulness(reference: Answered, rules: TaskRules) -> dict[tuple[str, str], Use]:
    """By (filter, metric): PASS; VACUOUS with the setting that is likely at fault; UNSUPPORTED for
    a metric that is not right or wrong."""
    return {key: _use(reference, rows, rules) for key, rows in reference.by_metric().items()}


def _use(reference: Answered, rows: pd.DataFrame, rules: TaskRules) -> Use:
    outputs = [output.text for output in reference.outputs.values()]
    cut, free = reference.cut(), reference.free()
    score, invalid = mean_score(rows), int((~rows["valid"]).sum())
    if not right_or_wrong(rows):
        return NOT_BINARY
    if cut > rules.most_unusable * free:
        what = f"{cut} of {free} outputs of the reference were cut by the length limit"
        return Use(Verdict.VACUOUS, f"{what}: {hint_for_cut(outputs)}")
    if invalid > rules.most_unusable * len(rows):
        what = f"{invalid} of {len(rows)} outputs of the reference hold no answer"
        return Use(Verdict.VACUOUS, f"{what}: {hint_for_invalid(outputs)}")
    if score <= max(rules.near_zero, rules.margin):
        what = f"the reference scores {score:.1%}, so it has next to nothing to lose"
        return Use(Verdict.VACUOUS, f"{what}: {hint_for_zero()}")
    return Use(Verdict.PASS)


def mean_score(rows: pd.DataFrame) -> float:
    """The share of right answers."""
    return float(rows["score"].mean())


def right_or_wrong(rows: pd.DataFrame) -> bool:
    """Whether every score is 0 or 1."""
    return bool(rows["score"].isin([0.0, 1.0]).all())


def hint_for_cut(outputs: Sequence[str]) -> str:
    """What to change where many outputs were cut by the length limit."""
    if _most(outputs, _thinks):
        return (
            "they are thoughts: give --max-gen-toks room for them, or leave --enable-thinking out"
        )
    if _most(outputs, _repeats):
        return (
            "they repeat themselves and never stop: the prompt's form is likely not the model's "
            "(--chat-template, --no-chat-template), or the model cannot do the task"
        )
    return "raise --max-gen-toks, or look at the task's stop strings and at --chat-template"


def hint_for_invalid(outputs: Sequence[str]) -> str:
    """What to change where many outputs hold no answer that the filter finds."""
    if _most(outputs, lambda text: not text.strip()):
        return (
            "they are empty, so a stop string or the end comes at once, as with a template that "
            "is not the model's (--chat-template, --no-chat-template)"
        )
    if _most(outputs, _thinks):
        return (
            "they are thoughts without an answer after them: give --chat-template with "
            "--enable-thinking, which takes thoughts off before scoring, and room (--max-gen-toks)"
        )
    return (
        "they do not have the form that the task asks for: more examples (--num-fewshot), or the "
        "model's own template (--chat-template, --no-chat-template)"
    )


def hint_for_zero() -> str:
    """What to change where the outputs have the right form and are wrong."""
    return (
        "the model cannot do the task (random weights?), or is asked in a form that is not its own "
        "(--chat-template, --no-chat-template, --num-fewshot)"
    )


def _most(outputs: Sequence[str], sign: Callable[[str], bool]) -> bool:
    return bool(outputs) and sum(map(sign, outputs)) >= _MANY * len(outputs)


def _thinks(text: str) -> bool:
    return any(mark in text for mark in _THOUGHT)


def _repeats(text: str) -> bool:
    """Whether the last characters of the text stand in it several times."""
    tail = text.rstrip()[-12:]
    return len(tail) == 12 and text.count(tail) >= 3
