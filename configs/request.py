"""The request: a profile, and what the flags say on top of it."""

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field

from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.faults import parse_fault
from linattn_verify.configs.profile import EngineValue, Profile
from linattn_verify.configs.strict import Strict, validated

GSM8K = "gsm8k"


class Request(Strict):
    """Everything that a run was asked for."""

    model: str
    """Hub name, folder, or the name of an embedded model."""
    revision: str | None = None
    dtype: Literal["auto", "bfloat16", "float16", "float32", "half", "float"] = "auto"
    profile: Profile
    prompts: Path | None = None
    max_model_len: int | None = Field(default=None, ge=8)
    seed: int = Field(default=0, ge=0)
    engine_args: dict[str, EngineValue] = Field(default_factory=dict)
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    trust_remote_code: bool = False
    tasks: tuple[str, ...] = (GSM8K,)
    """Tasks by the names that lm-eval gives them."""
    chat_template: bool = False
    enable_thinking: bool = False
    gsm8k_data: Path | None = None
    """Folder with train.jsonl and test.jsonl, in place of the hub's openai/gsm8k."""
    min_score: float | None = Field(default=None, ge=0, le=1)
    """Share of right answers that every scenario must reach."""
    inject: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Faults by scenario, `NAME` or `NAME@10%`, to see the tool turn red."""


def overridden(profile: Profile, task: dict[str, Any] | None = None, **flags: Any) -> Profile:
    """`profile` with every flag that was given (is not None) in place of its own value; `task`:
    those of its rules for tasks."""
    document = profile.model_dump()
    for values, given in ((document, flags), (document["task"], task or {})):
        values |= {key: value for key, value in given.items() if value is not None}
    return validated(Profile, document, where="command line")


def parse_budgets(text: str) -> tuple[int, ...]:
    """`512,256` as numbers; raises UsageError naming the part that is none."""
    budgets = []
    for part in text.split(","):
        try:
            budgets.append(int(part.strip()))
        except ValueError:
            raise UsageError(
                f"--budgets: {part.strip()!r} is not a whole number of tokens. "
                "Give numbers separated by commas, such as 512,256,128,100."
            ) from None
    return tuple(budgets)


def parse_engine_args(pairs: tuple[str, ...]) -> dict[str, EngineValue]:
    """`KEY=VALUE` pairs, the value typed as YAML types it (true, 0.5, 16, text, {…})."""
    arguments: dict[str, EngineValue] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--engine-arg {pair!r}: expected KEY=VALUE, such as block_size=256.")
        name = key.replace("-", "_")
        if name in arguments:
            raise UsageError(f"--engine-arg {name}: given twice.")
        try:
            arguments[name] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise UsageError(f"--engine-arg {pair!r}: the value is not valid: {error}") from error
    return arguments


def parse_inject(pairs: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """`SCENARIO=FAULT` pairs by scenario, each fault as it was given: `NAME` or `NAME@10%`."""
    faults: dict[str, tuple[str, ...]] = {}
    for pair in pairs:
        scenario, equals, fault = pair.partition("=")
        if not equals:
            raise UsageError(f"--inject {pair!r}: expected SCENARIO=FAULT.")
        parse_fault(fault)
        faults[scenario] = (*faults.get(scenario, ()), fault)
    return faults
