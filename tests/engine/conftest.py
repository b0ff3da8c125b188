"""What imports vLLM, imported once, and only where a test asks for it: it takes some 10 s."""

import importlib
import os
from types import SimpleNamespace
from typing import Any

import pytest

MODULES = ("steps", "states", "memory", "faults", "scheduler", "serving")


@pytest.fixture(scope="session")
def parts() -> Any:
    """The modules of the engine room that import vLLM, by name, and torch; no engine starts."""
    from linattn_verify.engine.native_libs import find_broken, shield

    pytest.importorskip("torch")
    before = dict(os.environ)
    try:
        shield(find_broken())
        pytest.importorskip("vllm")
        found = {n: importlib.import_module(f"linattn_verify.engine.{n}") for n in MODULES}
    finally:  # other tests start processes of their own
        os.environ.clear()
        os.environ.update(before)
    return SimpleNamespace(torch=importlib.import_module("torch"), **found)
