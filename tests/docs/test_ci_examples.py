"""The examples for CI systems: valid where they are copied to, and of commands that there are."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from linattn_verify.cli.main import cli

FOLDER = Path(__file__).parents[2] / "docs" / "ci"
SCHEMAS = {"github-actions.yml": "github-workflows", "gitlab-ci.yml": "gitlab-ci"}
"""Schemas that check-jsonschema brings along."""


def lint(path: Path) -> "subprocess.CompletedProcess[str]":
    schema = SCHEMAS[path.name]
    transform = ["--data-transform", "gitlab-ci"] if schema == "gitlab-ci" else []
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    return subprocess.run([*command, *transform, str(path)], capture_output=True, text=True)


def calls(name: str) -> Iterator[list[str]]:
    """What each line of the example's scripts calls our command with."""
    for text in _scripts(yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))):
        for line in re.sub(r"\\\n", " ", text).splitlines():
            if line.startswith("linattn-verify "):
                yield shlex.split(line)[1:]


def _scripts(node: Any, key: str = "") -> Iterator[str]:
    if isinstance(node, dict):
        for name, value in node.items():
            yield from _scripts(value, str(name))
    elif isinstance(node, list):
        for value in node:
            yield from _scripts(value, key)
    elif key in ("run", "script", "before_script"):
        yield node


def test_every_example_is_tested() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(SCHEMAS)


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_example_is_valid(name: str) -> None:
    ended = lint(FOLDER / name)
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize(
    ("name", "sound", "spoilt"),
    [
        ("github-actions.yml", "runs-on: ", "runs_on: "),
        ("gitlab-ci.yml", "timeout: 1h", "timeout: [1h]"),
    ],
)
def test_a_spoilt_example_is_not(tmp_path: Path, name: str, sound: str, spoilt: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert sound in text
    (tmp_path / name).write_text(text.replace(sound, spoilt), encoding="utf-8")
    assert lint(tmp_path / name).returncode == 1


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_example_calls_commands_and_options_that_there_are(name: str) -> None:
    found = list(calls(name))
    assert [arguments[0] for arguments in found] == ["doctor", "run"]
    for command, *arguments in found:
        made = cli.commands[command].make_context(command, arguments, resilient_parsing=False)
        assert isinstance(made, click.Context)


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_example_keeps_what_it_writes(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    (command,) = [arguments for arguments in calls(name) if arguments[0] == "run"]
    written = [word for word in command if word.startswith("reports/")] + ["run"]
    kept = text[text.index("upload-artifact" if "upload" in text else "artifacts:") :]
    assert len(written) == 4
    assert all(f"{path.partition('/')[0]}/" in kept for path in written)
