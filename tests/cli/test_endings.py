"""Every way to end, as an exit code."""

from typing import TYPE_CHECKING

import pytest

from linattn_verify.configs.errors import UsageError

if TYPE_CHECKING:
    from tests.cli.conftest import Command


def ends(monkeypatch: pytest.MonkeyPatch, how: int | BaseException) -> None:
    """Make the command return or raise this."""

    def run_command(options: dict[str, object]) -> int:
        if isinstance(how, int):
            return how
        raise how

    monkeypatch.setattr("linattn_verify.cli.run_command.run_command", run_command)


@pytest.mark.parametrize("code", [0, 1, 3, 4])
def test_the_runs_own_exit_code_is_the_commands(
    command: "Command", monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    ends(monkeypatch, code)
    assert command("run").code == code


def test_a_refused_request_is_two_lines_and_no_traceback(
    command: "Command", monkeypatch: pytest.MonkeyPatch
) -> None:
    ends(monkeypatch, UsageError("--made: up.\nChange it."))
    ended = command("run")
    assert (ended.code, ended.err) == (2, "Error: --made: up.\nChange it.\n")


def test_an_exception_that_nobody_expected_is_ours_and_not_a_verdict(
    command: "Command", monkeypatch: pytest.MonkeyPatch
) -> None:
    ends(monkeypatch, ZeroDivisionError("made up"))
    ended = command("run")
    assert ended.code == 4
    assert "Error: ZeroDivisionError: made up" in ended.err
    assert "not a verdict on the engine" in ended.err
    assert "Traceback" in ended.err
    assert ended.out == ""


def test_an_interruption_is_130_and_says_what_is_left(
    command: "Command", monkeypatch: pytest.MonkeyPatch
) -> None:
    ends(monkeypatch, KeyboardInterrupt("Three traces stay."))
    ended = command("run")
    assert (ended.code, ended.err) == (130, "\nInterrupted. Three traces stay.\n")


def test_an_interruption_before_anything_began_says_no_more(
    command: "Command", monkeypatch: pytest.MonkeyPatch
) -> None:
    ends(monkeypatch, KeyboardInterrupt())
    ended = command("run")
    assert (ended.code, ended.err) == (130, "\nInterrupted.\n")


def test_no_command_shows_the_commands(command: "Command") -> None:
    ended = command()
    assert ended.code == 2  # click's own: a command is missing
    assert "run" in ended.out + ended.err


def test_an_unknown_command_is_named(command: "Command") -> None:
    ended = command("rum")
    assert ended.code == 2
    assert "No such command 'rum'" in ended.err
