"""`linattn-verify kernels`: refusals before anything starts, and how it ends."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from linattn_verify.cli import kernels_command
from linattn_verify.traces.kernels import KernelEvidence, read_kernels
from tests.checks.test_kernels import crashed, measure, row

if TYPE_CHECKING:
    from tests.cli.conftest import Command


@pytest.fixture
def evidence(monkeypatch: pytest.MonkeyPatch) -> list[KernelEvidence]:
    """What the operators' process is made to have measured: the last one put in."""
    found = [KernelEvidence(rows=(row(),))]
    monkeypatch.setattr(kernels_command, "check_engine_is_installed", lambda: None)
    monkeypatch.setattr(kernels_command, "measure", lambda *_: found[-1])
    return found


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--only", "causal_conv"), "Unknown operator 'causal_conv' in --only."),
        (("--inject", "copy_drops"), "Did you mean 'copy_drops_last_item'?"),
        (
            ("--inject", "copy_drops_last_item", "--only", "causal_conv1d"),
            "strikes in state_copy, which --only leaves out",
        ),
        (("--json", "/nowhere/there/x.json"), "--json"),
    ],
    ids=["operator", "fault", "fault elsewhere", "json"],
)
def test_a_bad_request_is_refused_with_what_to_change(
    command: "Command", evidence: list[KernelEvidence], flags: tuple[str, ...], said: str
) -> None:
    if flags[0] == "--json":
        flags = ("--json", ".")
    ended = command("kernels", *flags)
    assert ended.code == 2, ended
    assert said in ended.err and ended.out == ""


@pytest.mark.parametrize(
    ("measured", "code"),
    [
        (KernelEvidence(rows=(row(),)), 0),
        (KernelEvidence(rows=(row("a", measure(9.0)),)), 1),
        (KernelEvidence(), 3),
        (KernelEvidence(rows=(row(),), failure="it died"), 4),
    ],
    ids=["pass", "fail", "vacuous", "error"],
)
def test_exit_codes_are_those_of_run(
    command: "Command", evidence: list[KernelEvidence], measured: KernelEvidence, code: int
) -> None:
    evidence.append(measured)
    ended = command("kernels", "--json", "-")
    assert ended.code == code, ended
    document = json.loads(ended.out)
    assert document["exit_code"] == code


def test_strict_counts_calls_that_no_layer_makes(
    command: "Command", evidence: list[KernelEvidence]
) -> None:
    evidence.append(KernelEvidence(rows=(row(), crashed(called=False))))
    assert command("kernels").code == 0
    assert command("kernels", "--strict").code == 1


def test_out_keeps_the_evidence_and_is_not_written_over(
    command: "Command", evidence: list[KernelEvidence], home: Path
) -> None:
    assert command("kernels", "--out", "kept").code == 0
    assert read_kernels(home / "kept") == evidence[-1]
    assert json.loads((home / "kept" / "report.json").read_text())["run_folder"] == "kept"
    ended = command("kernels", "--out", "kept")
    assert ended.code == 2 and "holds kernels.json" in ended.err


def test_without_out_nothing_is_left(
    command: "Command", evidence: list[KernelEvidence], home: Path
) -> None:
    command("kernels")
    assert list(home.iterdir()) == []


def test_a_run_of_this_check_alone_is_refused_with_the_command_that_does_it(
    command: "Command", home: Path
) -> None:
    ended = command("run", "--only", "kernels")
    assert ended.code == 2
    assert "`linattn-verify kernels` runs it alone" in ended.err
    assert list(home.iterdir()) == []
