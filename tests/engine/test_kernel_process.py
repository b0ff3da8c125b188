"""The operators' process from outside: what it tells is kept, however it ends."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from linattn_verify.engine.kernel_messages import KernelsRequest
from linattn_verify.engine.kernel_process import KernelProcess
from linattn_verify.traces.kernels import CaseStatus, KernelEvidence, read_kernels, write_kernels

CHILD = """
import os, signal, sys, time
fd = int(sys.argv[1])
START = '{"row": {"operator": "o", "path": "p", "engine_uses": true, "status": "measured", '
ROW = START + '"case": "c%d"}}\\n'
FACTS = '{"facts": {"versions": {"torch": "9"}, "cpu": {}, "kernel_path": ["AVX9"]}}\\n'
def tell(text): os.write(fd, text.encode())
print("said on the way")
"""


def measured(
    folder: Path, monkeypatch: pytest.MonkeyPatch, code: str, timeout: float = 20
) -> KernelEvidence:
    (folder / "made_child.py").write_text(CHILD + code)
    environment = {"PYTHONPATH": str(folder)}
    log = folder / "logs" / "kernels.log"
    counts: list[int] = []
    with KernelProcess(log, environment, KernelsRequest(), module="made_child") as process:
        found = process.collect(timeout, counts.append)
    assert counts == sorted(counts)
    return found


def test_rows_and_facts_of_a_process_that_ends_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = measured(tmp_path, monkeypatch, "tell(ROW % 1); tell(ROW % 2); tell(FACTS)")
    assert [row.case for row in found.rows] == ["c1", "c2"]
    assert found.rows[0].status is CaseStatus.MEASURED
    assert (found.versions, found.kernel_path, found.failure) == ({"torch": "9"}, ("AVX9",), "")
    assert "said on the way" in (tmp_path / "logs" / "kernels.log").read_text()


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "it died: signal SIGSEGV"),
        ("raise ValueError('made up')", "it died: exit code 1"),
        ("tell('no json\\n'); time.sleep(60)", "no line of results"),
    ],
    ids=["signal", "exception", "garbage"],
)
def test_what_was_measured_before_a_bad_end_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, said: str
) -> None:
    found = measured(tmp_path, monkeypatch, f"tell(ROW % 1); tell(ROW % 2)\n{end}")
    assert [row.case for row in found.rows] == ["c1", "c2"]
    assert said in found.failure


def test_the_log_is_quoted_where_the_process_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (
        "ValueError: made up"
        in measured(tmp_path, monkeypatch, "raise ValueError('made up')").failure
    )


def test_a_process_without_progress_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = time.monotonic()
    found = measured(tmp_path, monkeypatch, "tell(ROW % 1); os.fork(); time.sleep(60)", timeout=1)
    assert time.monotonic() - began < 20
    assert [row.case for row in found.rows] == ["c1"]
    assert "no progress within 1 s" in found.failure


def test_the_time_to_wait_starts_anew_with_each_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "for i in range(5): tell(ROW % i); time.sleep(0.5)"
    assert len(measured(tmp_path, monkeypatch, code, timeout=2.2).rows) == 5


def test_who_collects_in_another_thread_is_told_that_the_process_was_ended(tmp_path: Path) -> None:
    (tmp_path / "made_child.py").write_text(CHILD + "tell(ROW % 1); time.sleep(60)")
    environment = {"PYTHONPATH": str(tmp_path)}
    ask = KernelsRequest()
    process = KernelProcess(tmp_path / "log", environment, ask, module="made_child")
    seen = Event()
    with ThreadPoolExecutor(1) as background:
        reading = background.submit(process.collect, 50, lambda _: seen.set())
        assert seen.wait(20)
        began = time.monotonic()
        process.kill()
        assert "signal SIGKILL" in reading.result(20).failure
        assert time.monotonic() - began < 10
    process.close()


def test_evidence_read_again_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(tmp_path, monkeypatch, "tell(ROW % 1); tell(FACTS)")
    write_kernels(tmp_path, found)
    assert read_kernels(tmp_path) == found
