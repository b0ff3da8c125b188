"""Tasks in a chat template, with thoughts and without."""

import random
from typing import Any

import pytest

from linattn_verify.configs.errors import UsageError
from linattn_verify.tasks.harness import Row
from tests.tasks.fakes import BEGINNING, ROWS, Bytes, asked, gsm8k, inline, said, text

SEED = 1234
STRICT = "strict-match"


def test_examples_are_turns_and_the_model_is_to_answer() -> None:
    first, *_ = asked(gsm8k(num_fewshot=1), chat=True).collect()
    (shot,) = random.Random(SEED).sample(ROWS["train"], 1)
    assert text(first.token_ids) == (
        f"[user]Question: {shot['question']}\nAnswer:"
        f"[assistant]{shot['answer']}"
        "[user]Question: Three and ten?\nAnswer:[assistant]"
    )


def test_a_template_brings_its_own_special_tokens() -> None:
    tokenizer = Bytes()
    requests = asked(gsm8k(), tokenizer, chat=True).collect()
    assert all(BEGINNING not in r.token_ids for r in requests)
    ((texts, special),) = tokenizer.encoded  # in one go
    assert (len(texts), special) == (5, False)


def test_without_a_template_the_tokenizers_chat_is_not_asked() -> None:
    tokenizer = Bytes()
    asked(gsm8k(), tokenizer).collect()
    assert tokenizer.chats == []


def test_an_answer_that_the_task_begins_is_gone_on_with() -> None:
    tokenizer = Bytes()
    task = inline([{"question": "Three and ten?", "answer": "13"}], doc_to_text="question",
                  doc_to_target="answer", gen_prefix="It is")  # fmt: skip
    (request,) = asked(task, tokenizer, chat=True).collect()
    ((_, prompt),) = tokenizer.chats
    assert not prompt
    assert text(request.token_ids) == "[user]Three and ten?[assistant]It is"


def test_choices_are_asked_for_within_the_template() -> None:
    rows = [{"question": "The sky is", "gold": 1}]
    task = inline(rows, output_type="multiple_choice", doc_to_text="question",
                  doc_to_choice=["white", "blue"], doc_to_target="gold")  # fmt: skip
    requests = asked(task, chat=True).collect()
    assert [(text(r.token_ids), text(r.forced or ())) for r in requests] == [
        ("[user]The sky is[assistant]", "white"),
        ("[user]The sky is[assistant]", "blue"),
    ]


@pytest.mark.parametrize("thinking", [False, True])
def test_scoring_asks_the_same_and_needs_no_tokenizer(thinking: bool) -> None:
    tokenizer = Bytes()
    harness = asked(gsm8k(), tokenizer, chat=True, thinking=thinking)
    harness.collect()
    assert len(tokenizer.chats) == 5
    tokenizer.gone = True
    rows = harness.score(said("#### 13", "#### 37", "#### 1,170", "#### 17", "#### 11"))
    assert {row["score"] for row in rows} == {1}


def test_a_model_without_a_template_is_refused_in_the_tokenizers_words() -> None:
    class Plain(Bytes):
        def chat(self, messages: list[dict[str, str]], generation_prompt: bool) -> str:
            raise UsageError("--chat-template: this model has none.")

    with pytest.raises(UsageError, match=r"^--chat-template: this model has none\.$"):
        asked(gsm8k(), Plain(), chat=True).collect()


def test_no_string_ends_a_thought() -> None:
    assert {r.until for r in asked(gsm8k(), chat=True, thinking=True).collect()} == {()}
    stops = {"Question:", "</s>", "<|im_end|>", "<eos>"}
    assert [set(r.until) for r in asked(gsm8k(), chat=True).collect()] == [stops] * 5


def strict(output: str, thinking: bool) -> Row:
    """What the strict filter makes of this answer to "Three and ten?"."""
    harness: Any = asked(gsm8k(), limit=1, chat=True, thinking=thinking)
    harness.collect()
    (row,) = [row for row in harness.score(said(output)) if row["filter"] == STRICT]
    return row  # type: ignore[no-any-return]


THOUGHTS = {
    "a-wrong-thought-before-a-right-answer": (
        "Is it #### 12? Question: no.</think>\n\n3 + 10 = 13.\n#### 13",
        "13",
    ),
    "a-right-thought-before-a-wrong-answer": ("#### 13</think>#### 12", "12"),
    "a-question-of-its-own-after-the-answer": ("Hm.</think>#### 13 Question: #### 12", "13"),
    "no-answer-after-the-thought": ("#### 13</think>", "[invalid]"),
    "no-thought": ("#### 13", "13"),
}


@pytest.mark.parametrize(("output", "answer"), THOUGHTS.values(), ids=THOUGHTS.keys())
def test_a_thought_is_no_part_of_an_answer(output: str, answer: str) -> None:
    assert strict(output, thinking=True)["answer"] == answer


def test_without_thinking_all_of_the_output_counts() -> None:
    """Or else the test above would show nothing."""
    assert strict("#### 13</think>#### 12", thinking=False)["answer"] == "13"
