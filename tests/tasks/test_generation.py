"""What lm-eval asks of a model that generates, as requests for the engine."""

import random

import pytest

from linattn_verify.configs.errors import UsageError
from linattn_verify.tasks.data import pocket_rows
from linattn_verify.workloads.pocket.problems import few_shot_prompt
from tests.tasks.fakes import BEGINNING, ROWS, Bytes, asked, gsm8k, inline, said, text

SEED = 1234
"""Of lm-eval's own choice of examples."""
STOPS = ("Question:", "</s>", "<|im_end|>")
"""Of gsm8k's definition."""


def test_a_prompt_is_lm_evals_own_to_the_letter() -> None:
    first, *_ = asked(gsm8k(num_fewshot=0)).collect()
    assert text(first.token_ids) == "Question: Three and ten?\nAnswer:"


def test_the_examples_are_those_that_lm_evals_own_seed_draws_in_its_form() -> None:
    rows, draw = pocket_rows(), random.Random(SEED)
    requests = asked(gsm8k(num_fewshot=2, rows=rows), limit=3).collect()
    expected = [
        few_shot_prompt(draw.sample(rows["train"], 2), question["question"])
        for question in rows["test"][:3]
    ]
    assert [text(r.token_ids) for r in requests] == expected
    assert expected[0].count("\n#### ") == 2


def test_the_pocket_model_is_asked_with_five_examples() -> None:
    first, *_ = asked(gsm8k(num_fewshot=None, rows=pocket_rows()), limit=1).collect()
    assert text(first.token_ids).count("Question: ") == 6


def test_every_question_is_asked_once_in_its_order() -> None:
    requests = asked(gsm8k()).collect()
    last = [text(r.token_ids).split("Question: ")[-1] for r in requests]
    assert last == [f"{row['question']}\nAnswer:" for row in ROWS["test"]]


@pytest.mark.parametrize(("limit", "expected"), [(1, 1), (3, 3), (99, 5), (None, 5)])
def test_a_limit_takes_the_first_questions(limit: int | None, expected: int) -> None:
    assert len(asked(gsm8k(), limit=limit).collect()) == expected


def test_a_task_that_asks_more_than_once_gets_more_than_one_answer() -> None:
    task = gsm8k()
    task.set_config("repeats", 3)
    requests = asked(task, limit=2).collect()
    assert [r == requests[0] for r in requests] == [True] * 3 + [False] * 3


def test_the_tasks_stop_strings_and_the_models_own_end_an_answer() -> None:
    assert {r.until for r in asked(gsm8k()).collect()} == {(*STOPS, "<eos>")}


def test_a_tokenizer_without_an_end_adds_no_stop_string() -> None:
    tokenizer = Bytes()
    tokenizer.eos_token = None
    assert {r.until for r in asked(gsm8k(), tokenizer).collect()} == {STOPS}


def test_an_end_that_the_task_names_itself_is_not_named_twice() -> None:
    tokenizer = Bytes()
    tokenizer.eos_token = "</s>"
    assert {r.until for r in asked(gsm8k(), tokenizer).collect()} == {STOPS}


@pytest.mark.parametrize(
    ("own", "override", "expected"),
    [(None, None, 256), (77, None, 77), (None, 41, 41), (77, 41, 41)],
    ids=["lm-evals-default", "the-tasks-own", "ours", "ours-over-the-tasks"],
)
def test_the_longest_answer(own: int | None, override: int | None, expected: int) -> None:
    task = gsm8k()
    if own:
        task.set_config("generation_kwargs", {"max_gen_toks": own}, update=True)
    requests = asked(task, max_gen_toks=override).collect()
    assert {r.max_tokens for r in requests} == {expected}


def test_a_prompt_begins_as_the_tokenizer_begins_texts_and_all_are_encoded_in_one_go() -> None:
    tokenizer = Bytes()
    requests = asked(gsm8k(), tokenizer).collect()
    assert {r.token_ids[0] for r in requests} == {BEGINNING}
    assert all(BEGINNING not in r.token_ids[1:] for r in requests)
    ((texts, special),) = tokenizer.encoded
    assert special and [text(r.token_ids) for r in requests] == texts


def test_no_likelihood_of_given_tokens_is_asked_for() -> None:
    assert {r.forced for r in asked(gsm8k()).collect()} == {None}


def test_scoring_asks_the_same_and_needs_no_tokenizer() -> None:
    tokenizer, task = Bytes(), gsm8k()
    harness = asked(task, tokenizer)
    requests = harness.collect()
    before = [instance.args for instance in task.instances]
    tokenizer.gone = True
    for _ in range(2):  # once a scenario
        harness.score(said(*"abcde"))
        assert [instance.args for instance in task.instances] == before
    assert requests == tuple(asked(gsm8k()).collect())


def test_a_task_that_asks_something_else_for_scoring_is_noticed() -> None:
    task = gsm8k(num_fewshot=2)
    harness = asked(task)
    harness.collect()
    task.set_config("num_fewshot", 1)
    with pytest.raises(RuntimeError, match="other requests for scoring"):
        harness.score(said(*"abcde"))


@pytest.mark.parametrize("answers", [4, 6], ids=["too-few", "too-many"])
def test_answers_that_are_not_one_a_request_are_an_error(answers: int) -> None:
    harness = asked(gsm8k())
    harness.collect()
    with pytest.raises(RuntimeError, match=f"{answers} answers to 5 requests"):
        harness.score(said(*"abcdef"[:answers]))


SAMPLING = {
    "by-name": {"do_sample": True, "temperature": 0.7},
    "by-temperature": {"do_sample": None, "temperature": 0.2},
    "at-no-temperature": {"do_sample": True, "temperature": 0.0},
}


@pytest.mark.parametrize("settings", SAMPLING.values(), ids=SAMPLING.keys())
def test_a_task_that_draws_its_answers_is_refused(settings: dict[str, float | None]) -> None:
    task = gsm8k()
    task.set_config("generation_kwargs", settings, update=True)
    with pytest.raises(UsageError, match=r"at random \(do_sample\).*Give a task that decodes"):
        asked(task).collect()


def test_more_examples_than_there_are_is_refused_with_what_to_change() -> None:
    with pytest.raises(UsageError) as caught:
        asked(gsm8k(num_fewshot=4)).collect()  # of three
    assert "Task 'gsm8k' cannot be asked: Sample larger than population" in str(caught.value)
    assert "fewer --num-fewshot" in str(caught.value)


def test_a_task_that_runs_what_the_model_writes_is_refused() -> None:
    task = inline([{"question": "Why?", "answer": "So."}], doc_to_text="question",
                  doc_to_target="answer", unsafe_code=True)  # fmt: skip
    with pytest.raises(UsageError, match=r"Task 'made' cannot be asked: .*unsafe"):
        asked(task).collect()


def test_whole_texts_are_refused_with_where_to_put_them() -> None:
    task = inline([{"page": "Once upon a time."}], output_type="loglikelihood_rolling",
                  doc_to_text="", doc_to_target="page")  # fmt: skip
    with pytest.raises(UsageError, match=r"loglikelihood_rolling.*--prompts"):
        asked(task).collect()
