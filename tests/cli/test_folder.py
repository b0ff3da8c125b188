"""The folder of a run."""

import json
import re
from pathlib import Path

import pytest

from linattn_verify.cli.folder import RunFolder, open_run_folder
from linattn_verify.configs.errors import UsageError


def test_a_folder_is_made_with_its_parents_and_left_empty(tmp_path: Path) -> None:
    folder = open_run_folder(tmp_path / "a" / "b", "model", force=False)
    assert folder.path == tmp_path / "a" / "b"
    assert list(folder.path.iterdir()) == []


@pytest.mark.parametrize(
    ("model", "ending"),
    [
        ("owner/some model:1", "some-model-1"),
        ("/a/b/checkpoint/", "checkpoint"),
        ("embedded", "embedded"),
        ("..", "model"),
    ],
    ids=["hub-name", "folder", "embedded", "dots"],
)
def test_a_folder_without_a_name_is_called_by_time_and_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, ending: str
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = open_run_folder(None, model, force=False)
    assert re.fullmatch(rf"runs/\d{{8}}-\d{{6}}-{ending}", str(folder.path))
    assert (tmp_path / folder.path).is_dir()


def test_other_files_do_not_make_it_an_earlier_run(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    open_run_folder(tmp_path, "model", force=False)
    assert [f.name for f in tmp_path.iterdir()] == ["notes.txt"]


def test_force_replaces_our_files_and_no_others(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept.txt").write_text("kept")
    run = tmp_path / "run"
    for name in ("logs/plain.log", "mine/data.txt", "traces.bak/old.parquet"):
        (run / name).parent.mkdir(parents=True)
        (run / name).write_text("x")
    (run / "traces").symlink_to(elsewhere)
    for name in ("record.json", "outcomes.json", "report.txt", "notes.txt"):
        (run / name).write_text("x")
    open_run_folder(run, "model", force=True).accept()
    left = {str(f.relative_to(run)) for f in run.rglob("*") if f.is_file()}
    assert left == {"notes.txt", "mine/data.txt", "traces.bak/old.parquet"}
    assert not (run / "traces").exists()
    assert not (run / "logs").exists()
    assert (elsewhere / "kept.txt").read_text() == "kept"


def test_a_refused_request_leaves_everything_as_it_was(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "logs").mkdir(parents=True)
    for name in ("logs/plain.log", "report.json", "notes.txt"):
        (run / name).write_text(f"earlier {name}")
    folder = open_run_folder(run, "model", force=True)
    folder.write_json("record.json", {})
    folder.log("plain").parent.mkdir()
    folder.log("plain").write_text("new")
    folder.refuse()
    folder.accept()
    left = {str(f.relative_to(run)): f.read_text() for f in run.rglob("*") if f.is_file()}
    assert left == {n: f"earlier {n}" for n in ("logs/plain.log", "report.json", "notes.txt")}


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    first = open_run_folder(tmp_path, "model", force=False)
    first.write_json("record.json", {"of": "the first"})
    with pytest.raises(UsageError, match="another run is writing there"):
        open_run_folder(tmp_path, "model", force=True)
    assert "the first" in (tmp_path / "record.json").read_text()


def test_what_a_killed_run_had_set_aside_comes_back(tmp_path: Path) -> None:
    (tmp_path / ".earlier").mkdir()
    (tmp_path / ".earlier/report.json").write_text("earlier")
    (tmp_path / "record.json").write_text("of the killed run")
    folder = open_run_folder(tmp_path, "model", force=True)
    folder.refuse()
    left = {str(f.relative_to(tmp_path)): f.read_text() for f in tmp_path.rglob("*.json")}
    assert left == {"report.json": "earlier"}


def test_a_folder_made_for_a_refused_request_is_gone(tmp_path: Path) -> None:
    folder = open_run_folder(tmp_path / "a/run", "model", force=False)
    folder.write_json("record.json", {})
    folder.refuse()
    folder.accept()
    assert not (tmp_path / "a/run").exists()


def test_an_earlier_run_is_kept_without_force(tmp_path: Path) -> None:
    (tmp_path / "outcomes.json").write_text("[]")
    with pytest.raises(UsageError, match=r"holds an earlier run \(outcomes.json\)"):
        open_run_folder(tmp_path, "model", force=False)
    assert (tmp_path / "outcomes.json").read_text() == "[]"


def test_a_folder_that_cannot_be_written_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, *arguments: object, **named: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(UsageError, match=r"cannot be written to .*Permission denied"):
        open_run_folder(tmp_path, "model", force=False)


def test_every_file_of_a_run_makes_its_folder_an_earlier_run(tmp_path: Path) -> None:
    """Whatever a run writes, `--force` must know."""
    folder = open_run_folder(tmp_path / "a", "model", force=False)
    folder.write_json("outcomes.json", [])
    paths = [folder.log("a"), folder.trace("a"), folder.states("a"), folder.scores("a")]
    for number, path in enumerate(paths):
        other = tmp_path / f"{number}" / path.relative_to(folder.path)
        other.parent.mkdir(parents=True)
        other.touch()
        with pytest.raises(UsageError, match="holds an earlier run"):
            open_run_folder(tmp_path / f"{number}", "model", force=False)


def test_json_is_written_whole(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.write_json("plan.json", {"a": [1, "ü"]})
    assert json.loads((tmp_path / "plan.json").read_text()) == {"a": [1, "ü"]}
    assert [f.name for f in tmp_path.iterdir()] == ["plan.json"]


def test_names_of_scenarios_and_engines_stay_inside_the_folder(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert folder.trace("chunked@37") == tmp_path / "traces" / "chunked@37.parquet"
    assert folder.states("chunked@37") == tmp_path / "states" / "chunked@37.parquet"
    for path in (folder.log("../../a"), folder.trace("../a/b"), folder.states("../a")):
        assert path.parent.parent == tmp_path
        assert ".." not in path.parts


def test_an_interrupted_run_says_what_it_leaves(tmp_path: Path) -> None:
    folder = open_run_folder(tmp_path / "run", "model", force=False)
    assert folder.left() == "Nothing had been measured, and nothing is left."
    folder.write_json("record.json", {})
    assert folder.left() == f"What was measured so far stays in the run's folder: {folder.path}"
