"""Profiles: what a run does and what it tolerates, as YAML."""

from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, field_validator

from linattn_verify.configs.errors import UsageError, unknown
from linattn_verify.configs.metrics import check_key
from linattn_verify.configs.strict import Strict, validated

BUILT_IN = ("quick", "ci", "release")
MOST_TOKENS = 2**24
_SUFFIXES = (".yaml", ".yml")
NoiseClass = Literal["bfloat16", "bfloat16-moe", "float16", "float16-moe", "float32", "float32-moe"]
"""What the numeric noise of a healthy engine depends on most: dtype, and whether experts are
chosen."""
EngineValue = bool | int | float | str | dict[str, Any] | list[Any] | None


class Limit(Strict):
    """The largest value that passes, and where the number comes from."""

    limit: float = Field(ge=0)
    origin: str = Field(min_length=1)


class TaskRules(Strict):
    """How tasks are asked, and what is made of their scores."""

    limit: int | None = Field(default=None, ge=1)
    """Questions of each task, from its first on; None for all."""
    num_fewshot: int | None = Field(default=None, ge=0)
    """Examples in a prompt; None for the task's own number."""
    max_gen_toks: int | None = Field(default=None, ge=1)
    """Longest answer, tokens; None for the task's own length, or 256."""
    concurrency: int = Field(default=32, ge=1)
    """Requests in flight at once."""
    margin: float = Field(default=0.02, gt=0, lt=1)
    """The drop that must be excluded, as a share of the questions."""
    near_zero: float = Field(default=0.05, ge=0, lt=1)
    """A reference that scores no more than this has nothing to lose."""
    most_unusable: float = Field(default=0.1, ge=0, lt=1)
    """The largest share of the reference's answers that may be invalid, or cut."""


class StateRules(Strict):
    """How many states are read."""

    requests: int = Field(default=3, ge=1)
    """Prompts whose states are read: the first, the longest, the last, then the others."""
    gib: float = Field(default=1.0, ge=0)
    """States kept of a scenario; of the rest, digests."""


class Profile(Strict):
    """One named set of scenarios, settings and limits.

    `limits` maps a dtype to limits by metric name; a name is a statistic, or one narrowed by leg
    or segment (`linattn_verify.configs.metrics.most_specific`). A model with a mixture of experts
    has limits of its own, since rounding flips an expert now and then.
    """

    name: str
    description: str
    budgets: tuple[int, ...] = Field(min_length=1)
    min_chunks: int = Field(default=3, ge=2)
    min_positions_mean: int = Field(default=8, ge=1)
    """Positions that a segment must have for its mean, median and divergences to be judged."""
    min_positions_share: int = Field(default=30, ge=1)
    """Positions that a segment must have for the share of changed tokens to be judged."""
    decode_tokens: int = Field(default=16, ge=2)
    top_k: int = Field(default=8, ge=2, le=20)
    cut_offsets: tuple[Annotated[int, Field(ge=1)] | Literal["half", "block"], ...] = Field(
        default=(1, 2, 3, "half", "block"), min_length=1
    )
    """Tokens past each block boundary at which a prompt is cut."""
    max_step_tokens: int = Field(default=16384, ge=64)
    kv_cache_gib: float = Field(default=2.0, gt=0)
    engine_args: dict[str, EngineValue] = Field(default_factory=dict)
    start_timeout: float = Field(default=900, gt=0)
    scenario_timeout: float = Field(default=600, gt=0)
    """Seconds that a scenario may go without any progress."""
    isolate: bool = False
    task: TaskRules = TaskRules()
    states: StateRules = StateRules()
    contrasts: bool = False
    """Whether the numeric floor is measured, and errors are judged beside each other."""
    hygiene: Literal["some", "every"] = "some"
    """Scenarios that are served again on NaN: one of each kind, or every one."""
    mutations: bool = True
    """Whether scenarios are served once more with the state lost, to show that checks see it."""
    localise_seconds: float = Field(default=120, ge=0)
    """Most seconds spent, where a check fails, on the smallest case that does; 0: none."""
    limits: dict[NoiseClass, dict[str, Limit]]

    @field_validator("budgets")
    @classmethod
    def _budgets_are_sound(cls, budgets: tuple[int, ...]) -> tuple[int, ...]:
        return check_budgets(budgets)

    @field_validator("limits")
    @classmethod
    def _metrics_are_known(cls, limits: dict[str, dict[str, Limit]]) -> Any:
        for by_metric in limits.values():
            for metric in by_metric:
                try:
                    check_key(metric)
                except UsageError as error:
                    raise ValueError(str(error)) from None
        return limits


def check_budgets(budgets: tuple[int, ...]) -> tuple[int, ...]:
    """`budgets` unchanged; raises ValueError where one is not positive or appears twice."""
    for budget in budgets:
        if budget < 1:
            raise ValueError(f"budget {budget} is not a positive number of tokens")
        if budget > MOST_TOKENS:
            raise ValueError(f"budget {budget} is more tokens than any engine takes in a step")
        if budgets.count(budget) > 1:
            raise ValueError(f"budget {budget} appears twice")
    return budgets


def load_profile(name: str) -> Profile:
    """The built-in profile of that name, or the YAML file at that path."""
    return validated(Profile, _document(name, seen=()), where=f"profile {name}")


def _document(name: str, seen: tuple[str, ...]) -> dict[str, Any]:
    """The profile as plain data, on top of the profile that its `extends` names."""
    if name in seen:
        raise UsageError(f"profile {name}: extends itself ({' → '.join((*seen, name))})")
    document = _parse(name, _read(name))
    base = document.pop("extends", None)
    if base is None:
        return document
    # A file is looked for beside the one that names it.
    is_file = Path(str(base)).suffix in _SUFFIXES
    found = str(Path(name).parent / str(base)) if is_file else str(base)
    # A profile that says no name must not go by that of another.
    if "name" not in document:
        own = f"{Path(name).name} (extends {base})"
        document = {"description": f"As {base}, with changes.", **document, "name": own}
    return _merged(_document(found, (*seen, name)), document)


def _read(name: str) -> str:
    if name in BUILT_IN:
        folder = resources.files("linattn_verify.configs") / "profiles"
        return (folder / f"{name}.yaml").read_text(encoding="utf-8")
    path = Path(name)
    if path.suffix not in _SUFFIXES and not path.exists():
        raise unknown("profile", name, BUILT_IN)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"profile {name}: cannot be read ({error}). Give a YAML file.") from error


def _parse(name: str, text: str) -> dict[str, Any]:
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"profile {name}: not valid YAML: {error}") from error
    if not isinstance(document, dict):
        raise UsageError(f"profile {name}: expected a mapping of settings at the top level.")
    return document


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """`over` on top of `base`; nested mappings are merged, everything else is replaced."""
    both = {
        key: _merged(base[key], value)
        for key, value in over.items()
        if isinstance(value, dict) and isinstance(base.get(key), dict)
    }
    return {**base, **over, **both}
