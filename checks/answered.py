"""One scenario's answers to a task, joined with what lm-eval made of them."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.selection import select
from linattn_verify.configs.legs import Leg
from linattn_verify.traces.schema import RequestRecord

KEY = ["filter", "metric"]


@dataclass(frozen=True)
class Output:
    """What came back for one request."""

    text: str
    tokens: np.ndarray
    """[T] token ids."""
    logprobs: np.ndarray
    """[T] nats."""
    runners_up: np.ndarray
    """[T] nats, the most likely other token's."""


@dataclass(frozen=True)
class Answered:
    """The scores and outputs of one scenario of a task."""

    task: str
    scores: pd.DataFrame
    """Columns of `traces.schema.SCORES`."""
    outputs: dict[int, Output]
    """By request."""
    records: dict[int, RequestRecord]
    judged: frozenset[int]
    """Questions in all of whose requests the thing under test happened."""
    left_out: dict[str, int]
    """Questions that are not judged, by reason."""

    @property
    def questions(self) -> int:
        """All questions that were asked."""
        return int(self.scores["question"].nunique())

    def cut(self) -> int:
        """Outputs that were cut by the length limit."""
        return sum(record.finish_reason == "length" for record in self.records.values())

    def free(self) -> int:
        """Outputs that had an end of their own to come to."""
        return sum(record.finish_reason is not None for record in self.records.values())

    def not_a_number(self) -> int:
        """Outputs with a NaN among the log-probabilities of their tokens."""
        return sum(bool(np.isnan(output.logprobs).any()) for output in self.outputs.values())

    def by_metric(self) -> dict[tuple[str, str], pd.DataFrame]:
        """Scores by (filter, metric) in lm-eval's order, each indexed by question."""
        return {
            (str(name), str(metric)): rows.set_index("question")
            for (name, metric), rows in self.scores.groupby(KEY, sort=False)
        }


def answered(evidence: Evidence, name: str) -> Answered:
    """The answers of a scenario that has a trace; raises KeyError where it has no scores."""
    scenario, trace = evidence.scenario(name), evidence.traces[name]
    selection = select(scenario, trace.record, Leg.ANSWER, evidence.profile)
    # A float32 mean of 36 right answers of 40 is below 0.9.
    scores = evidence.scores[name].astype({"score": "float64"})
    asked = scores.drop_duplicates("question")
    requests = zip(asked["question"], asked["requests"], strict=True)
    judged = frozenset(int(q) for q, own in requests if set(own) <= selection.requests)
    reasons = [reason.removeprefix("requests_left_out_") for reason in selection.left_out]
    return Answered(
        task=scenario.task or "",
        scores=scores,
        outputs=_outputs(trace.rows),
        records={record.request: record for record in trace.record.requests},
        judged=judged,
        left_out={f"questions_left_out_{r}": len(asked) - len(judged) for r in reasons},
    )


def _outputs(rows: pd.DataFrame) -> dict[int, Output]:
    return {
        int(row["request"]): Output(
            row["output"], row["tokens"], row["logprobs"], row["runners_up"]
        )
        for row in rows.sort_values("request").to_dict("records")
    }
