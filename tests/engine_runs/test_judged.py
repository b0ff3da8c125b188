"""A finished run judged again and shown again, where no engine can be imported."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from linattn_verify.traces.store import read_trace
from tests.conftest import Invocation

pytestmark = pytest.mark.engine
WITHOUT_ENGINE = """\
import sys
from importlib.abc import MetaPathFinder
class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("vllm", "torch", "lm_eval", "transformers"):
            raise ModuleNotFoundError(f"No module named {name!r}")
sys.meta_path.insert(0, Absent())
from linattn_verify.cli.main import entry
entry()
"""


def call(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line on a machine without an engine."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_ENGINE, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "COLUMNS": "80"},
    )


def files(folder: Path) -> dict[str, int]:
    return {str(f.relative_to(folder)): f.stat().st_mtime_ns for f in folder.rglob("*")}


@pytest.fixture
def copy(clean_run: Invocation, tmp_path: Path) -> Path:
    shutil.copytree(clean_run.folder, tmp_path / "run")
    return tmp_path / "run"


def test_judged_with_its_own_settings_the_report_is_the_same(clean_run: Invocation) -> None:
    before = files(clean_run.folder)
    ended = call("judge", str(clean_run.folder), "--json", "-")
    assert ended.returncode == clean_run.code, ended.stderr
    assert json.loads(ended.stdout) == clean_run.report
    assert files(clean_run.folder) == before


def test_a_failure_judged_again_keeps_what_was_found_of_its_cause(faulty_run: Invocation) -> None:
    ended = call("judge", str(faulty_run.folder), "--json", "-")
    assert ended.returncode == faulty_run.code == 1, ended.stderr
    assert json.loads(ended.stdout) == faulty_run.report
    assert faulty_run.report["localised"] is not None


def test_the_report_is_shown_again(clean_run: Invocation, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ended = call("report", str(clean_run.folder), "--html", str(page))
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout in clean_run.out
    assert "<html" in page.read_text(encoding="utf-8")


def test_other_limits_give_another_verdict_and_say_so(
    clean_run: Invocation, tmp_path: Path
) -> None:
    strict = tmp_path / "strict.yaml"
    limit = "{limit: 1.0e-9, origin: made}"
    strict.write_text(f"extends: quick\nname: strict\nlimits: {{bfloat16: {{max: {limit}}}}}\n")
    ended = call(
        "judge", str(clean_run.folder), "--profile", str(strict), "--only", "chunked_prefill",
        "--json", "-",
    )  # fmt: skip
    report: dict[str, Any] = json.loads(ended.stdout)
    assert (ended.returncode, report["verdict"], report["profile"]["name"]) == (1, "FAIL", "strict")
    assert {c["name"] for c in report["checks"]} == {"chunked_prefill"}
    assert report["kernels"] is None
    (note,) = [n for n in report["notes"] if n.startswith("Measured with profile")]
    assert "strict" in note


def test_a_damaged_trace_is_an_error_of_its_scenario(copy: Path) -> None:
    trace = copy / "traces/warm.parquet"
    trace.write_bytes(trace.read_bytes()[:99])
    ended = call("judge", str(copy), "--json", "-")
    report: dict[str, Any] = json.loads(ended.stdout)
    assert (ended.returncode, report["verdict"]) == (4, "ERROR")
    status = {s["name"]: s["status"] for s in report["scenarios"]}
    assert status["warm"] == "error" and status["cold"] == "done"


def test_a_trace_outside_of_the_folder_is_not_read(copy: Path) -> None:
    outside = copy.parent / "outside.parquet"
    shutil.copy(copy / "traces/warm.parquet", outside)
    assert len(read_trace(outside).rows)
    outcomes = copy / "outcomes.json"
    outcomes.write_text(outcomes.read_text().replace("traces/warm.parquet", "../outside.parquet"))
    ended = call("judge", str(copy))
    assert ended.returncode == 2
    assert "names ../outside.parquet, which is outside of the folder" in ended.stderr


def test_an_interrupted_run_is_judged_by_what_it_has(copy: Path) -> None:
    record = json.loads((copy / "record.json").read_text())
    (copy / "record.json").write_text(json.dumps({**record, "finished": None}))
    outcomes = json.loads((copy / "outcomes.json").read_text())
    (copy / "outcomes.json").write_text(json.dumps(outcomes[:2]))
    (copy / "report.json").unlink()
    shown = call("report", str(copy))
    assert shown.returncode == 2
    assert f"linattn-verify judge {copy}" in shown.stderr
    ended = call("judge", str(copy), "--json", "-")
    report: dict[str, Any] = json.loads(ended.stdout)
    assert ended.returncode == report["exit_code"] != 0
    assert any(f"2 of {len(report['scenarios'])} scenarios" in note for note in report["notes"])
