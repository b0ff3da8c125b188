"""The questions that change sides, and where the two outputs part."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from linattn_verify.checks.answered import Answered, Output
from linattn_verify.checks.result import Flip


def flips_of(
    name: str, candidate: Answered, reference: Answered, both: pd.DataFrame
) -> tuple[Flip, ...]:
    """A Flip for each row of `both` (one filter's scores of either side, by question) in which one
    side is right and the other wrong."""
    changed = both[both["score_candidate"] != both["score_reference"]]
    return tuple(
        _flip(name, candidate, reference, int(question), row)
        for question, row in zip(changed.index, changed.to_dict("records"), strict=True)
    )


def _flip(
    name: str, candidate: Answered, reference: Answered, question: int, row: dict[Any, Any]
) -> Flip:
    request, parted = _parting(candidate, reference, row["requests_reference"])
    theirs, ours = reference.outputs[request], candidate.outputs[request]
    return Flip(
        task=candidate.task,
        filter=name,
        question=question,
        text=row["text_reference"],
        target=row["target_reference"],
        change="lost" if row["score_reference"] > row["score_candidate"] else "gained",
        reference_answer=row["answer_reference"],
        candidate_answer=row["answer_candidate"],
        reference_output=theirs.text,
        candidate_output=ours.text,
        parted_at=parted,
        reference_lead=None if parted is None else _lead(theirs, parted),
    )


def _parting(
    candidate: Answered, reference: Answered, requests: Sequence[int]
) -> tuple[int, int | None]:
    """The question's first request whose output tokens differ, and at which token; its first
    request and None where no token differs, as with likelihoods."""
    for request in requests:
        ours, theirs = candidate.outputs[request].tokens, reference.outputs[request].tokens
        both = min(len(ours), len(theirs))
        differs = np.flatnonzero(ours[:both] != theirs[:both])
        if len(differs):
            return int(request), int(differs[0])
        if len(ours) != len(theirs):
            return int(request), both
    return int(requests[0]), None


def _lead(output: Output, index: int) -> float | None:
    """Nats between the token at `index` and its runner-up; None where the output ends before."""
    if index >= len(output.tokens):
        return None
    lead = output.logprobs[index] - output.runners_up[index]
    return float(lead) if np.isfinite(lead) else None
