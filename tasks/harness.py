"""One task in lm-eval's hands: its requests, and the scores of a scenario's answers."""

import itertools
from typing import Any

import numpy as np
import pandas as pd

from linattn_verify.configs.errors import UsageError
from linattn_verify.tasks.adapter import Adapter
from linattn_verify.tasks.loading import WITHOUT, is_replaced, reset_examples
from linattn_verify.tasks.request import Answer, TaskRequest

Row = dict[str, object]
INVALID = ("[invalid]", "")
"""What lm-eval's filters leave where they find no answer (lm_eval/filters/extraction.py)."""


class Harness:
    """A task object of lm-eval and the adapter that it talks to."""

    def __init__(
        self, name: str, task: Any, adapter: Adapter, limit: int | None, chat: bool
    ) -> None:
        self.name = name
        self._task = task
        self._adapter = adapter
        self._limit = limit
        self._chat = chat

    @property
    def num_fewshot(self) -> int:
        """Examples in each prompt."""
        return int(self._task.get_config("num_fewshot") or 0)

    @property
    def replaced(self) -> bool:
        """Whether the task is asked about other questions than those of its data set on the hub."""
        return is_replaced(self._task)

    def collect(self) -> tuple[TaskRequest, ...]:
        """Every request of the task, in the order in which answers are wanted. Raises UsageError
        where lm-eval refuses the task."""
        try:
            self._evaluate()
        except (AssertionError, ValueError) as error:
            raise UsageError(
                f"Task {self.name!r} cannot be asked: {error}\nGive another task, or fewer "
                f"--num-fewshot where it lacks examples. {WITHOUT}"
            ) from error
        return tuple(self._adapter.requests)

    def score(self, answers: list[Answer]) -> list[Row]:
        """Rows of `traces.schema.SCORES`: lm-eval's own filters and scores of these answers."""
        self._adapter.play(answers)
        samples = self._evaluate()
        requests = self._requests_of_questions()
        better = self._task.higher_is_better()
        return [
            self._row(sample, metric, requests[sample["doc_id"]])
            for sample in samples
            for metric in sample["metrics"]
            if better.get(metric) and isinstance(sample[metric], (bool, int, float))
        ]

    def _evaluate(self) -> list[dict[str, Any]]:
        from lm_eval.evaluator import evaluate

        reset_examples(self._task)
        results = evaluate(
            lm=self._adapter,
            task_dict={"tasks": {self.name: self._task}, "groups": {}, "group_map": {}},
            limit=self._limit,
            bootstrap_iters=0,
            log_samples=True,
            apply_chat_template=self._chat,
            # What lm-eval's command line does with a chat template.
            fewshot_as_multiturn=self._chat,
        )
        found: list[dict[str, Any]] = results["samples"][self.name]
        return found

    def _requests_of_questions(self) -> dict[int, list[int]]:
        """Indices of the requests of each question. lm-eval asks type by type, each request as
        often as it is to be repeated (lm_eval/evaluator.py)."""
        types = dict.fromkeys(i.request_type for i in self._task.instances)
        asked = itertools.chain.from_iterable(
            [instance.doc_id] * instance.repeats
            for kind in types
            for instance in self._task.instances
            if instance.request_type == kind
        )
        found: dict[int, list[int]] = {}
        for index, question in enumerate(asked):
            found.setdefault(question, []).append(index)
        return found

    def _row(self, sample: dict[str, Any], metric: str, requests: list[int]) -> Row:
        likelihoods = _likelihoods(sample["filtered_resps"])
        answer = _choice(likelihoods) if likelihoods else _text(sample["filtered_resps"])
        # lm-eval takes NaN for the largest likelihood, and may find it right.
        broken = bool(np.isnan(likelihoods).any())
        return {
            "task": self.name,
            "question": sample["doc_id"],
            "requests": requests,
            "filter": sample["filter"],
            "metric": metric,
            "score": 0.0 if broken else float(sample[metric]),
            "answer": answer,
            "valid": answer.strip() not in INVALID,
            "text": str(self._task.doc_to_text(sample["doc"])),
            "target": str(sample["target"]),
        }


def answers_of(rows: pd.DataFrame) -> list[Answer]:
    """The answers in a trace (columns of `traces.schema.ANSWERS`), in the order of the requests."""
    ordered: list[dict[str, Any]] = rows.sort_values("request").to_dict("records")  # type: ignore[assignment]
    return [
        Answer(
            output=row["output"],
            logprob=float(np.sum(row["logprobs"])),
            greedy=bool(np.all(row["logprobs"] >= row["runners_up"])),
        )
        for row in ordered
    ]


def _likelihoods(filtered: list[Any]) -> list[float]:
    """Of each choice; none where the answer is a text. lm-eval has pairs of value and greedy."""
    return [one[0] for one in filtered if isinstance(one, tuple) and isinstance(one[0], float)]


def _choice(likelihoods: list[float]) -> str:
    """The most likely choice's number, in words."""
    if np.isnan(likelihoods).any():
        return INVALID[0]
    return f"choice {int(np.argmax(likelihoods)) + 1} of {len(likelihoods)}"


def _text(filtered: list[Any]) -> str:
    return str(filtered[0]) if filtered else ""
