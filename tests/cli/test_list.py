"""What there is to choose is listed whole; what the shell asks for is completed."""

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.shell_completion import ShellComplete

from linattn_verify.checks.registry import all_checks
from linattn_verify.cli.main import cli
from linattn_verify.configs.metrics import CONTRASTS, STATE_METRICS, STATISTICS
from linattn_verify.configs.profile import BUILT_IN

if TYPE_CHECKING:
    from tests.cli.conftest import Command

NAMES = {
    "checks": {spec.name for spec in all_checks()},
    "profiles": set(BUILT_IN),
    "metrics": {*STATISTICS, *STATE_METRICS.values(), *CONTRASTS},
}


@pytest.mark.parametrize("kind", ["checks", "profiles", "scenarios", "metrics"])
def test_each_entry_says_what_it_sees_and_what_it_cannot(command: "Command", kind: str) -> None:
    entries = json.loads(command("list", kind, "--json").out)
    assert NAMES.get(kind, {entry["name"] for entry in entries}) == {e["name"] for e in entries}
    assert all(entry["sees"] and entry["blind"] for entry in entries)
    shown = command("list", kind).out
    assert all(entry["name"] in shown for entry in entries)


def test_profiles_are_described_by_what_they_hold(command: "Command") -> None:
    quick, _, release = json.loads(command("list", "profiles", "--json").out)
    assert "512, 256, 128, 100" in quick["sees"] and "10 points" in quick["blind"]
    assert "compiled" in quick["blind"] and "compiled" not in release["blind"]


def test_an_unknown_kind_lists_the_choices(command: "Command") -> None:
    ended = command("list", "faulty")
    assert ended.code == 2
    assert "'checks', 'profiles', 'scenarios', 'metrics'" in ended.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_the_shell_reads(command: "Command", shell: str) -> None:
    script = command("completion", shell).out
    assert "_LINATTN_VERIFY_COMPLETE" in script
    if shutil.which(shell):
        read = subprocess.run([shell, "-n"], input=script, text=True, capture_output=True)
        assert (read.returncode, read.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "begun", "expected"),
    [
        ([], "do", ["doctor"]),
        (["run", "--only"], "state", ["state_equivalence"]),
        (["run", "--profile"], "rel", ["release", "rel"]),
        (["list"], "m", ["metrics"]),
    ],
    ids=["command", "check", "profile or file", "choice"],
)
def test_what_is_begun_is_completed(words: list[str], begun: str, expected: list[str]) -> None:
    completer = ShellComplete(cli, {}, "linattn-verify", "_LINATTN_VERIFY_COMPLETE")
    assert [item.value for item in completer.get_completions(words, begun)] == expected


def test_bash_asks_the_console_script_and_is_answered() -> None:
    asked = {"_LINATTN_VERIFY_COMPLETE": "bash_complete", "COMP_CWORD": "1"}
    code = "import sys; sys.argv[0] = 'linattn-verify'; "
    code += "from linattn_verify.cli.main import entry; entry()"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **asked, "COMP_WORDS": "linattn-verify comp"},
        capture_output=True,
        text=True,
    )
    assert ended.stdout == "plain,completion\n"
