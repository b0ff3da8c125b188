"""Requests as vLLM takes them: prompt, cache salt and sampling parameters."""

from typing import Any

from vllm import SamplingParams

from linattn_verify.configs.plan import Kind, Scenario
from linattn_verify.engine.forcing import FORCED
from linattn_verify.engine.passes import Ask
from linattn_verify.engine.steps import LABEL
from linattn_verify.tasks.request import TaskRequest


def prompt_of(token_ids: tuple[int, ...], salt: str | None) -> dict[str, Any]:
    """The prompt, found in the cache only by others of the same salt."""
    prompt: dict[str, Any] = {"prompt_token_ids": list(token_ids)}
    return prompt | ({"cache_salt": salt} if salt else {})


def task_salt(scenario: Scenario, request: int) -> str | None:
    """One of its own for every request, and the same in every scenario: prompts of a task share
    their examples, so that `cold` would not be cold without, and `warm` finds exactly its own."""
    cached = scenario.kind in (Kind.COLD, Kind.WARM)
    return f"{scenario.task}-{request}" if cached else None


def sampling(ask: Ask, top_k: int) -> SamplingParams:
    """Greedy, with raw log-probabilities. A request for prompt log-probabilities skips the prefix
    cache unless told otherwise (vllm/v1/core/kv_cache_manager.py), and without detokenisation the
    placeholder ids of cached positions do no harm."""
    return SamplingParams(
        temperature=0.0,
        max_tokens=ask.max_tokens,
        ignore_eos=True,
        detokenize=False,
        logprobs=top_k,
        prompt_logprobs=top_k if ask.prompt_logprobs else None,
        skip_reading_prefix_cache=not ask.read_cache,
        extra_args={
            FORCED: list(ask.forced) if ask.forced else None,
            **({LABEL: ask.request} if ask.states else {}),
        },
    )


def answering(request: TaskRequest) -> SamplingParams:
    """Greedy until a stop string or the end, or along the tokens whose likelihood is asked for."""
    forced = list(request.forced) if request.forced else None
    return SamplingParams(
        temperature=0.0,
        max_tokens=request.max_tokens,
        stop=list(request.until),
        ignore_eos=forced is not None,
        # As lm-eval's own backends decode.
        skip_special_tokens=False,
        spaces_between_special_tokens=False,
        logprobs=2,
        extra_args={FORCED: forced} if forced else None,
    )
