"""The tasks of a run: loaded while the engine process starts, asked with its tokenizer, scored."""

from pathlib import Path
from typing import Any

import pandas as pd

from linattn_verify.cli.folder import RunFolder
from linattn_verify.cli.pipeline import Pipeline
from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.request import Request
from linattn_verify.configs.tasks import TaskShape
from linattn_verify.reports.document import TaskAsked
from linattn_verify.tasks.data import Rows, gsm8k_rows, pocket_rows
from linattn_verify.tasks.request import TaskRequest
from linattn_verify.tasks.tokenizer import Tokenizer
from linattn_verify.traces.store import Trace, read_scores, write_scores
from linattn_verify.workloads.embedded import EMBEDDED

Loaded = dict[str, Any]
"""lm-eval's task objects by name."""


def load(request: Request) -> Loaded:
    """The tasks that were asked for; raises UsageError where one cannot be had."""
    from linattn_verify.tasks.loading import load_tasks

    return load_tasks(request.tasks, _gsm8k(request), request.profile.task.num_fewshot)


def _gsm8k(request: Request) -> Rows | None:
    """GSM8K's questions where they do not come from the hub."""
    if request.gsm8k_data is not None:
        return gsm8k_rows(request.gsm8k_data)
    return pocket_rows() if request.model in EMBEDDED else None


def _source(request: Request, replaced: bool) -> str:
    """Where a task's questions come from, in words."""
    if not replaced:
        return "hub"
    return str(request.gsm8k_data or "the pocket model's problems")


class Tasks:
    """Requests by task, the same in every scenario, and the scores of what came back."""

    def __init__(self, request: Request, loaded: Loaded, tokenizer: Tokenizer) -> None:
        from linattn_verify.tasks.adapter import Adapter
        from linattn_verify.tasks.harness import Harness

        rules, chat = request.profile.task, request.chat_template
        self._harnesses = {
            name: Harness(
                name,
                task,
                Adapter(tokenizer, chat, request.enable_thinking, rules.max_gen_toks),
                rules.limit,
                chat,
            )
            for name, task in loaded.items()
        }
        self._check_data(request)
        self.requests: dict[str, tuple[TaskRequest, ...]] = {
            name: harness.collect() for name, harness in self._harnesses.items()
        }

    def _check_data(self, request: Request) -> None:
        """Data that no task asks for is a mistake."""
        if request.gsm8k_data and not any(h.replaced for h in self._harnesses.values()):
            raise UsageError(
                f"--gsm8k-data: none of the tasks ({', '.join(self._harnesses)}) is about GSM8K. "
                "Leave it out."
            )

    def asked(self, request: Request) -> tuple[TaskAsked, ...]:
        """What the report says of the tasks."""
        return tuple(
            TaskAsked(
                name=name,
                data=_source(request, harness.replaced),
                requests=len(self.requests[name]),
                tokens=sum(len(r.token_ids) for r in self.requests[name]),
                num_fewshot=harness.num_fewshot,
                max_gen_toks=max(r.max_tokens for r in self.requests[name]),
                chat_template=request.chat_template,
                thinking=request.enable_thinking,
            )
            for name, harness in self._harnesses.items()
        )

    def shapes(self) -> tuple[TaskShape, ...]:
        """What the plan has to know."""
        return tuple(
            TaskShape(
                name=name,
                lengths=tuple(len(r.token_ids) for r in requests),
                outputs=tuple(r.max_tokens for r in requests),
            )
            for name, requests in self.requests.items()
        )

    def score(
        self, pipeline: Pipeline, traces: dict[str, Trace], folder: RunFolder
    ) -> dict[str, pd.DataFrame]:
        """The scores of every scenario of a task that left a trace; on disk as well. Where lm-eval
        cannot score the answers, the scenario's outcome becomes an ERROR."""
        found = {}
        for name, trace in traces.items():
            if trace.record.table == "answers":
                path = folder.scores(name)
                try:
                    self._score(name, trace, path)
                    found[name] = read_scores(path)
                except Exception as error:
                    pipeline.spoil(name, f"its answers could not be scored: {error}")
        return found

    def _score(self, scenario: str, trace: Trace, path: Path) -> None:
        from linattn_verify.tasks.harness import answers_of

        task = scenario.partition("/")[0]
        write_scores(path, self._harnesses[task].score(answers_of(trace.rows)))
