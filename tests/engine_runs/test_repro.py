"""Every fault: its class by name, and a script for plain vLLM that shows it, and only it.

Left out are faults after which there is nothing to localise: the engine dies, raises or hangs, and
the report has its signal, traceback and log.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from linattn_verify.checks.localised import Localised
from linattn_verify.configs.faults import FAULTS
from tests.conftest import Invocation, invoke

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(1200)]

NOT_CARRIED = "state not carried at chunk edges"
EXPECTED = {
    "state_lost_at_edges": ("chunked@256", NOT_CARRIED),
    "conv_state_lost_at_edges": ("chunked@256", "convolution state only"),
    "recurrent_state_lost_at_edges": ("chunked@256", "recurrent state only"),
    "one_layer_state_lost_at_edges": ("chunked@256", NOT_CARRIED),
    "one_request_state_lost_at_edges": ("chunked@256", NOT_CARRIED),
    "last_chunk_state_lost": ("chunked@256", NOT_CARRIED),
    "state_rounded_at_edges": ("chunked@256", "arithmetic"),
    "has_initial_state_ignored": ("chunked@256", NOT_CARRIED),
    "one_token_chunk_as_decode": ("chunked@100", "scheduling"),
    "stale_state_read": ("chunked@256", "unwritten block"),
    "unwritten_state_read": ("full-nan", "unwritten block"),
    "blocks_not_zeroed": ("full-nan", "unwritten block"),
    "restored_state_off_by_one_block": ("warm", "restore"),
    "restored_state_lost": ("warm", "restore"),
    "state_published_late": ("cold", "restore"),
    "copy_drops_last_item": ("cold", NOT_CARRIED),
    "decode_state_stuck": ("chunked@256", "decode state"),
    "nan_state_at_edges": ("chunked@256", NOT_CARRIED),
    "logits_swapped": ("chunked@256", "scheduling"),
}
"""By fault: the scenario that it is put into, and its class."""
DEADLY = {"crash_at_edges", "raise_at_edges", "hang_at_edges"}
STATES_ALONE = {"state_rounded_at_edges"}
"""Faults that log-probabilities show too faintly for a script that compares nothing else."""
INJECTING = Path(__file__).parent / "injecting"


@pytest.fixture(scope="module", params=EXPECTED)
def found(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Invocation]:
    """A run with one fault, and what was found of it."""
    fault: str = request.param
    scenario = EXPECTED[fault][0]
    budget = scenario.partition("@")[2] or "256"
    flags = ("--skip", "task_score", "--skip", "kernels", "--no-mutations", "--budgets", budget)
    inject = ("--inject", f"{scenario}={fault}")
    return fault, invoke(tmp_path_factory.mktemp(fault) / "run", *flags, *inject)


def served(script: Path, fault: str, folder: Path) -> tuple[int, str, int]:
    """Exit code and output of the script, with the fault in its engine, and how often it struck."""
    fired = folder / "fired"
    paths = [str(INJECTING), os.environ.get("PYTHONPATH", "")]
    environment = {
        **{"PYTHONPATH": os.pathsep.join(paths), "FAULT": fault, "FIRED": str(fired)},
        **{"OMP_WAIT_POLICY": "passive", "HF_HUB_OFFLINE": "1"},
    }
    ended = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **environment},
    )
    struck = sum(map(int, fired.read_text().split())) if fired.exists() else 0
    return ended.returncode, ended.stdout + ended.stderr, struck


def test_every_fault_is_here_or_deadly() -> None:
    assert EXPECTED.keys() | DEADLY == FAULTS.keys()


def test_localise_names_the_class(found: tuple[str, Invocation]) -> None:
    fault, run = found
    assert run.code == 1, run.out + run.err
    localised = Localised.model_validate(run.report["localised"])
    assert localised.fault_class == EXPECTED[fault][1], localised.because
    assert localised.smallest.reproduced and localised.smallest.finished


def test_the_script_shows_the_fault(found: tuple[str, Invocation], tmp_path: Path) -> None:
    fault, run = found
    code, output, struck = served(run.folder / "repro.py", fault, tmp_path)
    assert struck > 0, output
    assert code == int(fault not in STATES_ALONE), output
    assert ("DIFFER" in output) == (fault not in STATES_ALONE), output


def test_the_script_shows_nothing_of_a_sound_engine(
    found: tuple[str, Invocation], tmp_path: Path
) -> None:
    code, output, struck = served(found[1].folder / "repro.py", "", tmp_path)
    assert (code, struck) == (0, 0), output
    assert "No difference beyond rounding." in output
