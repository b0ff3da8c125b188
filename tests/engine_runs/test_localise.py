"""The cause of a fault, looked for on the real engine."""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from linattn_verify.checks.localised import Localised
from tests.conftest import Invocation
from tests.engine_runs.injected import INJECTED

pytestmark = pytest.mark.engine

CLASSES = {
    "conv_state_lost_at_edges": "convolution state only",
    "has_initial_state_ignored": "state not carried at chunk edges",
    "recurrent_state_lost_at_edges": "recurrent state only",
    "one_layer_state_lost_at_edges": "state not carried at chunk edges",
    "nan_state_at_edges": "state not carried at chunk edges",
    "logits_swapped": "scheduling",
    "restored_state_lost": "restore",
    "restored_state_off_by_one_block": "restore",
    "blocks_not_zeroed": "unwritten block",
    "unwritten_state_read": "unwritten block",
}


def localised(run: Invocation) -> Localised:
    return Localised.model_validate(run.report["localised"])


@pytest.mark.parametrize("scenario", [s for s in INJECTED if "/" not in s])
def test_every_scenario_that_fails_has_the_class_of_its_fault(
    faulty_run: Invocation, scenario: str
) -> None:
    by_name = {one.scenario: one for one in localised(faulty_run).others}
    assert by_name[scenario].fault_class == CLASSES[INJECTED[scenario]], by_name[scenario].because


def test_the_smallest_case_is_a_step_and_a_few_tokens_of_one_prompt(
    faulty_run: Invocation,
) -> None:
    found = localised(faulty_run)
    assert (found.scenario, found.reference) == ("chunked@512", "full")
    assert found.parted is not None and found.parted.part == "convolution"
    smallest = found.smallest
    assert smallest.reproduced and smallest.alone and len(smallest.prompts) == 1
    assert smallest.budget < smallest.prompt_tokens[0] <= 256  # of 1,153
    assert smallest.budget <= 128 and (smallest.largest_budget or 0) >= 512


@pytest.mark.slow
def test_localise_looks_into_the_scenario_that_is_named(
    faulty_run: Invocation, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(faulty_run.folder, folder)
    flags = ("--scenario", "chunked@100", "--seconds", "60")
    ended = subprocess.run(
        [sys.executable, "-m", "linattn_verify.cli", "localise", str(folder), *flags],
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "scheduling (chunked@100 against full)" in ended.stdout
    found = Localised.model_validate_json((folder / "localised.json").read_text())
    assert found.smallest.alone is False and len(found.smallest.prompts) == 2
    report = json.loads((folder / "report.json").read_text())
    assert report["localised"]["scenario"] == "chunked@100"


def test_it_is_told_on_the_terminal_and_kept_with_its_script(faulty_run: Invocation) -> None:
    assert "Where the fault is" in faulty_run.out and "repro.py" in faulty_run.out
    kept = json.loads((faulty_run.folder / "localised.json").read_text())
    assert kept == faulty_run.report["localised"]
    ast.parse((faulty_run.folder / "repro.py").read_text())
