"""What imports vLLM, imported once, and only where a test asks for it: it takes some 10 s."""

import importlib
import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest

_HIDDEN = {"torchaudio", "torchcodec"}
MODULES = (
    *("steps", "states", "memory", "state_faults", "faults"),
    *("scheduler", "serving", "submission"),
)


@pytest.fixture(scope="session")
def parts() -> Any:
    """The modules of the engine room that import vLLM, by name, and torch; no engine starts."""
    from linattn_verify.engine.native_libs import find_broken, shield

    pytest.importorskip("torch")
    variables, finders, modules = dict(os.environ), list(sys.meta_path), set(sys.modules)
    try:
        shield(find_broken())
        pytest.importorskip("vllm")
        found = {n: importlib.import_module(f"linattn_verify.engine.{n}") for n in MODULES}
    finally:  # other tests start processes of their own, and import what is hidden here
        os.environ.clear()
        os.environ.update(variables)
        sys.meta_path[:] = [f for f in sys.meta_path if f in finders or not _of_ours(f)]
        for name in _HIDDEN - modules:
            sys.modules.pop(name, None)
    return SimpleNamespace(torch=importlib.import_module("torch"), **found)


def _of_ours(finder: Any) -> bool:
    return type(finder).__module__ == "linattn_verify.engine.startup.sitecustomize"
