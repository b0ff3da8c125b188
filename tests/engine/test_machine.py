"""Memory, disk and hub against what a run would ask for."""

import socket
from pathlib import Path

import pytest

from linattn_verify.engine.machine import Wanted, disk, hub, memory
from linattn_verify.traces.finding import Level

GIB = 2**30
FROM_HUB = Wanted("some/model", None, None, 2.0)


@pytest.mark.parametrize(
    ("free", "level"),
    [(7, Level.OK), (6.9, Level.NOTE), (5, Level.NOTE), (4.9, Level.PROBLEM)],
)
def test_weights_and_process_must_fit_and_the_pool_should(free: float, level: Level) -> None:
    wanted = Wanted("model", Path("model"), 3 * GIB, 2.0)
    assert memory(wanted, int(free * GIB)).level is level


def test_weights_that_are_not_here_are_not_guessed() -> None:
    assert "weights not known" in memory(FROM_HUB, 64 * GIB).found


@pytest.mark.parametrize(
    ("free", "level"), [(4.1, Level.OK), (3.9, Level.NOTE), (0.4, Level.PROBLEM)]
)
def test_disk_is_looked_at_where_runs_will_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: float, level: Level
) -> None:
    usage = type("Usage", (), {"free": int(free * GIB)})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    finding = disk(tmp_path / "runs")
    assert finding.level is level
    assert str(tmp_path) in finding.found


def test_a_folder_needs_no_hub(tmp_path: Path) -> None:
    finding = hub(Wanted("model", tmp_path, 1, 2.0), {"HF_HUB_OFFLINE": "1"})
    assert finding.level is Level.OK


def test_offline_a_model_must_be_in_the_cache(tmp_path: Path) -> None:
    environment = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    assert hub(FROM_HUB, environment).level is Level.PROBLEM
    (tmp_path / "hub/models--some--model/snapshots").mkdir(parents=True)
    assert hub(FROM_HUB, environment).level is Level.OK


def test_a_hub_that_does_not_answer_is_a_problem(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and never listens
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        finding = hub(FROM_HUB, {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path)})
    assert finding.level is Level.PROBLEM
    assert address in finding.found and "HF_ENDPOINT" in finding.fix
