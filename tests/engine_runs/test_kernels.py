"""The engine's real operators: clean, and with each fault put around one of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from linattn_verify.traces.kernels import CaseStatus, KernelRow, read_kernels
from tests.conftest import Invocation

pytestmark = pytest.mark.engine

OPERATORS = {
    *("causal_conv1d", "causal_conv1d_update", "gated_delta_rule", "gated_delta_rule_update"),
    *("mamba2_scan", "mamba2_update", "state_copy"),
}


def kernels(folder: Path, *arguments: str) -> Invocation:
    """`linattn-verify kernels --out folder …` as a user calls it."""
    ended = subprocess.run(
        [sys.executable, "-m", "linattn_verify.cli", "kernels", "--out", str(folder), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "COLUMNS": "80"},
    )
    return Invocation(ended.returncode, ended.stdout, ended.stderr, folder)


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Invocation:
    """Every operator, nothing injected."""
    return kernels(tmp_path_factory.mktemp("kernels") / "clean")


@pytest.fixture(scope="session")
def rows(clean: Invocation) -> tuple[KernelRow, ...]:
    """Its cases."""
    return read_kernels(clean.folder).rows


def test_healthy_operators_pass_with_exit_code_0(clean: Invocation) -> None:
    assert clean.code == 0, clean.out + clean.err
    assert set(clean.verdicts().values()) == {"PASS"}
    assert {name.split(" (")[0] for _, name in clean.verdicts()} == OPERATORS


def test_the_page_fits_80_columns_and_says_on_what_it_was_earned(clean: Invocation) -> None:
    assert max(map(len, clean.out.splitlines())) <= 80 and "\x1b" not in clean.out
    assert all(operator in clean.out for operator in OPERATORS)
    assert "Earned on:" in clean.out and "AVX512-BF16" in clean.out
    evidence = read_kernels(clean.folder)
    assert any(part.startswith("vLLM kernels: _C") for part in evidence.kernel_path)
    assert "torch" in evidence.versions and evidence.cpu["features"]


@pytest.mark.parametrize("operator", sorted(OPERATORS - {"state_copy"}))
def test_states_were_compared_in_one_call_and_in_two(
    rows: tuple[KernelRow, ...], operator: str
) -> None:
    split = [r for r in rows if r.operator == operator and r.status is CaseStatus.MEASURED]
    seen = {m.what for r in split for m in r.measures}
    assert seen >= {"output", "state", "split output", "split state", "output apart", "state apart"}
    # rounding was there, so the operator ran, and the reference is another computation
    assert all(0 < m.error < m.limit for m in split[0].measures if m.error and m.limit)
    assert any(m.error for m in split[0].measures)


def test_every_split_around_the_chunk_length_was_measured(rows: tuple[KernelRow, ...]) -> None:
    for operator in ("causal_conv1d", "gated_delta_rule", "mamba2_scan"):
        measured = [r.case for r in rows if r.operator == operator and r.measures]
        for at in (1, 2, 3, 63, 64, 65, 128):
            assert any(case.startswith(f"T=129 split at {at},") for case in measured), operator


def test_what_cannot_run_here_is_there_by_name(
    clean: Invocation, rows: tuple[KernelRow, ...]
) -> None:
    named = {(r.operator, r.path): r for r in rows if r.status is CaseStatus.UNSUPPORTED}
    assert named["gated_delta_rule", "Triton on CUDA"].note == "no CUDA device"
    assert named["mamba1_scan", "C++"].note == "this build of vLLM has no selective_scan_fwd"
    assert "mamba1_scan" in clean.out and "Triton on CUDA" in clean.out


def test_the_copy_has_a_throughput(rows: tuple[KernelRow, ...]) -> None:
    timed = [r.gb_per_s for r in rows if r.operator == "state_copy" and r.gb_per_s is not None]
    assert len(timed) == 2 and min(timed) > 0.05


def test_a_case_that_dies_is_a_row_and_the_cases_after_it_are_measured(
    rows: tuple[KernelRow, ...],
) -> None:
    """has_initial_state absent: vLLM 0.32.0's native convolution dies of it. Where a later one
    does not, the case is measured, and this test has nothing to say."""
    absent = [r for r in rows if "has_initial_state absent" in r.case]
    assert absent and not any(r.called for r in absent)
    for died in (r for r in absent if r.status is CaseStatus.CRASHED):
        assert "signal SIG" in died.note
        assert rows[rows.index(died) + 1].seconds > 0


FAULTS = {
    "has_initial_state_ignored": ("causal_conv1d", "split"),
    "delta_state_decayed": ("gated_delta_rule", "split"),
    "crash_in_update": ("gated_delta_rule_update", "SIGSEGV"),
    "copy_drops_last_item": ("state_copy", "cop"),
}


@pytest.fixture(scope="session")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Invocation:
    """Every fault in one run: each strikes in the cases of its own operator."""
    flags = [flag for fault in FAULTS for flag in ("--inject", fault)]
    return kernels(tmp_path_factory.mktemp("kernels") / "faulty", *flags)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fires_and_turns_its_operator_red(faulty: Invocation, fault: str) -> None:
    operator, word = FAULTS[fault]
    assert faulty.code == 1, faulty.out + faulty.err
    fired = [r for r in read_kernels(faulty.folder).rows if r.fault == fault]
    assert fired and {r.operator for r in fired if r.fired} == {operator}
    red = [c for c in faulty.report["checks"] if c["scenario"].startswith(f"{operator} (")]
    assert red and {c["verdict"] for c in red} == {"FAIL"}
    assert all(word in c["message"] and f"fault {fault} fired" in c["message"] for c in red)
    assert any(fault in note for note in faulty.report["notes"])


def test_the_operators_beside_them_stay_green(faulty: Invocation) -> None:
    struck = {operator for operator, _ in FAULTS.values()}
    beside = {
        name: v for (_, name), v in faulty.verdicts().items() if name.split(" (")[0] not in struck
    }
    assert {name.split(" (")[0] for name in beside} == OPERATORS - struck
    assert set(beside.values()) == {"PASS"}
