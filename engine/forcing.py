"""A logits processor that makes a request decode along given tokens, and looks at the logits.

With `logprobs_mode="raw_logprobs"` vLLM records log-probabilities before logits processors run,
so what is recorded is what the model said, not what was forced.
"""

from typing import Any

import torch
from vllm.v1.sample.logits_processor import AdapterLogitsProcessor

FORCED = "linattn_forced_tokens"
"""Key in SamplingParams.extra_args: list of token ids to decode along, or None to only look."""
top_logits: list[float] = []
"""Largest |logit| of every generated position since the list was last emptied."""


class TokenForcer(AdapterLogitsProcessor):  # type: ignore[misc]
    """Forces the i-th generated token of a request to the i-th given one."""

    def is_argmax_invariant(self) -> bool:
        return False

    def new_req_logits_processor(self, params: Any) -> Any:
        arguments = params.extra_args or {}
        if FORCED not in arguments:
            return None
        forced: list[int] | None = arguments[FORCED]

        def process(output_ids: list[int], logits: torch.Tensor) -> torch.Tensor:
            """logits: [V] float32 of one request."""
            finite = logits[logits.isfinite()]
            if len(finite):
                top_logits.append(float(finite.abs().max()))
            if forced is None or len(output_ids) >= len(forced):
                return logits
            token = forced[len(output_ids)]
            only = torch.full_like(logits, float("-inf"))
            only[token] = 0.0
            return only

        return process
