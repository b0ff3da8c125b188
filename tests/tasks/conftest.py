"""What lm-eval has to read: all that it defines, one folder, or a definition of our own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import lm_eval.tasks
import pytest
from lm_eval.tasks import TaskManager

REAL = TaskManager
Defined = Callable[..., None]


@pytest.fixture(scope="session")
def every_task() -> TaskManager:
    """The index of all that lm-eval defines, which takes seconds to read: once."""
    return REAL()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which data sets were asked for at the hub, which cannot be reached."""
    wanted: list[str] = []

    def load(path: str, **_: object) -> None:
        wanted.append(path)
        raise ConnectionError(f"Couldn't reach {path!r}\non the Hub")

    monkeypatch.setattr(datasets, "load_dataset", load)
    return wanted


def managers(monkeypatch: pytest.MonkeyPatch, whole: Callable[[], TaskManager]) -> None:
    """Gives `whole()` to whoever reads all of lm-eval's definitions."""

    def manager(**named: Any) -> TaskManager:
        return REAL(**named) if named else whole()

    monkeypatch.setattr(lm_eval.tasks, "TaskManager", manager)


@pytest.fixture
def quick(every_task: TaskManager, monkeypatch: pytest.MonkeyPatch) -> None:
    managers(monkeypatch, lambda: every_task)


@pytest.fixture
def folder_only(monkeypatch: pytest.MonkeyPatch) -> None:
    managers(monkeypatch, lambda: pytest.fail("read all of lm-eval's definitions"))


@pytest.fixture
def defined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Defined:
    """Makes a definition all that lm-eval has; without one, what the folder holds."""
    managers(monkeypatch, lambda: REAL(include_path=tmp_path, include_defaults=False))

    def define(**definition: Any) -> None:
        if definition:
            (tmp_path / "sums.yaml").write_text(json.dumps(definition))

    return define
