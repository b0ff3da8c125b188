"""What is said of a folder that cannot be judged."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from linattn_verify.cli.files import RunFiles
from linattn_verify.cli.record import RECORD_VERSION, RecordKeeper, new_record, read_record
from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.profile import load_profile
from linattn_verify.configs.request import Request

if TYPE_CHECKING:
    from tests.cli.conftest import Command

REQUEST = Request(model="made", profile=load_profile("quick"), prompts=Path("p.jsonl"))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that was killed before it had planned anything."""
    folder = tmp_path / "run"
    folder.mkdir()
    RecordKeeper(RunFiles(folder), new_record(REQUEST, {"A": "1"}))
    return folder


def test_a_record_comes_back_as_it_was_written(run: Path) -> None:
    record = read_record(run)
    assert record.request == REQUEST
    assert record.environment.variables == {"A": "1"}
    assert (record.planned, record.finished) == (None, None)


@pytest.mark.parametrize("name", ["judge", "report", "localise"])
def test_a_folder_that_is_none_is_refused(command: "Command", tmp_path: Path, name: str) -> None:
    ended = command(name, str(tmp_path / "none"))
    assert ended.code == 2 and "no such folder. Give the folder of a run" in ended.err


@pytest.mark.parametrize("name", ["judge", "report", "localise"])
def test_a_folder_without_a_record_says_what_to_do(
    command: "Command", tmp_path: Path, name: str
) -> None:
    ended = command(name, str(tmp_path))
    assert ended.code == 2
    assert "holds no record.json" in ended.err and f"--out {tmp_path} --force" in ended.err


def test_a_run_killed_before_it_served_says_what_to_do(command: "Command", run: Path) -> None:
    ended = command("judge", str(run))
    assert ended.code == 2
    assert "killed before it had served anything" in ended.err and "--force" in ended.err


def test_a_record_of_a_newer_tool_is_refused(command: "Command", run: Path) -> None:
    document = json.loads((run / "record.json").read_text())
    newer = RECORD_VERSION + 1
    (run / "record.json").write_text(json.dumps({**document, "schema_version": newer}))
    ended = command("judge", str(run))
    assert ended.code == 2
    assert f"schema version {newer}, this tool reads {RECORD_VERSION}" in ended.err


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}'])
def test_a_damaged_record_is_refused(command: "Command", run: Path, text: str) -> None:
    (run / "record.json").write_text(text)
    ended = command("judge", str(run))
    assert ended.code == 2 and "record.json: is damaged" in ended.err


def test_an_unknown_check_or_profile_is_refused(command: "Command", run: Path) -> None:
    assert "Unknown check" in command("judge", str(run), "--only", "made").err
    assert "Unknown profile" in command("judge", str(run), "--profile", "made").err


def test_a_path_or_a_link_that_leads_out_of_the_folder_is_refused(run: Path) -> None:
    (run / "traces").mkdir()
    (run / "traces/link").symlink_to("/etc/hostname")
    files = RunFiles(run)
    assert files.inside("traces/a.parquet") == run / "traces/a.parquet"
    for path in ("../a", "/etc/hostname", "traces/link", "traces/../../a"):
        with pytest.raises(UsageError, match="outside of the folder"):
            files.inside(path)
