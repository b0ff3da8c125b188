"""What a made run of a task is made of: plan, prompts, answers, scores."""

from typing import Any

import pandas as pd
import pyarrow as pa

from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import EnginePlan, Kind, Plan, Scenario
from linattn_verify.configs.profile import Profile, TaskRules
from linattn_verify.traces.schema import Slice
from linattn_verify.traces.store import NULLABLE

QUESTIONS, BUDGET, BLOCK = 41, 7, 8
LENGTHS = (17, 23, 15)
"""Prompt tokens, in turn: every prompt is cut by the budget and holds a block."""
WRONG = (5, 11)
"""Questions that every scenario answers wrong."""
UNFORMED = (23, 31)
"""Questions whose answer only the flexible filter finds."""
STRICT, FLEXIBLE = ("strict-match", "exact_match"), ("flexible-extract", "exact_match")
FILTERS = (STRICT, FLEXIBLE)
CHOICES = (("none", "acc"), ("none", "acc_norm"))
TOKENS = (60, 70, 80, 90, 2)
LEADS = (0.25, 0.5, 0.75, 1.0, 1.25)
"""Nats between each of those tokens and its runner-up."""
Row = dict[str, Any]


def plan(task: str) -> Plan:
    """full and chunked@7 in one engine, cold, warm and warm-2 in another; all against full."""
    full, cold, warm = f"{task}/full", f"{task}/cold", f"{task}/warm"

    def scenario(name: str, kind: Kind, budget: int = 64, after: str | None = None) -> Scenario:
        reference = None if kind is Kind.FULL else full
        return Scenario(
            name=name,
            kind=kind,
            reference=reference,
            budget=budget,
            legs=(Leg.ANSWER,),
            after=after,
            task=task,
        )

    plain = scenario(full, Kind.FULL), scenario(f"{task}/chunked@7", Kind.CHUNKED, BUDGET)
    cache = (
        scenario(cold, Kind.COLD),
        scenario(warm, Kind.WARM, after=cold),
        scenario(f"{task}/warm-2", Kind.WARM, after=warm),
    )
    return Plan(
        engines=(
            EnginePlan(name="plain", requested={}, scenarios=plain),
            EnginePlan(name="cache", requested={}, scenarios=cache),
        )
    )


def profile(rules: TaskRules) -> Profile:
    """Nothing but the rules of tasks matters."""
    return Profile(name="made", description="made", budgets=(BUDGET,), limits={}, task=rules)


def prefill(cached: int, tokens: int, budget: int) -> tuple[Slice, ...]:
    """Slices of `budget` from `cached` on, a step each."""
    starts = range(cached, tokens, budget)
    return tuple(
        Slice(step=i, start=start, tokens=min(budget, tokens - start))
        for i, start in enumerate(starts)
    )


def made_answer(request: int, question: int) -> Row:
    """The right answer, in five tokens."""
    logprobs = [-0.5] * len(TOKENS)
    runners_up = [-0.5 - lead for lead in LEADS]
    return {
        **{"request": request, "output": f"It is {question}.", "tokens": list(TOKENS)},
        **{"logprobs": logprobs, "runners_up": runners_up},
    }


def made_score(task: str, question: int, choices: int, key: tuple[str, str]) -> Row:
    """Right but for WRONG, and under the strict filter invalid in UNFORMED."""
    invalid = key == STRICT and question in UNFORMED
    return {
        **{"task": task, "question": question, "filter": key[0], "metric": key[1]},
        "requests": list(range(question * choices, (question + 1) * choices)),
        "score": float(question not in WRONG and not invalid),
        "answer": "[invalid]" if invalid else str(question),
        "valid": not invalid,
        **{"text": f"What is {question}?", "target": f"#### {question}"},
    }


def read(rows: list[Row], schema: pa.Schema) -> pd.DataFrame:
    """Rows as the store reads them."""
    frame: pd.DataFrame = pa.Table.from_pylist(rows, schema=schema).to_pandas(
        types_mapper=NULLABLE.get
    )
    return frame
