"""Tasks that ask how likely given texts are."""

import math
from typing import Any

import pytest

from linattn_verify.configs.errors import UsageError
from linattn_verify.tasks.harness import Row
from linattn_verify.tasks.request import Answer
from tests.tasks.fakes import BEGINNING, END, Bytes, asked, inline, text

QUESTIONS = [
    {"question": "The sky is", "gold": 1},
    {"question": "Snow is", "gold": 0},
]
CHOICES = ["white", "blue", "as green as grass"]


def colours(**changes: Any) -> Any:
    config = {
        "output_type": "multiple_choice",
        "doc_to_text": "question",
        "doc_to_choice": CHOICES,
        "doc_to_target": "gold",
    }
    return inline(QUESTIONS, **{**config, **changes})


def likelihoods(*values: float) -> list[Answer]:
    return [Answer(output="", logprob=value, greedy=False) for value in values]


def scored(task: Any, answers: list[Answer]) -> dict[tuple[str, int], Row]:
    """Rows by metric and question."""
    harness = asked(task)
    harness.collect()
    rows = harness.score(answers)
    return {(str(row["metric"]), int(str(row["question"]))): row for row in rows}


def test_every_choice_is_a_request_with_its_text_to_be_decoded_along() -> None:
    requests = asked(colours()).collect()
    assert [(text(r.token_ids), text(r.forced or ())) for r in requests] == [
        (row["question"], f" {choice}") for row in QUESTIONS for choice in CHOICES
    ]
    assert {r.token_ids[0] for r in requests} == {BEGINNING}
    assert [r.max_tokens for r in requests] == [6, 5, 18, 6, 5, 18]
    assert {r.until for r in requests} == {()}


def test_a_space_at_the_end_of_a_question_belongs_to_the_choice() -> None:
    task = colours(doc_to_text="{{question}}: ", target_delimiter="")
    # The template ends in a space, which jinja keeps.
    first, *_ = asked(task).collect()
    assert (text(first.token_ids), text(first.forced or ())) == ("The sky is:", " white")


def test_nothing_stands_before_a_choice_but_the_end_of_another_text() -> None:
    first, *_ = asked(colours(doc_to_text="", target_delimiter="")).collect()
    assert first.token_ids == (END,)
    assert first.forced == tuple(b"white")


def test_a_tokenizer_without_an_end_cannot_ask_after_nothing() -> None:
    tokenizer = Bytes()
    tokenizer.eos_token_id = None
    with pytest.raises(UsageError, match="end-of-text token"):
        asked(colours(doc_to_text=""), tokenizer).collect()


def test_a_text_that_is_no_token_is_refused_by_name() -> None:
    rows = [{"question": "The sky is", "word": " blue"}, {"question": "Snow is", "word": ""}]
    task = inline(rows, output_type="loglikelihood", doc_to_text="question", doc_to_target="word")
    with pytest.raises(UsageError, match=r"how likely '' is after 'Snow is'.*no token"):
        asked(task).collect()


def test_the_likeliest_choice_is_the_answer() -> None:
    # blue; then green as grass, which is wrong
    rows = scored(colours(), likelihoods(-5.5, -2.25, -9, -3.5, -7, -3.25))
    first, second = rows["acc", 0], rows["acc", 1]
    assert (first["answer"], first["score"], first["valid"]) == ("choice 2 of 3", 1, True)
    assert (second["answer"], second["score"], second["valid"]) == ("choice 3 of 3", 0, True)
    assert [row["requests"] for row in (first, second)] == [[0, 1, 2], [3, 4, 5]]
    assert (first["text"], first["target"]) == ("The sky is", "1")


def test_a_length_may_count_as_lm_eval_counts_it() -> None:
    # per character: -5.5 / 5, -2.25 / 4, -9 / 17, of which the last is the best
    rows = scored(colours(), likelihoods(-5.5, -2.25, -9, -3.5, -7, -33))
    assert {metric for metric, _ in rows} == {"acc", "acc_norm"}
    assert (rows["acc", 0]["score"], rows["acc_norm", 0]["score"]) == (1, 0)
    assert (rows["acc", 1]["score"], rows["acc_norm", 1]["score"]) == (1, 1)


NO_NUMBERS = {
    # numpy would take the first NaN for the largest: the right choice, in both
    "of-the-right-choice": [-5.5, math.nan, -9, math.nan, -7, -3.25],
    "of-every-choice": [-5.5, math.nan, math.nan, math.nan, math.nan, math.nan],
}


@pytest.mark.parametrize("values", NO_NUMBERS.values(), ids=NO_NUMBERS.keys())
def test_a_likelihood_that_is_no_number_is_neither_an_answer_nor_right(
    values: list[float],
) -> None:
    for row in scored(colours(), likelihoods(*values)).values():
        assert (row["answer"], row["valid"], row["score"]) == ("[invalid]", False, 0)


@pytest.mark.parametrize("greedy", [True, False])
def test_a_text_that_is_asked_for_alone_is_right_where_it_is_what_the_model_says(
    greedy: bool,
) -> None:
    task = inline([{"question": "The sky is", "word": " blue"}], output_type="loglikelihood",
                  doc_to_text="question", doc_to_target="word",
                  metric_list=[{"metric": "acc"}, {"metric": "perplexity"}])  # fmt: skip
    harness = asked(task)
    (request,) = harness.collect()
    assert (text(request.token_ids), text(request.forced or ())) == ("The sky is", " blue")
    # perplexity is no score: less of it is better
    (row,) = harness.score([Answer(output=" blue", logprob=-2.5, greedy=greedy)])
    assert (row["metric"], row["score"]) == ("acc", float(greedy))


def test_scoring_asks_the_same_and_needs_no_tokenizer() -> None:
    tokenizer = Bytes()
    harness = asked(colours(), tokenizer)
    harness.collect()
    tokenizer.gone = True
    assert len(harness.score(likelihoods(*range(6)))) == 4


def test_a_text_is_encoded_once_however_many_requests_hold_it() -> None:
    tokenizer = Bytes()
    asked(colours(), tokenizer).collect()
    every = [one for texts, _ in tokenizer.encoded for one in texts]
    assert len(every) == len(set(every)) == 8  # two questions, and each with three choices
