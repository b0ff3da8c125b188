"""Other forms of the report: written where they are asked for, refused before anything starts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner

from linattn_verify.cli.exports import FORMS, Exports, export_options, tell_github
from linattn_verify.reports.document import Report
from tests.reports.conftest import report_of
from tests.reports.hostile import hostile_report

if TYPE_CHECKING:
    from tests.cli.conftest import Command

ACTIONS, SUMMARY = "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"
Printed = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def outside_github(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ACTIONS, raising=False)
    monkeypatch.delenv(SUMMARY, raising=False)


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Callable[[Report], None]:
    """Lets `run` end at once with this report."""

    def end(report: Report) -> None:
        def run(*_: object) -> Report:
            return report

        monkeypatch.setattr("linattn_verify.cli.run_command._run", run)
        for name in ("check_engine_is_installed", "check_tasks"):
            monkeypatch.setattr(f"linattn_verify.cli.run_command.{name}", lambda *_: None)

    return end


@click.command()
@export_options
def made(**options: Any) -> None:
    """A command that has a report."""
    Exports.taken(options).write(report_of("fail"))
    assert not options


def test_every_command_with_a_report_takes_the_same_options(home: Path) -> None:
    shown = CliRunner().invoke(made, ["--help"]).output
    assert all(f"--{form} FILE" in shown for form in FORMS)
    asked = [f"--{form}=new/report.{form}" for form in FORMS]
    assert CliRunner().invoke(made, asked).exit_code == 0
    assert {path.name for path in (home / "new").iterdir()} == {f"report.{form}" for form in FORMS}
    assert all(path.read_text(encoding="utf-8") for path in (home / "new").iterdir())


def test_run_writes_them_and_ends_as_the_report_does(
    command: "Command", home: Path, ended: Callable[[Report], None]
) -> None:
    ended(report_of("fail"))
    asked = [f"--{form}=report.{form}" for form in FORMS]
    result = command("run", "--out", "run", "--json", "-", *asked)
    assert result.code == 1, result.err
    assert json.loads(result.out)["verdict"] == "FAIL"
    assert all((home / f"report.{form}").stat().st_size > 500 for form in FORMS)


@pytest.mark.parametrize("form", FORMS)
def test_a_file_that_cannot_be_written_is_refused_before_anything_starts(
    command: "Command", home: Path, form: str
) -> None:
    result = command("run", "--out", "run", f"--{form}", ".")
    assert result.code == 2
    assert f"--{form} .: cannot be written to" in result.err
    assert not list(home.iterdir())


def test_standard_output_and_a_shared_file_are_refused(command: "Command") -> None:
    assert "--junit -: give a file" in command("run", "--junit", "-").err
    result = command("run", "--junit", "a", "--csv", "./a")
    assert result.code == 2
    assert "--csv a: --junit goes there. Give another file." in result.err


def test_outside_github_nothing_is_told(capsys: Printed) -> None:
    tell_github(report_of("fail"))
    assert capsys.readouterr() == ("", "")


def test_the_summary_is_added_to_and_annotations_go_to_standard_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("# before\n", encoding="utf-8")
    monkeypatch.setenv(SUMMARY, str(summary))
    monkeypatch.setenv(ACTIONS, "true")
    tell_github(hostile_report())
    assert summary.read_text(encoding="utf-8").startswith("# before\n## FAIL: tiny")
    told = capsys.readouterr()
    assert told.out == ""
    assert [line[:9] for line in told.err.rstrip("\n").split("\n")] == ["::error t"] * 2


def test_a_summary_that_cannot_be_written_changes_no_verdict(
    command: "Command",
    home: Path,
    ended: Callable[[Report], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(SUMMARY, str(home))
    ended(report_of("pass"))
    result = command("run", "--out", "run")
    assert result.code == 0
    assert "not written" in result.err and "Give --markdown." in result.err
