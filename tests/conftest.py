"""Shared by all tests: the embedded model, and one real run of it."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from linattn_verify.cli.exports import FORMS
from linattn_verify.workloads.checkpoint import embedded_checkpoint

OUTPUTS_ONLY = (
    *("--skip", "cache_hygiene", "--skip", "state_equivalence", "--skip", "kernels"),
    *("--no-mutations", "--no-localise"),
)
"""Leaves out what does not compare outputs, and what comes after a FAIL."""
PROMPTS_ONLY = ("--model", "random", "--skip", "task_score", *OUTPUTS_ONLY)
"""Qwen3.5-0.8B's shape, which the trained model is not, and no task: what a run without a score
costs. The operators are the same whatever is served."""

NO_GITHUB = {"GITHUB_ACTIONS": "", "GITHUB_STEP_SUMMARY": ""}
"""A fault that a test puts in is nothing to tell about the job that runs the tests."""


@dataclass(frozen=True)
class Invocation:
    """How a run of the command line ended."""

    code: int
    out: str
    err: str
    folder: Path

    @property
    def report(self) -> dict[str, Any]:
        """report.json as plain data."""
        document: dict[str, Any] = json.loads((self.folder / "report.json").read_text())
        return document

    def check(self, name: str, scenario: str) -> dict[str, Any]:
        """The answer of one check for one scenario."""
        found = [c for c in self.report["checks"] if (c["name"], c["scenario"]) == (name, scenario)]
        assert len(found) == 1, (name, scenario, self.out)
        answer: dict[str, Any] = found[0]
        return answer

    def verdicts(self) -> dict[tuple[str, str], str]:
        """Verdict by (check, scenario)."""
        return {(c["name"], c["scenario"]): c["verdict"] for c in self.report["checks"]}


def invoke(folder: Path, *arguments: str, timeout: float = 600, **environment: str) -> Invocation:
    """`linattn-verify run --out folder …` as a user calls it."""
    ended = subprocess.run(
        [sys.executable, "-m", "linattn_verify.cli", "run", "--out", str(folder), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **NO_GITHUB, "COLUMNS": "80", **environment},
    )
    return Invocation(ended.returncode, ended.stdout, ended.stderr, folder)


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The random model's folder, made in a folder of this session."""
    return embedded_checkpoint(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def clean_run(tmp_path_factory: pytest.TempPathFactory) -> Invocation:
    """The main job as a user starts it: the trained model, every scenario, every check."""
    folder = tmp_path_factory.mktemp("runs") / "clean"
    return invoke(folder, *(f"--{form}={folder}.{form}" for form in FORMS))


@pytest.fixture(scope="session")
def short_prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three prompts of 201, 170 and 131 token ids, varied and cheap."""
    path = tmp_path_factory.mktemp("prompts") / "short.jsonl"
    lines = [
        json.dumps(
            {"id": f"n{n}", "prompt_token_ids": [7 + (i * i * 31 + n) % 1000 for i in range(n)]}
        )
        for n in (201, 170, 131)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
