"""The cause of a fault, looked for on the real engine."""

import ast
import json

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
    assert smallest.budget < smallest.prompt_tokens[0] <= smallest.budget + 16
    assert smallest.budget <= 64 and (smallest.largest_budget or 0) >= 512


def test_it_is_told_on_the_terminal_and_kept_with_its_script(faulty_run: Invocation) -> None:
    assert "Where the fault is" in faulty_run.out and "repro.py" in faulty_run.out
    kept = json.loads((faulty_run.folder / "localised.json").read_text())
    assert kept == faulty_run.report["localised"]
    ast.parse((faulty_run.folder / "repro.py").read_text())
