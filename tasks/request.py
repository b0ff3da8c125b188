"""One request of a task, as the engine is asked, and what came back."""

from pydantic import Field

from linattn_verify.configs.strict import Strict


class TaskRequest(Strict):
    """A prompt to be continued greedily, or along given tokens whose likelihood is asked for."""

    token_ids: tuple[int, ...]
    forced: tuple[int, ...] | None = None
    """Tokens to continue along (lm-eval's loglikelihood); None to generate freely."""
    until: tuple[str, ...] = ()
    """Strings that end the output and are not part of it."""
    max_tokens: int


class Answer(Strict):
    """What the engine gave for one request."""

    output: str
    logprob: float = Field(allow_inf_nan=True)
    """Sum over the output's tokens, nats; NaN where the engine says that of one of them."""
    greedy: bool
    """Whether every token was the most likely one."""
