"""The settings that decide what a scenario tests: what was asked for, and what became of it."""

from collections.abc import Iterator

from linattn_verify.checks.evidence import EngineSettings
from linattn_verify.checks.inside import asked_backend
from linattn_verify.checks.settings import in_words, open_to
from linattn_verify.reports.document import EffectiveSetting
from linattn_verify.traces.observed import ATTENTION, LayerGroup

SHOWN = (
    "enable_chunked_prefill", "max_num_batched_tokens", "enable_prefix_caching", "mamba_cache_mode",
    "mamba_cache_dtype", "mamba_ssm_cache_dtype", "block_size", "mamba_block_size",
    "enforce_eager", "compilation_mode", "attention_backend", "gdn_prefill_backend",
)  # fmt: skip
"""Engine arguments that the rows below are about."""
_NOBODY = "–"


def effective_settings(engine: EngineSettings) -> tuple[EffectiveSetting, ...]:
    """One row a setting, in words; of layers and tensors only what the engine showed."""
    rows = (
        _switch("chunked prefill", "enable_chunked_prefill", engine),
        _budget(engine),
        _switch("prefix caching", "enable_prefix_caching", engine),
        _switch("mamba cache mode", "mamba_cache_mode", engine),
        _state_dtypes(engine),
        _block_sizes(engine),
        _execution(engine),
        _attention(engine),
        _linear_attention(engine),
    )
    return tuple(
        EffectiveSetting(setting=name, requested=asked, resolved=got) for name, asked, got in rows
    )


Row = tuple[str, str, str]
"""Setting, what was asked for, what came of it."""


def _switch(shown: str, name: str, engine: EngineSettings) -> Row:
    return shown, _asked(engine, name), _value(engine, name)


def _budget(engine: EngineSettings) -> Row:
    name, held = "max_num_batched_tokens", engine.observed and engine.observed.scheduler_budget
    scheduler = f", scheduler {held}" if held is not None else ""
    return "budget", _asked(engine, name), _value(engine, name) + scheduler


def _state_dtypes(engine: EngineSettings) -> Row:
    names = {"convolution": "mamba_cache_dtype", "recurrent": "mamba_ssm_cache_dtype"}
    asked = [
        f"{part} {engine.requested[name]}"
        for part, name in names.items()
        if not open_to(engine.requested.get(name))
    ]
    tensors = [
        f"{g.kind}: {', '.join(f'{part} {dtype}' for part, dtype in g.dtypes.items())}"
        for g in _groups(engine, state=True)
    ]
    configured = "/".join(_value(engine, name) for name in names.values())
    got = _joined([*dict.fromkeys(tensors), f"configured {configured}"])
    return "state dtype", ", ".join(asked) or _NOBODY, got


def _block_sizes(engine: EngineSettings) -> Row:
    names = {"attention": "block_size", "state": "mamba_block_size"}
    asked = [
        f"{kind} {engine.requested[name]}"
        for kind, name in names.items()
        if not open_to(engine.requested.get(name))
    ]
    groups = (*_groups(engine, state=False), *_groups(engine, state=True))
    held = ", ".join(dict.fromkeys(f"{g.kind} {g.block_size}" for g in groups))
    configured = "/".join(_value(engine, name) for name in names.values())
    hits = engine.observed.hit_alignment if engine.observed else None
    aligned = (
        f"hits at {hits}"
        if hits is not None and engine.resolved.get("enable_prefix_caching")
        else ""
    )
    got = _joined([held, aligned, f"configured {configured}"])
    return "block size", ", ".join(asked) or _NOBODY, got


def _execution(engine: EngineSettings) -> Row:
    words = {True: "eager", False: "compiled"}
    asked = words.get(engine.requested.get("enforce_eager", ""), _NOBODY)
    got = words.get(engine.resolved.get("enforce_eager", ""), _NOBODY)
    compiled = engine.observed.compiled if engine.observed else None
    modules = (
        f"{compiled.done} of {compiled.compilable} modules have run compiled"
        if compiled is not None and got != words[True]
        else ""
    )
    mode = engine.resolved.get("compilation_mode")
    named = f"mode {mode}" if mode is not None else ""
    return "eager or compiled", asked, _joined([got, named, modules], ", ")


def _attention(engine: EngineSettings) -> Row:
    asked = asked_backend(engine.requested)
    backends = dict.fromkeys(g.backend for g in _groups(engine, state=False))
    wanted = _NOBODY if open_to(asked) else in_words(asked)
    return "attention backend", wanted, ", ".join(backends) or _NOBODY


def _linear_attention(engine: EngineSettings) -> Row:
    backends = dict.fromkeys(_linear(group) for group in _groups(engine, state=True))
    asked = _asked(engine, "gdn_prefill_backend")
    return "linear-attention backend", asked, _joined(list(backends)) or _NOBODY


def _linear(group: LayerGroup) -> str:
    prefill = f"prefill {group.prefill_backend}" if group.prefill_backend else ""
    return _joined([f"{group.kind}: {group.backend}", group.forward or "", prefill], ", ")


def _groups(engine: EngineSettings, state: bool) -> Iterator[LayerGroup]:
    groups = engine.observed.groups if engine.observed else ()
    return (group for group in groups if (group.kind != ATTENTION) is state)


def _asked(engine: EngineSettings, name: str) -> str:
    value = engine.requested.get(name)
    return _NOBODY if open_to(value) else in_words(value)


def _value(engine: EngineSettings, name: str) -> str:
    value = engine.resolved.get(name)
    return _NOBODY if value is None else in_words(value)


def _joined(parts: list[str], by: str = "; ") -> str:
    return by.join(part for part in parts if part)
