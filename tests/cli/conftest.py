"""The command line called in this process, in a folder of its own."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from linattn_verify.cli.main import entry


@dataclass(frozen=True)
class Ended:
    """How the command ended, and what it printed."""

    code: object
    out: str
    err: str


Command = Callable[..., Ended]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the working directory."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def command(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Calls the console script's entry with these arguments."""

    def call(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["linattn-verify", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            entry()
        return Ended(ended.value.code, *capsys.readouterr())

    return call


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder that looks like a checkpoint from outside."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder
