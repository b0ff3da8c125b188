"""What the engine made of its settings, read from its own configuration and log."""

import logging
import re
from collections.abc import Iterable
from typing import Any

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
)  # fmt: skip
_ALIASES = {"kv_cache_dtype": "cache_dtype"}
_CHANGED = re.compile(
    r"overrid|disabl|unsupported|not .{0,20}support|reset|ignor|fall.?(ing )?back|"
    r"\bset(ting)? .* to\b|is set to|padding mamba",
    re.IGNORECASE,
)


def resolved(vllm_config: Any, requested: Iterable[str]) -> dict[str, Any]:
    """The value that the engine holds for each setting it reports, by engine argument."""
    found: dict[str, Any] = {}
    for name in dict.fromkeys((*_ALWAYS, *requested)):
        for config in (getattr(vllm_config, c, None) for c in _CONFIGS):
            attribute = _ALIASES.get(name, name)
            if config is not None and hasattr(config, attribute):
                found[name] = plain(getattr(config, attribute))
                break
    return found


def plain(value: Any) -> Any:
    """`value` as JSON can hold it."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    return str(getattr(value, "name", value)).removeprefix("torch.")


class ChangedSettings(logging.Handler):
    """Collects the lines of the engine's log that speak of a setting it changed or refused."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage().strip()
        if _CHANGED.search(message) and message not in self.lines:
            self.lines.append(message)

    def __enter__(self) -> "ChangedSettings":
        logging.getLogger("vllm").addHandler(self)
        return self

    def __exit__(self, *exception: object) -> None:
        logging.getLogger("vllm").removeHandler(self)
