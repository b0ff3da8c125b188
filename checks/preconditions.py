"""What the scenarios of an engine claim without anybody's asking for it."""

from collections.abc import Iterator, Mapping
from typing import Any

from linattn_verify.checks.settings import Change
from linattn_verify.traces.observed import ATTENTION, Observed

_SCENARIOS = "needed by the scenarios:"
NEEDED = ("enable_prefix_caching", "enable_chunked_prefill")
"""Settings without whose resolved value nothing is known of what an engine's scenarios tested."""
_NO_MODE = ("0", "none")


def preconditions(
    requested: Mapping[str, Any], resolved: Mapping[str, Any], observed: Observed | None
) -> Iterator[Change]:
    """Every precondition that does not hold, as far as it can be read."""
    if (
        resolved.get("enable_chunked_prefill") is False
        and "enable_chunked_prefill" not in requested
    ):
        yield Change("enable_chunked_prefill", True, False, _SCENARIOS)
    mode = str(resolved.get("mamba_cache_mode", "")).lower()
    if requested.get("enable_prefix_caching") and _has_state(observed) and mode == "none":
        yield Change("mamba_cache_mode", "a mode that keeps states", "none", _SCENARIOS)
    if wants_compilation(requested, resolved):
        yield from _not_compiled(resolved, observed)


def wants_compilation(requested: Mapping[str, Any], resolved: Mapping[str, Any]) -> bool:
    """Whether the engine was started to compile: not eager, and no mode asked for that does not."""
    config = requested.get("compilation_config")
    mode = config.get("mode") if isinstance(config, Mapping) else config
    level = requested.get("optimization_level")
    if (str(mode).lower() in _NO_MODE and mode is not None) or str(level).lower() in ("0", "o0"):
        return False
    return resolved.get("enforce_eager") is False


def _has_state(observed: Observed | None) -> bool:
    return observed is not None and any(g.kind != ATTENTION for g in observed.groups)


def _not_compiled(resolved: Mapping[str, Any], observed: Observed | None) -> Iterator[Change]:
    mode = str(resolved.get("compilation_mode", "")).lower()
    compiled = observed.compiled if observed else None
    demand = "follows from enforce_eager off:"
    if mode in _NO_MODE:
        yield Change("compilation", True, "mode NONE", demand)
    elif compiled is not None and compiled.done == 0:
        got = f"{compiled.done} of {compiled.compilable} modules compiled"
        yield Change("compilation", True, got, demand, "the model has")
