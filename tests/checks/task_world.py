"""A made run of a task: 41 questions in five scenarios, every number known beforehand."""

from collections.abc import Collection, Iterable
from typing import Any

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.registry import checks_named, run_checks
from linattn_verify.checks.result import CheckResult
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Scenario
from linattn_verify.configs.profile import TaskRules
from linattn_verify.traces.outcome import Outcome, Status
from linattn_verify.traces.schema import ANSWERS, SCORES, RequestRecord, TraceRecord
from linattn_verify.traces.store import Trace
from tests.checks.task_rows import (
    BLOCK,
    CHOICES,
    FILTERS,
    LENGTHS,
    QUESTIONS,
    TOKENS,
    Row,
    made_answer,
    made_score,
    plan,
    prefill,
    profile,
    read,
)


class TaskWorld:
    """A run of one task whose answers, scores and records a test may bend before it is judged.

    `choices`: requests of a question; more than one is a multiple-choice task by likelihoods.
    """

    def __init__(self, task: str = "gsm8k", choices: int = 1) -> None:
        self.task, self.choices = task, choices
        self.filters = FILTERS if choices == 1 else CHOICES
        self.plan = plan(task)
        self.rules: dict[str, Any] = {"margin": 0.1}
        self.min_score: float | None = None
        self.outcomes: dict[str, Outcome] = {}
        self.answers: dict[str, list[Row]] = {}
        self.scores: dict[str, list[Row]] = {}
        self.requests: dict[str, list[RequestRecord]] = {}
        self.settings: dict[str, dict[str, Any]] = {}
        for engine in self.plan.engines:
            for scenario in engine.scenarios:
                self._serve(scenario, engine.name)

    def evidence(self) -> Evidence:
        """What the check is given."""
        done = [name for name, o in self.outcomes.items() if o.status is Status.DONE]
        return Evidence(
            plan=self.plan,
            profile=profile(TaskRules(**self.rules)),
            prompt_names=("alpha",),
            outcomes=dict(self.outcomes),
            traces={name: self._trace(name) for name in done},
            engines={},
            task_requests={self.task: QUESTIONS * self.choices},
            scores={name: read(self.scores[name], SCORES) for name in done if name in self.scores},
            min_score=self.min_score,
        )

    def judge(self, scenario: str = "chunked@7") -> CheckResult:
        """The answer for one scenario, named without the task."""
        results = run_checks(checks_named(["task_score"]), self.evidence())
        (result,) = [r for r in results if r.scenario == f"{self.task}/{scenario}"]
        return result

    def score_rows(
        self, scenario: str, question: int, filters: Collection[tuple[str, str]] = ()
    ) -> list[Row]:
        """The scores of a question under `filters` (all where it is empty), to be bent in place."""
        return [
            row
            for row in self.scores[f"{self.task}/{scenario}"]
            if row["question"] == question
            and (not filters or (row["filter"], row["metric"]) in filters)
        ]

    def mark(
        self,
        scenario: str,
        questions: Iterable[int],
        right: bool,
        filters: Collection[tuple[str, str]] = (),
    ) -> None:
        """Let a scenario answer questions right or wrong, with another token where it is wrong."""
        for question in questions:
            answer = str(question if right else 1000 + question)
            for row in self.score_rows(scenario, question, filters):
                row.update(score=float(right), answer=answer, valid=True)
            tokens = list(TOKENS) if right else [*TOKENS[:3], 999, 2]
            if self.choices == 1:
                self.answer(scenario, question, output=f"It is {answer}.", tokens=tokens)

    def answer(self, scenario: str, request: int, **fields: Any) -> None:
        """Change fields of what came back for one request."""
        self.answers[f"{self.task}/{scenario}"][request].update(fields)

    def invalidate(self, scenario: str, questions: Iterable[int], output: str) -> None:
        """No filter finds an answer in `output`."""
        for question in questions:
            for row in self.score_rows(scenario, question):
                row.update(score=0.0, answer="[invalid]", valid=False)
            self.answer(scenario, question, output=output)

    def cut_short(self, scenario: str, requests: Iterable[int], output: str) -> None:
        """Outputs that the length limit ended."""
        for request in requests:
            self.change_record(scenario, request, finish_reason="length")
            self.answer(scenario, request, output=output)

    def change_record(self, scenario: str, request: int, /, **fields: Any) -> None:
        """Replace fields of one request's record."""
        records = self.requests[f"{self.task}/{scenario}"]
        records[request] = records[request].model_copy(update=fields)

    def end(self, scenario: str, status: Status, message: str) -> None:
        """Let a scenario end some other way."""
        name = f"{self.task}/{scenario}"
        changed = {"status": status, "message": message}
        self.outcomes[name] = self.outcomes[name].model_copy(update=changed)

    def _trace(self, name: str) -> Trace:
        record = TraceRecord(requests=tuple(self.requests[name]), **self.settings[name])
        return Trace(record, read(self.answers[name], ANSWERS))

    def _serve(self, scenario: Scenario, engine: str) -> None:
        name, caching = scenario.name, scenario.kind in (Kind.COLD, Kind.WARM)
        requests = range(QUESTIONS * self.choices)
        self.requests[name] = [self._record(scenario, request) for request in requests]
        self.answers[name] = [made_answer(request, request // self.choices) for request in requests]
        self.scores[name] = [
            made_score(self.task, question, self.choices, key)
            for question in range(QUESTIONS)
            for key in self.filters
        ]
        self.settings[name] = {
            **{"scenario": name, "engine": engine, "table": "answers", "seconds": 1.5},
            **{"budget": scenario.budget, "largest_step": scenario.budget},
            **{"prefix_caching": caching, "block_size": BLOCK, "logits_dtype": "bfloat16"},
            **{"pool_blocks": 64, "allocated_blocks": 9},
        }
        self.outcomes[name] = Outcome(scenario=name, engine=engine, status=Status.DONE)

    def _record(self, scenario: Scenario, request: int) -> RequestRecord:
        tokens = LENGTHS[request % len(LENGTHS)]
        cached = (tokens - 1) // BLOCK * BLOCK if scenario.kind is Kind.WARM else 0
        return RequestRecord(
            request=request,
            leg=Leg.ANSWER,
            prompt_tokens=tokens,
            output_tokens=len(TOKENS),
            cached_tokens=cached,
            slices=prefill(cached, tokens, scenario.budget),
            finish_reason="stop" if self.choices == 1 else None,
        )
