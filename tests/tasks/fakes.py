"""A small tokenizer, small tasks, and a harness around them."""

from collections.abc import Sequence
from typing import Any

from datasets import Dataset, DatasetDict
from lm_eval.tasks import TaskManager

from linattn_verify.tasks.adapter import Adapter
from linattn_verify.tasks.data import Rows
from linattn_verify.tasks.harness import Harness
from linattn_verify.tasks.loading import load_tasks
from linattn_verify.tasks.request import Answer
from linattn_verify.tasks.tokenizer import Message

BEGINNING, END = 256, 257


class Bytes:
    """A token a byte, one for the beginning and one for the end. It counts what it is asked."""

    eos_token: str | None = "<eos>"
    eos_token_id: int | None = END

    def __init__(self) -> None:
        self.encoded: list[tuple[list[str], bool]] = []
        self.chats: list[tuple[list[Message], bool]] = []
        self.gone = False

    def encode(self, texts: list[str], special_tokens: bool) -> list[tuple[int, ...]]:
        assert not self.gone
        self.encoded.append((texts, special_tokens))
        return [(*([BEGINNING] if special_tokens else []), *text.encode()) for text in texts]

    def chat(self, messages: list[Message], generation_prompt: bool) -> str:
        assert not self.gone
        self.chats.append((messages, generation_prompt))
        turns = "".join(f"[{turn['role']}]{turn['content']}" for turn in messages)
        return turns + ("[assistant]" if generation_prompt else "")


def text(token_ids: Sequence[int]) -> str:
    """What was encoded, without special tokens."""
    return bytes(i for i in token_ids if i < BEGINNING).decode()


ROWS: Rows = {
    "train": [
        {"question": "Two and three?", "answer": "2 + 3 = 5.\n#### 5"},
        {"question": "Nine less two?", "answer": "9 - 2 = 7.\n#### 7"},
        {"question": "Four and seven?", "answer": "4 + 7 = 11.\n#### 11"},
    ],
    "test": [
        {"question": "Three and ten?", "answer": "3 + 10 = 13.\n#### 13"},
        {"question": "Forty less three?", "answer": "40 - 3 = 37.\n#### 37"},
        {"question": "Ninety times thirteen?", "answer": "90 * 13 = 1,170.\n#### 1,170"},
        {"question": "Eight and nine?", "answer": "8 + 9 = 17.\n#### 17"},
        {"question": "Six and five?", "answer": "6 + 5 = 11.\n#### 11"},
    ],
}


SUMS = {
    "task": "sums",
    "dataset_path": "openai/gsm8k",
    "training_split": "train",
    "test_split": "test",
    "doc_to_text": "question",
    "doc_to_target": "answer",
}
"""A definition as a file of lm-eval holds it, about GSM8K's data."""


def gsm8k(num_fewshot: int | None = 2, rows: Rows = ROWS) -> Any:
    """lm-eval's own task, about these questions."""
    return load_tasks(("gsm8k",), rows, num_fewshot)["gsm8k"]


def inline(rows: list[dict[str, Any]], **config: Any) -> Any:
    """A task of one's own, from a definition as a file of lm-eval holds it."""

    def load(**_: Any) -> DatasetDict:
        return DatasetDict({"test": Dataset.from_list(rows)})

    document = {"task": "made", "custom_dataset": load, "test_split": "test", **config}
    return TaskManager(include_defaults=False).load([document])["tasks"]["made"]


def asked(
    task: Any,
    tokenizer: Bytes | None = None,
    *,
    limit: int | None = None,
    chat: bool = False,
    thinking: bool = False,
    max_gen_toks: int | None = None,
) -> Harness:
    """The task in a harness."""
    adapter = Adapter(tokenizer or Bytes(), chat, thinking, max_gen_toks)
    return Harness(task.task_name, task, adapter, limit, chat)


def said(*outputs: str) -> list[Answer]:
    """Answers in words."""
    return [Answer(output=output, logprob=-3.5, greedy=True) for output in outputs]
