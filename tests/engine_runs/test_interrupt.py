"""A run that is stopped leaves its evidence and no process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from linattn_verify.traces.store import read_trace
from tests.conftest import PROMPTS_ONLY

pytestmark = pytest.mark.engine


def start(folder: Path, prompts: Path) -> subprocess.Popen[str]:
    """A run that would hang in its first chunked scenario."""
    flags = ["--out", str(folder), *PROMPTS_ONLY, "--prompts", str(prompts), "--budgets", "64"]
    flags += ["--only", "chunked_prefill", "--inject", "chunked@64=hang_at_edges"]
    return subprocess.Popen(
        [sys.executable, "-m", "linattn_verify.cli", "run", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A shell's background job ignores SIGINT, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def wait_until(true: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.2)


def running(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [p for p in processes if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize(
    "how",
    [signal.SIGINT, signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)],
    ids=lambda s: s.name,
)
def test_a_stopped_run_keeps_its_traces_and_leaves_no_process(
    tmp_path: Path, short_prompts: Path, how: signal.Signals, request: pytest.FixtureRequest
) -> None:
    process = start(tmp_path / "run", short_prompts)
    request.addfinalizer(process.kill)
    wait_until((tmp_path / "run/traces/full.parquet").exists, 240)
    time.sleep(2)  # the hang has begun
    children = psutil.Process(process.pid).children(recursive=True)
    assert running(children)
    os.kill(process.pid, how)
    out, _ = process.communicate(timeout=60)
    wait_until(lambda: not running(children), 30)
    assert process.returncode == (-signal.SIGKILL if how is signal.SIGKILL else 130)
    if how is not signal.SIGKILL:
        assert "stays in the run's folder" in out
    trace = read_trace(tmp_path / "run/traces/full.parquet")
    assert len(trace.rows) > 400
