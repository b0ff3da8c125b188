"""The model that a run is about, checked as far as that goes without an engine."""

import hashlib
from importlib.util import find_spec
from pathlib import Path

from linattn_verify.configs.errors import UsageError
from linattn_verify.tasks.loading import MISSING
from linattn_verify.workloads.embedded import EMBEDDED
from linattn_verify.workloads.folder import file_digest

_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.gguf")


def check_engine_is_installed() -> None:
    """Raise UsageError where there is no vLLM beside this tool."""
    if find_spec("vllm") is None:
        raise UsageError(
            "vLLM is not installed beside linattn-verify. Install the build that you want to "
            "verify, or: pip install 'linattn-verify[cpu]' (CPU), 'linattn-verify[gpu]' (GPU)."
        )


def check_harness_is_installed() -> None:
    """Raise UsageError where there is no lm-eval beside this tool."""
    if find_spec("lm_eval") is None:
        raise UsageError(MISSING)


def check_model(model: str) -> None:
    """Raise UsageError for a path that is no checkpoint. A hub name is left to the hub."""
    try:
        path = Path(model).expanduser()
        there = bool(model.strip()) and path.exists()
    except (OSError, RuntimeError) as error:  # a name too long; no such user
        raise UsageError(
            f"--model {model:.80}: is no folder ({error}). Give a checkpoint's folder, or a hub "
            "name."
        ) from error
    looks_like_path = model.startswith((".", "/", "~")) or model.count("/") > 1
    if not there:
        if looks_like_path or not model.strip():
            raise UsageError(
                f"--model {model}: no such folder. Give a checkpoint's folder, or a hub name."
            )
        return
    if not path.is_dir():
        raise UsageError(
            f"--model {model}: is a file. Give the folder that holds config.json and weights."
        )
    if not (path / "config.json").is_file():
        raise UsageError(f"--model {model}: the folder has no config.json, so it is no checkpoint.")
    if not weight_files(path):
        raise UsageError(f"--model {model}: the folder has no weights ({', '.join(_WEIGHTS)}).")


def located(model: str) -> str:
    """The folder or hub name under which an engine takes `model`; raises UsageError as
    `check_model` does. An embedded model that is not there yet is made."""
    if model in EMBEDDED:
        return str(EMBEDDED[model]())
    check_model(model)
    return str(Path(model).expanduser())


def weight_files(folder: Path) -> list[Path]:
    """The checkpoint's weight files, in the order of their names."""
    return sorted(f for pattern in _WEIGHTS for f in folder.glob(pattern))


def weights_digest(folder: Path) -> str:
    """SHA-256 over names and contents of the weight files."""
    digest = hashlib.sha256()
    for file in weight_files(folder):
        digest.update(file.name.encode() + b"\0")
        digest.update(bytes.fromhex(file_digest(file)))
    return digest.hexdigest()
