"""What an engine process would find here: `python -m linattn_verify.engine.probe` prints it as a
line of JSON. A process of its own, since what is broken may take it down."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue, ValidationError

from linattn_verify.configs.strict import Strict
from linattn_verify.engine.environment import cpu, kernel_path, versions

_MARK = "linattn-verify-probe "
_OPENMP = re.compile(r"/(lib[gi]omp[\w.-]*\.so[\w.]*)$", re.MULTILINE)
_TCMALLOC = re.compile(r"/(libtcmalloc[\w.-]*\.so[\w.]*)$", re.MULTILINE)


class Probed(Strict):
    """What was found. `errors` says by part why something was not."""

    versions: dict[str, str] = Field(default_factory=dict)
    torch: str | None = None
    """torch's own version with its build, e.g. 2.13.0+cpu; None where it cannot be imported."""
    gpus: tuple[str, ...] = ()
    """Devices that torch can compute on beside the processor."""
    triton: tuple[str, ...] = ()
    """Triton's backends."""
    broken: dict[str, str] = Field(default_factory=dict)
    """Media packages whose native library cannot be loaded, and why."""
    cpu: dict[str, JsonValue] = Field(default_factory=dict)
    kernel_path: tuple[str, ...] = ()
    openmp: tuple[str, ...] = ()
    """OpenMP runtimes loaded once the engine's kernels are."""
    tcmalloc: bool = False
    """Whether the memory allocator that vLLM asks for is loaded."""
    vllm: bool = False
    """Whether vLLM and its kernels could be imported; `errors` says why not."""
    errors: dict[str, str] = Field(default_factory=dict)


def probe(timeout: float = 120.0) -> Probed:
    """Ask a process of its own. One that dies or hangs is an answer too: everything that it could
    not say, and `errors["process"]`."""
    command = [sys.executable, "-m", "linattn_verify.engine.probe"]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return _lost(f"no answer within {timeout:g} s")
    lines = [line for line in ended.stdout.splitlines() if line.startswith(_MARK)]
    try:
        return Probed.model_validate_json(lines[-1].removeprefix(_MARK))
    except (IndexError, ValidationError):
        last = (ended.stderr.strip().splitlines() or ["no output"])[-1]
        return _lost(f"it ended with {ended.returncode}: {last}")


def _lost(why: str) -> Probed:
    return Probed(versions=versions(), errors={"process": why})


def _look() -> Probed:
    errors: dict[str, str] = {}

    def found(part: str, look: Callable[[], Any], otherwise: Any) -> Any:
        try:
            return look()
        except Exception as error:
            errors[part] = f"{type(error).__name__}: {error}"
            return otherwise

    torch = found("torch", _torch, None)
    broken = found("media", _media, {}) if torch else {}
    vllm = found("vllm", _vllm, False) if find_spec("vllm") else False
    maps = Path("/proc/self/maps")
    loaded = maps.read_text(errors="replace") if maps.exists() else ""
    return Probed(
        versions=versions(),
        torch=torch,
        gpus=found("gpu", _gpus, ()) if torch else (),
        triton=tuple(sorted(point.name for point in entry_points(group="triton.backends"))),
        broken=broken,
        cpu=found("cpu", cpu, {}) if torch else {},
        kernel_path=tuple(found("kernels", lambda: kernel_path([]), ())) if vllm else (),
        openmp=tuple(sorted(set(_OPENMP.findall(loaded)))),
        tcmalloc=bool(_TCMALLOC.search(loaded)),
        vllm=vllm,
        errors=errors,
    )


def _torch() -> str:
    import torch

    return str(torch.__version__)


def _media() -> dict[str, str]:
    """Found, and shielded as in an engine process."""
    from linattn_verify.engine.native_libs import find_broken, shield

    broken = find_broken()
    shield(broken)
    return {library.package: library.reason for library in broken}


def _gpus() -> tuple[str, ...]:
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return tuple(torch.cuda.get_device_name(index) for index in range(count))


def _vllm() -> bool:
    import vllm._custom_ops  # noqa: F401  (loads the kernels)

    return True


if __name__ == "__main__":
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    print(_MARK + json.dumps(_look().model_dump(mode="json")))
