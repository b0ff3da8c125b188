"""The report as data: what report.json holds and every other form of the report is made from."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, BeforeValidator, ConfigDict, Field, JsonValue

from linattn_verify.checks.localised import Localised
from linattn_verify.checks.result import (
    Flip,
    KernelPath,
    LimitOutcome,
    Parted,
    Proof,
    Score,
    Sensitivity,
    StateErrors,
    Verdict,
    WorstToken,
)
from linattn_verify.configs.plan import Kind
from linattn_verify.configs.strict import Strict
from linattn_verify.reports.differences import Differences
from linattn_verify.traces.guard import Guard
from linattn_verify.traces.observed import Observed
from linattn_verify.traces.outcome import Status

SCHEMA_VERSION = 4


def _encodable(text: object) -> object:
    """File names may hold bytes that are no UTF-8; JSON may not."""
    if isinstance(text, str):
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return str(text) if hasattr(text, "__fspath__") else text


PathText = Annotated[str, BeforeValidator(_encodable)]


class Document(Strict):
    """A part of the report; the text under a field is its description in the JSON Schema."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Tool(Document):
    """A program and its version."""

    name: str
    """Name of the distribution."""
    version: str
    """Its version."""


class Model(Document):
    """A model as its configuration and weights describe it."""

    name: str
    """Name or repository id, as the user gave it."""
    path: PathText
    """Where the weights were read from."""
    revision: str | None = None
    """Revision of the repository; null where the path is a plain folder."""
    architecture: str
    """Architecture class named by the model's configuration."""
    dtype: str
    """Dtype the model was served in; it selects the profile's limits."""
    linear_attention: bool | None
    """Whether any layer keeps a recurrent or convolution state; null where no engine could say."""
    layers: dict[str, int]
    """Number of layers by kind."""
    vocab_size: int | None = None
    """Entries of the vocabulary."""
    parameters: int | None = None
    """Number of weights."""
    weights_digest: str | None = None
    """Digest of the weights; null where it was not taken."""


class Prompt(Document):
    """One prompt of the workload."""

    id: str
    """The prompt's name."""
    tokens: int
    """Its length in tokens."""


class TaskAsked(Document):
    """A task of the evaluation harness, as it was asked."""

    name: str
    """The harness's name of the task."""
    data: str
    """Where its questions come from."""
    requests: int
    """Requests to the engine, the same ones in every scenario."""
    tokens: int
    """Prompt tokens of all requests."""
    num_fewshot: int
    """Examples in each prompt."""
    max_gen_toks: int
    """Longest output, tokens."""
    chat_template: bool
    """Whether the prompts are in the model's chat template."""
    thinking: bool
    """Whether the chat template turns thinking on."""


class Workload(Document):
    """What the model was asked to do in every scenario."""

    source: str
    """Where the prompts come from."""
    prompts: tuple[Prompt, ...]
    """The prompts, in the order of submission."""
    decode_tokens: int
    """Tokens decoded after each prompt."""
    tasks: tuple[TaskAsked, ...] = ()
    """The tasks that were asked beside the prompts."""


class ProfileName(Document):
    """The set of scenarios and limits that the run used."""

    name: str
    """Name of a built-in profile, or the one its file gives."""
    description: str
    """What the profile is for."""


class Setting(Document):
    """An engine setting that did not come out as requested."""

    engine: str
    """Which engine of the plan."""
    setting: str
    """The engine's own name of the setting."""
    requested: JsonValue
    """What was asked for."""
    resolved: JsonValue
    """What the engine runs with; null where it reports nothing."""
    verdict: Literal["changed", "not reported"]
    """`changed`: the engine runs with another value. `not reported`: its value cannot be read."""


class EffectiveSetting(Document):
    """A setting that decides what a scenario tests, in words."""

    setting: str
    """What it is called."""
    requested: str
    """What was asked for; a dash where it was left to the engine."""
    resolved: str
    """What came of it: in the configuration, and in layers, tensors and scheduler."""


class Engines(Document):
    """Settings of every engine process, by the engine's name in the plan."""

    requested: dict[str, dict[str, JsonValue]]
    """Engine arguments as asked for."""
    resolved: dict[str, dict[str, JsonValue]]
    """Settings as the engine resolved them."""
    notes: dict[str, tuple[str, ...]]
    """Lines of the engine's log that speak of a setting it changed or refused."""
    differences: tuple[Setting, ...]
    """Every setting that came out otherwise than requested, or than its scenarios need."""
    effective: dict[str, tuple[EffectiveSetting, ...]] = Field(default_factory=dict)
    """The settings that decide what a scenario tests, asked for and resolved."""
    guards: dict[str, tuple[Guard, ...]] = Field(default_factory=dict)
    """What the lines of the log say of which setting."""
    observed: dict[str, Observed] = Field(default_factory=dict)
    """What each loaded engine has, beside what its configuration says."""


class ScenarioReport(Document):
    """One way of serving the workload: how it ended and what was proven of it."""

    name: str
    """Name of the scenario."""
    kind: Kind
    """How the workload was served."""
    engine: str
    """The engine process that served it."""
    status: Status
    """How it ended."""
    reference: str | None
    """The scenario it is compared with; null for the reference itself."""
    twin: str | None = None
    """The scenario that it repeats on memory that nobody may read; null where it repeats none."""
    budget: int
    """Most tokens that the scheduler may compute in one step."""
    proofs: tuple[Proof, ...]
    """Statements about what the engine did, read from the engine."""
    trace: str | None
    """Path of its trace, relative to the run's folder; null where it left none."""
    seconds: float
    """Time it took."""
    message: str
    """Why it did not end well: exception or signal."""
    traceback: str
    """The engine's traceback, where it raised."""
    log_tail: tuple[str, ...]
    """Last lines of the engine's log, where it did not end well."""


