"""Media packages whose native library cannot be loaded, kept from taking text models down.

Beside a CPU build of torch, the ordinary wheels of torchvision, torchaudio and torchcodec are
linked against CUDA. `import torchvision` then dies on an operator that nobody registered, and with
it transformers and vLLM's Qwen3.5 model, which import it for images they will never see. The
remedy lives in the engine process and in the Python processes that it starts; the user's
site-packages stay as they are.
"""

import ctypes
import importlib.machinery
import os
from dataclasses import dataclass
from pathlib import Path

BROKEN = "LINATTN_VERIFY_BROKEN_NATIVE"
"""Environment variable: comma-separated packages whose native library cannot be loaded."""
_LIBRARIES = {
    "torchvision": "_C*.so",
    "torchaudio": "lib/_torchaudio*.so",
    "torchcodec": "libtorchcodec_image*.so",
}


@dataclass(frozen=True)
class BrokenLibrary:
    """A package that is installed and whose native library this process cannot load."""

    package: str
    reason: str

    def note(self) -> str:
        """The line for log and report."""
        remedy = (
            "its operators nms and qnms are declared without kernels"
            if self.package == "torchvision"
            else "it is hidden"
        )
        return (
            f"The native library of {self.package} cannot be loaded ({self.reason}); inside the "
            f"engine process {remedy}, so that text models load."
        )


def find_broken() -> list[BrokenLibrary]:
    """Try each installed media package's native library beside the torch that is installed."""
    found = []
    for package, pattern in _LIBRARIES.items():
        # PathFinder, not importlib.util.find_spec: our own hook must not answer for it.
        spec = importlib.machinery.PathFinder.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            continue
        folder = Path(next(iter(spec.submodule_search_locations)))
        reason = next((r for lib in sorted(folder.glob(pattern)) if (r := _failure(lib))), None)
        if reason:
            found.append(BrokenLibrary(package, reason))
    return found


def _failure(library: Path) -> str | None:
    import torch  # noqa: F401  (the libraries resolve their symbols against torch's)

    try:
        ctypes.CDLL(str(library))
    except OSError as error:
        return str(error)
    return None


def shield(broken: list[BrokenLibrary]) -> None:
    """Make the remedy take effect here and in every Python process started from here."""
    if not broken:
        return
    startup = str(Path(__file__).parent / "startup")
    os.environ[BROKEN] = ",".join(item.package for item in broken)
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p != startup]
    os.environ["PYTHONPATH"] = os.pathsep.join([startup, *paths])
    from linattn_verify.engine.startup.sitecustomize import apply

    apply(os.environ[BROKEN].split(","))
