"""What one scenario produced: the rows of its table, and the record that travels with them."""

from typing import Literal

import pyarrow as pa
from pydantic import Field

from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Memory
from linattn_verify.configs.strict import Strict
from linattn_verify.traces.states import Part

SCHEMA_VERSION = 3


ROWS = pa.schema(
    [
        ("request", pa.int32()),  # index of the prompt in the workload
        ("leg", pa.string()),
        ("position", pa.int32()),  # index of the predicted token in prompt + output
        ("token", pa.int32()),
        ("text", pa.string()),  # the token as the tokenizer prints it
        ("logprob", pa.float32()),  # nats; null where a cached position was not computed
        ("rank", pa.int32()),  # 1 = most likely
        ("top_tokens", pa.list_(pa.int32())),  # most likely first
        ("top_logprobs", pa.list_(pa.float32())),
        ("step", pa.int32()),  # engine step that computed the row, counted in its pass
        ("chunk", pa.int32()),  # step of the request that computed it, 0 = first
        (
            "edge_distance",
            pa.int32(),
        ),  # computing position minus last edge; null before one
        ("cached", pa.bool_()),
    ]
)
"""One row per (request, leg, position). The row of position p is computed from token p-1: `step`,
`chunk` and `edge_distance` speak of that computing position. A chunk that starts at a restored
prefix is a later chunk: its edge is the boundary of the prefix. A decode step counts as a chunk of
its own, but not as an edge: its distance is from the last edge of the prefill."""

ANSWERS = pa.schema(
    [
        ("request", pa.int32()),  # index of the request in the task
        ("output", pa.string()),  # as the engine returns it: without the stop string
        ("tokens", pa.list_(pa.int32())),
        ("logprobs", pa.list_(pa.float32())),  # nats, of `tokens`
        ("runners_up", pa.list_(pa.float32())),  # nats, the most likely other token's
    ]
)
"""One row per request of a task."""
SCORES = pa.schema(
    [
        ("task", pa.string()),
        ("question", pa.int32()),  # index of the question in the task
        ("requests", pa.list_(pa.int32())),  # indices of its requests in the task
        ("filter", pa.string()),
        ("metric", pa.string()),
        ("score", pa.float32()),
        ("answer", pa.string()),  # what the filter took out of the output
        ("valid", pa.bool_()),  # whether the filter found an answer
        ("text", pa.string()),  # the question as the task puts it, without examples
        ("target", pa.string()),
    ]
)
"""One row per (question, filter, metric), as lm-eval scores it."""
TABLES = {"positions": ROWS, "answers": ANSWERS}


class Slice(Strict):
    """One request's part of one engine step, from the scheduler's own record."""

    step: int
    start: int
    """Tokens of the request computed before this step."""
    tokens: int


class RequestRecord(Strict):
    """What the engine did with one request."""

    request: int
    leg: Leg
    prompt_tokens: int
    output_tokens: int
    cached_tokens: int
    slices: tuple[Slice, ...]
    """Of an answer those of the prefill alone: its decode steps may be many thousands."""
    finish_reason: str | None = None

    def prefill(self) -> tuple[Slice, ...]:
        """The slices that computed prompt tokens, in order."""
        return tuple(s for s in self.slices if s.start < self.prompt_tokens)


class Filled(Strict):
    """What the cache tensors were filled with before the scenario."""

    content: Memory
    bytes: int
    tensors: dict[str, int]
    """Cache tensors, by what they hold."""
    poisoned: dict[str, int]
    """Tensors that read back as NaN, by what they hold."""


class TraceRecord(Strict):
    """Everything about a scenario's execution but its rows."""

    schema_version: int = SCHEMA_VERSION
    table: Literal["positions", "answers"] = "positions"
    scenario: str
    engine: str
    budget: int
    """The scheduler's token budget of a step, as read from the scheduler."""
    largest_step: int
    """Most tokens that the scheduler put into one step."""
    prefix_caching: bool
    block_size: int
    """Tokens of a cache block that a prefix hit is counted in, as the engine resolved it."""
    logits_dtype: str
    top_logit: float | None = None
    """Median over generated positions of the largest |logit|, as seen by a logits processor."""
    requests: tuple[RequestRecord, ...]
    pool_blocks: int
    """Cache blocks that the scheduler could hand out."""
    allocated_blocks: int
    """Cache blocks that it did hand out, each time counted."""
    handed_out_blocks: int = 0
    """Of them, those that were filled again as they were handed out."""
    filled: Filled | None = None
    repeats: bool | None = None
    """Where memory was filled with NaN and the trace was another: whether it was the same again
    with every block zeroed when handed out."""
    finite_shows: bool | None = None
    """Likewise, whether finite numbers in place of NaN gave another trace as well."""
    suspects: tuple[Part, ...] = ()
    """Where memory was filled with NaN and that showed: the kinds of block that still show it where
    all others are zeroed when handed out."""
    state_rows: int = 0
    """Rows of the scenario's states."""
    faults: dict[str, int] = Field(default_factory=dict)
    """Injected faults and how often each fired."""
    seconds: float
