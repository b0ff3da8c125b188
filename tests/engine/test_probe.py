"""A process that looks for itself, with something broken on its path."""

from pathlib import Path

import pytest

from linattn_verify.engine.probe import probe


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that comes first where the process looks for packages."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    return tmp_path


def package(path: Path, name: str, text: str = "") -> Path:
    folder = path / name
    folder.mkdir()
    (folder / "__init__.py").write_text(text)
    return folder


def test_a_torchvision_that_cannot_load_is_named_and_vllm_is_still_found(path: Path) -> None:
    (package(path, "torchvision") / "_C.so").write_bytes(b"no library")
    found = probe()
    assert "_C.so" in found.broken["torchvision"]
    assert found.vllm, found.errors
    assert found.kernel_path and found.openmp and found.cpu["torch_threads"]


def test_a_vllm_that_cannot_be_imported_is_an_error_by_name(path: Path) -> None:
    package(path, "vllm", "raise ImportError('undefined symbol')")
    found = probe()
    assert not found.vllm
    assert found.errors["vllm"] == "ImportError: undefined symbol"
    assert found.torch


def test_a_process_that_dies_is_an_answer(path: Path) -> None:
    package(path, "torch", "import os; os.abort()")
    assert "it ended with -6" in probe().errors["process"]


def test_a_process_that_hangs_is_an_answer(path: Path) -> None:
    package(path, "torch", "import time; time.sleep(60)")
    assert probe(timeout=2).errors["process"] == "no answer within 2 s"
