"""What the engine made of its settings, read from its own configuration and log."""

import logging
import re
import warnings
from collections.abc import Iterable
from contextlib import suppress
from enum import Enum
from typing import Any

from linattn_verify.engine.guards import guards
from linattn_verify.traces.guard import Guard

_CONFIGS = (
    "model_config", "cache_config", "scheduler_config", "parallel_config", "compilation_config",
    "load_config", "device_config", "attention_config", "speculative_config", "lora_config",
    "kv_transfer_config", "observability_config", "structured_outputs_config",
)  # fmt: skip
_ALWAYS = (
    "dtype", "max_model_len", "max_num_batched_tokens", "max_num_seqs", "enable_chunked_prefill",
    "enable_prefix_caching", "async_scheduling", "block_size", "mamba_block_size",
    "mamba_cache_mode", "mamba_cache_dtype", "mamba_ssm_cache_dtype", "enforce_eager",
    "tensor_parallel_size", "num_gpu_blocks", "kv_cache_memory_bytes", "quantization", "seed",
    "attention_backend", "compilation_mode",
)  # fmt: skip
_ALIASES = {
    "kv_cache_dtype": ("cache_config", "cache_dtype"),
    "attention_backend": ("attention_config", "backend"),
    "mamba_backend": ("mamba_config", "backend"),
    "compilation_mode": ("compilation_config", "mode"),
}
_CHANGED = re.compile(
    r"overrid|disabl|unsupported|not .{0,20}support|\breset\b(?! prefix cache)|ignor|"
    r"fall.?(ing )?back|\bset(ting)? .* to\b|is set to|padding mamba|\binstead\b",
    re.IGNORECASE,
)
_HINT = re.compile(r"(?<![^.;] )\b(to|you can|please|if you|set)\b[^.;]*", re.IGNORECASE)
"""A sentence of advice, which changes nothing."""
_DUMP = re.compile(r"[({]'?\w+'?[=:].*,\s*'?\w+'?[=:]")
"""Two values or more of a configuration that is printed as a whole: no sentence."""


def resolved(vllm_config: Any, requested: Iterable[str]) -> dict[str, Any]:
    """The value that the engine holds for each setting it reports, by engine argument."""
    found: dict[str, Any] = {}
    for name in dict.fromkeys((*_ALWAYS, *requested)):
        places = [_ALIASES[name]] if name in _ALIASES else [(c, name) for c in _CONFIGS]
        for config, attribute in ((getattr(vllm_config, c, None), a) for c, a in places):
            if config is not None and hasattr(config, attribute):
                found[name] = plain(getattr(config, attribute))
                break
    return found


def plain(value: Any) -> Any:
    """`value` as JSON can hold it."""
    if isinstance(value, Enum) and not isinstance(value, str):
        return value.name
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    return str(getattr(value, "name", value)).removeprefix("torch.")


class ChangedSettings:
    """Collects what the engine says, in its log or as a warning, of settings it changed or refused.

    A record is caught where it is made, not by a handler: vLLM configures logging once more while
    it loads, which removes handlers, and a logger may keep its records to itself. Records below
    the log level are never made; other processes' (tensor parallel workers) are not seen.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.guards: list[Guard] = []
        self._listening = False

    def hear(self, message: str) -> None:
        """Keep a message that speaks of a change, once."""
        line = message.strip()
        if line in self.lines or _DUMP.search(line):
            return
        found = guards(line)
        if found or _CHANGED.search(_HINT.sub("", line)):
            self.lines.append(line)
        self.guards += found

    def __enter__(self) -> "ChangedSettings":
        self._listening = True
        self._factory, self._show = logging.getLogRecordFactory(), warnings.showwarning
        logging.setLogRecordFactory(self._record)
        warnings.showwarning = self._warning
        return self

    def __exit__(self, *exception: object) -> None:
        self._listening = False  # whoever wrapped us meanwhile goes on through us
        if logging.getLogRecordFactory() == self._record:
            logging.setLogRecordFactory(self._factory)
        if warnings.showwarning == self._warning:
            warnings.showwarning = self._show

    def _record(self, *args: Any, **kwargs: Any) -> logging.LogRecord:
        record = self._factory(*args, **kwargs)
        if self._listening and record.name.partition(".")[0] == "vllm":
            with suppress(Exception):  # a malformed record is the logger's affair
                self.hear(record.getMessage())
        return record

    def _warning(self, message: Warning | str, *args: Any, **kwargs: Any) -> None:
        if self._listening and guards(str(message)):
            self.hear(str(message))
        self._show(message, *args, **kwargs)
