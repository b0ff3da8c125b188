"""What lm-eval makes of answers."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from linattn_verify.tasks.harness import Row, answers_of
from linattn_verify.tasks.request import Answer
from linattn_verify.traces.schema import SCORES
from linattn_verify.traces.store import read_scores, write_scores
from tests.tasks.fakes import ROWS, asked, gsm8k, said

STRICT, FLEXIBLE = "strict-match", "flexible-extract"


def scored(*outputs: str, limit: int | None = None, task: Any = None) -> dict[tuple[int, str], Row]:
    """Rows by question and filter; answers beyond those given are empty."""
    harness = asked(task or gsm8k(), limit=limit)
    missing = len(harness.collect()) - len(outputs)
    rows = harness.score(said(*outputs, *[""] * missing))
    found = {(int(str(row["question"])), str(row["filter"])): row for row in rows}
    assert len(found) == len(rows)
    return found


OUTPUTS: dict[str, tuple[str, dict[str, tuple[float, str, bool]]]] = {
    # To "Three and ten?": score, answer, and whether there is one
    "right": (
        " 3 + 10 = 13.\n#### 13",
        {STRICT: (1, "13", True), FLEXIBLE: (1, "13", True)},
    ),
    "wrong": (
        " 3 + 10 = 14.\n#### 14",
        {STRICT: (0, "14", True), FLEXIBLE: (0, "14", True)},
    ),
    "right-in-another-form": (
        " 3 and 10 are 13",
        {STRICT: (0, "[invalid]", False), FLEXIBLE: (1, "13", True)},
    ),
    "no-number": (
        " I do not know",
        {STRICT: (0, "[invalid]", False), FLEXIBLE: (0, "[invalid]", False)},
    ),
    "nothing": ("", {STRICT: (0, "[invalid]", False), FLEXIBLE: (0, "[invalid]", False)}),
    "right-then-a-question-of-its-own": (
        " 3 + 10 = 13.\n#### 13\n\nQuestion: 4 and 5?\nAnswer: 9",
        {STRICT: (1, "13", True), FLEXIBLE: (1, "13", True)},
    ),
    "right-then-the-models-end": (
        "#### 13<eos>99",
        {STRICT: (1, "13", True), FLEXIBLE: (1, "13", True)},
    ),
    "filters-that-disagree": (
        "#### 13 of 15",
        {STRICT: (1, "13", True), FLEXIBLE: (0, "15", True)},
    ),
}


@pytest.mark.parametrize(("output", "expected"), OUTPUTS.values(), ids=OUTPUTS.keys())
def test_an_answer_is_scored_by_both_filters(
    output: str, expected: dict[str, tuple[float, str, bool]]
) -> None:
    rows = scored(output)
    for name, (score, answer, valid) in expected.items():
        row = rows[0, name]
        assert (row["score"], row["answer"], row["valid"]) == (score, answer, valid)


def test_a_thousand_may_be_written_with_or_without_its_comma() -> None:
    rows = scored("", "", "#### 1170")
    assert (rows[2, STRICT]["score"], rows[2, FLEXIBLE]["score"]) == (1, 1)


def test_every_answer_belongs_to_its_question() -> None:
    rows = scored("#### 13", "#### 13", "#### 1,170", "#### 13", "#### 11")
    assert [rows[i, STRICT]["score"] for i in range(5)] == [1, 0, 1, 0, 1]
    assert [rows[i, STRICT]["requests"] for i in range(5)] == [[0], [1], [2], [3], [4]]


def test_a_row_says_what_was_asked_without_its_examples() -> None:
    row = scored("#### 14")[0, FLEXIBLE]
    assert row == {
        "task": "gsm8k",
        "question": 0,
        "requests": [0],
        "filter": FLEXIBLE,
        "metric": "exact_match",
        "score": 0,
        "answer": "14",
        "valid": True,
        "text": "Question: Three and ten?\nAnswer:",
        "target": ROWS["test"][0]["answer"],
    }


def test_only_the_questions_within_the_limit_are_scored() -> None:
    rows = scored("#### 13", "#### 37", limit=2)
    assert {question for question, _ in rows} == {0, 1}
    assert {row["score"] for row in rows.values()} == {1}


def test_a_question_that_is_asked_three_times_knows_its_requests() -> None:
    task = gsm8k()
    task.set_config("repeats", 3)
    rows = scored("#### 13", "#### 1", "#### 2", "#### 37", limit=2, task=task)
    assert [rows[i, STRICT]["requests"] for i in (0, 1)] == [[0, 1, 2], [3, 4, 5]]
    assert [rows[i, STRICT]["score"] for i in (0, 1)] == [1, 1]  # this task takes the first


def test_the_same_answers_score_the_same_again() -> None:
    harness = asked(gsm8k())
    harness.collect()
    first = harness.score(said("#### 13", "#### 37", "", "#### 4", "#### 11"))
    harness.score(said("", "", "", "", ""))
    assert harness.score(said("#### 13", "#### 37", "", "#### 4", "#### 11")) == first


def test_scores_are_what_a_file_of_scores_holds(tmp_path: Path) -> None:
    rows = list(scored("#### 13", "#### 38", "no").values())
    assert {frozenset(row) for row in rows} == {frozenset(SCORES.names)}
    write_scores(tmp_path / "scores.parquet", rows)
    read = read_scores(tmp_path / "scores.parquet")
    assert list(read["score"]) == [row["score"] for row in rows]
    assert list(read["answer"]) == [row["answer"] for row in rows]
    assert [list(requests) for requests in read["requests"]] == [row["requests"] for row in rows]


def trace(*rows: tuple[int, str, list[float], list[float]]) -> pd.DataFrame:
    """Rows of a trace of answers: request, output, log-probabilities, runners-up."""
    return pd.DataFrame(
        {
            "request": [row[0] for row in rows],
            "output": [row[1] for row in rows],
            "logprobs": [np.array(row[2], dtype="float32") for row in rows],
            "runners_up": [np.array(row[3], dtype="float32") for row in rows],
        }
    )


def test_an_answers_likelihood_is_that_of_all_its_tokens() -> None:
    (answer,) = answers_of(trace((0, "so", [-0.5, -1.25, -0.125], [-2, -3, -4])))
    assert answer == Answer(output="so", logprob=-1.875, greedy=True)


GREEDY = {
    "every-token-is-the-likeliest": ([-0.5, -1.0], [-1.5, -1.5], True),
    "one-is-not": ([-0.5, -1.0], [-1.5, -0.75], False),
    "a-tie": ([-0.5, -1.0], [-0.5, -1.5], True),
    "no-token": ([], [], True),
    "a-token-without-a-number": ([-0.5, math.nan], [-1.5, -1.5], False),
}


@pytest.mark.parametrize(("own", "others", "greedy"), GREEDY.values(), ids=GREEDY.keys())
def test_an_answer_is_greedy_where_no_other_token_was_likelier(
    own: list[float], others: list[float], greedy: bool
) -> None:
    (answer,) = answers_of(trace((0, "so", own, others)))
    assert answer.greedy is greedy


def test_an_answer_that_holds_no_number_stays_an_answer() -> None:
    """Its text may still be right: that is for lm-eval to say."""
    (answer,) = answers_of(trace((0, "#### 13", [-0.5, math.nan], [-1.5, -1.5])))
    assert math.isnan(answer.logprob)
    harness = asked(gsm8k(), limit=1)
    harness.collect()
    assert [row["score"] for row in harness.score([answer])] == [1, 1]


def test_answers_come_in_the_order_of_the_requests() -> None:
    found = answers_of(trace((2, "c", [-3], [-4]), (0, "a", [-1], [-4]), (1, "b", [-2], [-4])))
    assert [(a.output, a.logprob) for a in found] == [("a", -1), ("b", -2), ("c", -3)]
