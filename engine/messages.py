"""What the parent and an engine process say to each other: one JSON object a line."""

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from linattn_verify.configs.plan import Scenario
from linattn_verify.configs.strict import Strict
from linattn_verify.tasks.request import TaskRequest
from linattn_verify.traces.guard import Guard
from linattn_verify.traces.observed import Observed
from linattn_verify.traces.outcome import Status
from linattn_verify.workloads.prompts import Prompt


class ModelFacts(Strict):
    """What the checkpoint says of itself."""

    name: str
    path: str | None
    """Local folder, where there is one."""
    revision: str | None
    architecture: str
    vocab_size: int
    max_position_embeddings: int | None
    experts: bool
    """Whether it is a mixture of experts."""


class TokenizerFacts(Strict):
    """What the tokenizer says of itself."""

    eos_token: str | None
    eos_token_id: int | None


class EngineFacts(Strict):
    """What a loaded engine says of itself."""

    resolved: dict[str, Any]
    """By engine argument; only arguments whose value the engine reports."""
    notes: tuple[str, ...]
    guards: tuple[Guard, ...]
    observed: Observed
    block_size: int
    prefix_caching: bool
    dtype: str
    layers: dict[str, int]
    """Number of layers by kind of state, e.g. {"gated_delta_net": 3, "full_attention": 1}."""
    linear_attention: bool
    versions: dict[str, str]
    cpu: dict[str, Any]
    kernel_path: tuple[str, ...]


class Prepare(Strict):
    """Read the checkpoint's configuration and tokenise the prompts."""

    type: Literal["prepare"] = "prepare"
    model: str
    revision: str | None
    trust_remote_code: bool
    prompts: tuple[Prompt, ...]
    engine_args: tuple[str, ...]
    """Names of the user's engine arguments, to be checked."""


class Encode(Strict):
    """Tokenise texts, once the checkpoint has been prepared."""

    type: Literal["encode"] = "encode"
    texts: tuple[str, ...]
    special_tokens: bool


class Chat(Strict):
    """Put a conversation into the model's chat template."""

    type: Literal["chat"] = "chat"
    messages: tuple[dict[str, str], ...]
    generation_prompt: bool
    thinking: bool


class Load(Strict):
    """Start the engine."""

    type: Literal["load"] = "load"
    engine: str
    model: str
    engine_args: dict[str, Any]


class Prefix(Strict):
    """A prompt with the reference's output, up to a position."""

    request: int
    position: int
    """Tokens of it."""


class States(Strict):
    """Which states to read, and where to write them."""

    path: str
    requests: tuple[int, ...]
    """Prompts whose states are read."""
    most_bytes: int
    """How much of them is kept; of the rest, digests."""


class Run(Strict):
    """Serve the workload as one scenario and write its trace."""

    type: Literal["run"] = "run"
    scenario: Scenario
    prompts: tuple[tuple[int, ...], ...]
    forced: tuple[tuple[int, ...], ...] | None
    """The reference's generated tokens, one tuple a prompt; None in the reference itself."""
    decode_tokens: int
    top_k: int
    cut_offsets: tuple[int | Literal["half", "block"], ...]
    trace: str
    states: States | None = None
    prefixes: tuple[Prefix, ...] = ()
    """What a scenario of prefixes serves."""
    baseline: str | None = None
    """Of a twin, the trace of the scenario that it repeats."""


class Serve(Strict):
    """Serve the requests of a task as one scenario and write its trace."""

    type: Literal["serve"] = "serve"
    scenario: Scenario
    requests: tuple[TaskRequest, ...]
    concurrency: int
    """Requests in flight at once."""
    trace: str


class Stop(Strict):
    """End well."""

    type: Literal["stop"] = "stop"


class Prepared(Strict):
    type: Literal["prepared"] = "prepared"
    model: ModelFacts
    tokenizer: TokenizerFacts
    token_ids: tuple[tuple[int, ...], ...]


class Encoded(Strict):
    type: Literal["encoded"] = "encoded"
    token_ids: tuple[tuple[int, ...], ...]


class Chatted(Strict):
    type: Literal["chatted"] = "chatted"
    text: str


class Loaded(Strict):
    type: Literal["loaded"] = "loaded"
    facts: EngineFacts


class Progress(Strict):
    type: Literal["progress"] = "progress"
    scenario: str
    done: int
    total: int
    """Tokens that go through the model in this scenario, about."""


class Ran(Strict):
    type: Literal["ran"] = "ran"
    scenario: str


class Failed(Strict):
    """The child could not do what it was asked; it is still there to say so."""

    type: Literal["failed"] = "failed"
    status: Status
    usage: bool = False
    """The request itself is at fault: the user must change it."""
    message: str
    traceback: str = ""


Command = Prepare | Encode | Chat | Load | Run | Serve | Stop
Reply = Prepared | Encoded | Chatted | Loaded | Progress | Ran | Failed
COMMANDS: TypeAdapter[Command] = TypeAdapter(Annotated[Command, Field(discriminator="type")])
REPLIES: TypeAdapter[Reply] = TypeAdapter(Annotated[Reply, Field(discriminator="type")])