class Check(Document):
    """One check's answer for one scenario."""

    name: str
    """Name of the check."""
    scenario: str
    """The scenario it judges."""
    reference: str | None
    """The scenario it was compared with."""
    verdict: Verdict
    """The check's answer."""
    decides: bool = True
    """Whether the report's verdict counts it; false where a finer check saw in its place."""
    message: str
    """What the verdict rests on, in a sentence."""
    tightest: str | None
    """The metric nearest to its limit, or furthest beyond it; null without limits."""
    metrics: dict[str, float | None]
    """Every statistic, `<leg>.<segment>.<statistic>`; null where it is NaN or infinite."""
    limits: dict[str, LimitOutcome]
    """By metric: the value, the largest value that passes, the margin, where the limit is from. Of
    a task, as shares of the questions: `<filter>.drop`, the upper end of the plausible drop, and
    `min_score`, where the limit is the smallest value that passes."""
    counts: dict[str, int]
    """How many rows, requests or questions were requested, compared, and left out by reason."""
    worst: tuple[WorstToken, ...]
    """The positions that differ most."""
    scores: tuple[Score, ...] = ()
    """Of a task, one a metric and filter; empty in every other check."""
    flips: tuple[Flip, ...] = ()
    """Every question that one side alone answers right, once a filter."""
    parted: Parted | None = None
    """Of states, the first place where they are wrong; null where they are right."""
    states: tuple[StateErrors, ...] = ()
    """Of states, every error that was measured; empty in every other check."""


class Cpu(Document):
    """A processor, as far as it decides which kernels run."""

    model: str
    """Its name."""
    features: tuple[str, ...] = ()
    """Instruction sets that decide which kernels run."""
    threads: int
    """Threads that the engine may use."""


class Environment(Document):
    """What the run depended on, beyond model and settings."""

    versions: dict[str, str]
    """Versions of the engine, its libraries, Python and this tool."""
    cpu: Cpu
    """The processor."""
    platform: str
    """Operating system and architecture."""
    kernel_path: tuple[str, ...] = ()
    """Which kernels computed the model, as far as the engine tells."""
    variables: dict[str, str] = Field(default_factory=dict)
    """Environment variables that steer the engine."""


class Kernels(Document):
    """The engine's operators called one by one, and what every PASS among them was earned on."""

    paths: tuple[KernelPath, ...]
    """Every operator on every kernel path, those of other machines included."""
    kernel_path: tuple[str, ...]
    """Libraries loaded and instruction sets of the process that called them."""
    seconds: float
    """From that process's start to its end."""


class Phase(Document):
    """A part of the run and its cost."""

    name: str
    """What was done."""
    seconds: float
    """How long it took."""


class Report(Document):
    """Whether an inference engine serves a model correctly, and the evidence for the answer."""

    schema_version: int = SCHEMA_VERSION
    """Version of this layout; raised by any change that an older reader could trip over."""
    tool: Tool
    """The program that wrote the report."""
    created: AwareDatetime
    """When it was written."""
    verdict: Verdict
    """The worst answer among checks and scenarios, without those that a finer check outweighs."""
    exit_code: int
    """0 every check passes, 1 a failure, 3 nothing worse than vacuous, inconclusive or
    unsupported, 4 an error of this tool or the machine."""
    headline: str
    """What the verdict rests on, in one sentence."""
    model: Model
    """The model that was served."""
    workload: Workload
    """What it was asked to do."""
    profile: ProfileName
    """The set of scenarios and limits."""
    engine: Engines
    """Engine settings, requested and resolved."""
    scenarios: tuple[ScenarioReport, ...]
    """Every planned scenario, in order."""
    checks: tuple[Check, ...]
    """Every answer, in the order of judging."""
    differences: Differences | None = None
    """What was compared of prompts and decoded tokens, for pictures; null where nothing was."""
    mutations: tuple[ScenarioReport, ...] = ()
    """Scenarios served once more with their state lost on purpose; empty where none was."""
    sensitivity: tuple[Sensitivity, ...] = ()
    """What each check would have seen of each of them."""
    kernels: Kernels | None = None
    """The engine's operators; null where they were not called."""
    localised: Localised | None = None
    """Where the fault is; null where nothing fails, or nobody has looked."""
    environment: Environment
    """What the run depended on."""
    phases: tuple[Phase, ...]
    """Cost of the run, by phase."""
    notes: tuple[str, ...]
    """What the reader has to know beside the results."""
    run_folder: PathText
    """Folder that holds configuration, traces, logs and this report."""


class KernelsReport(Document):
    """Whether the engine's operators compute what was published, without a model."""

    schema_version: int = SCHEMA_VERSION
    """Version of this layout."""
    tool: Tool
    """The program that wrote the report."""
    created: AwareDatetime
    """When it was written."""
    verdict: Verdict
    """The worst answer."""
    exit_code: int
    """As of a run."""
    headline: str
    """What the verdict rests on, in one sentence."""
    checks: tuple[Check, ...]
    """An answer for every operator and path that counts."""
    kernels: Kernels
    """Every operator and path."""
    environment: Environment
    """What it depended on."""
    notes: tuple[str, ...]
    """What the reader has to know beside the results."""
    run_folder: PathText | None
    """Folder that holds every case and the log; null where none was asked for."""
