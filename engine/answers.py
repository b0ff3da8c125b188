"""From the engine's outputs to the rows of a task's trace."""

from typing import Any

from linattn_verify.configs.legs import Leg
from linattn_verify.traces.schema import RequestRecord, Slice

Row = dict[str, object]


def answer_record(request: int, output: Any, slices: list[Slice], forced: bool) -> RequestRecord:
    """What the engine did with the request; of the slices those of the prefill. A forced output
    has no end of its own."""
    tokens = len(output.prompt_token_ids)
    completion = output.outputs[0]
    return RequestRecord(
        request=request,
        leg=Leg.ANSWER,
        prompt_tokens=tokens,
        output_tokens=len(completion.token_ids),
        cached_tokens=output.num_cached_tokens or 0,
        slices=tuple(s for s in slices if s.start < tokens),
        finish_reason=None if forced else completion.finish_reason,
    )


def answer_of(request: int, output: Any) -> Row:
    """The row of `traces.schema.ANSWERS`."""
    completion = output.outputs[0]
    pairs = list(zip(completion.token_ids, completion.logprobs, strict=True))
    return {
        "request": request,
        "output": completion.text,
        "tokens": [int(token) for token, _ in pairs],
        "logprobs": [entries[token].logprob for token, entries in pairs],
        "runners_up": [_best_other(token, entries) for token, entries in pairs],
    }


def _best_other(token: int, entries: dict[int, Any]) -> float | None:
    others = [entry.logprob for other, entry in entries.items() if other != token]
    return max(others, default=None)
