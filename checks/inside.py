"""What was asked for, or configured, against what the loaded engine has.

A configuration may still hold a value that layers, tensors or the scheduler do not follow: vLLM on
CPU keeps `attention_backend=FLASH_ATTN` in its configuration and computes with CPU_ATTN.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from linattn_verify.checks.settings import Change, agree, open_to
from linattn_verify.traces.observed import ATTENTION, LayerGroup, Observed

_FLOATS = ("bfloat16", "float16", "float32")
"""Dtypes of a KV cache that its tensors have under the same name; fp8 lies in bytes."""
Settings = Mapping[str, Any]


def observations(requested: Settings, resolved: Settings, observed: Observed) -> Iterator[Change]:
    """Every value that is known from two sides, whether or not they agree."""
    budget = observed.scheduler_budget
    if budget is not None and not open_to(requested.get("max_num_batched_tokens")):
        asked = requested["max_num_batched_tokens"]
        yield Change("max_num_batched_tokens", asked, budget, source="the scheduler holds")
    for group in observed.groups:
        yield from _dtypes(requested, resolved, group)
        yield from _block_size(requested, group)
        yield from _backend(requested, group)


def holds(change: Change) -> bool:
    """Whether both sides agree, but for spelling."""
    if change.name.endswith("_backend"):
        return _letters(change.requested) == _letters(change.resolved)
    return agree(change.requested, change.resolved)


def asked_backend(requested: Settings) -> Any:
    """The attention backend asked for, by either of the engine's two arguments."""
    config = requested.get("attention_config")
    nested = config.get("backend") if isinstance(config, Mapping) else None
    return requested.get("attention_backend") or nested


def _dtypes(requested: Settings, resolved: Settings, group: LayerGroup) -> Iterator[Change]:
    for part, dtype in group.dtypes.items():
        name = _dtype_setting(group.kind, part)
        if name is None:
            continue
        mine = not open_to(requested.get(name))
        value = requested[name] if mine else resolved.get(name)
        if open_to(value) or (group.kind == ATTENTION and str(value) not in _FLOATS):
            continue
        demand = "asked for" if mine else "configured as"
        what = "cache" if part == ATTENTION else part
        yield Change(name, value, dtype, demand, f"the {what} tensors of {group.kind} are")


def _dtype_setting(kind: str, part: str) -> str | None:
    """The setting that a part's dtype follows (vLLM's MambaStateDtypeCalculator)."""
    if kind == ATTENTION:
        return "kv_cache_dtype"
    if part == "recurrent":
        return "mamba_cache_dtype" if kind == "linear" else "mamba_ssm_cache_dtype"
    return "mamba_cache_dtype" if part == "convolution" else None


def _block_size(requested: Settings, group: LayerGroup) -> Iterator[Change]:
    name = "block_size" if group.kind == ATTENTION else "mamba_block_size"
    if not open_to(requested.get(name)):
        source = f"the blocks of {group.kind} hold"
        yield Change(name, requested[name], group.block_size, source=source)


def _backend(requested: Settings, group: LayerGroup) -> Iterator[Change]:
    if group.kind == ATTENTION and not open_to(asked_backend(requested)):
        asked, source = asked_backend(requested), f"the layers of {group.kind} use"
        yield Change("attention_backend", asked, group.backend, source=source)
    prefill = requested.get("gdn_prefill_backend")
    if group.prefill_backend is not None and not open_to(prefill):
        source = f"the layers of {group.kind} use"
        yield Change("gdn_prefill_backend", prefill, group.prefill_backend, source=source)


def _letters(name: object) -> str:
    """`FLASH_ATTN`, `flash-attn` and `FLASH_ATTN_VLLM_V1` are one backend."""
    letters = re.sub(r"[^a-z0-9]", "", str(name).lower().rpartition(".")[2])
    return letters.removesuffix("v1").removesuffix("vllm")
