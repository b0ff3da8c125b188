"""The folder of a run."""

import json
import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

from linattn_verify.configs.errors import UsageError
from linattn_verify.reports.files import write_whole

_OURS = (
    "request.json", "plan.json", "workload.json", "outcomes.json", "report.json",
    "report.schema.json", "report.txt", "traces", "logs",
)  # fmt: skip


class RunFolder:
    """Where everything that a run measures is kept."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write_json(self, name: str, document: Any) -> None:
        """Write `document` so that the file is whole or not there."""
        write_whole(self.path / name, json.dumps(document, indent=1) + "\n")

    def log(self, engine: str) -> Path:
        """The log file of an engine."""
        return self.path / "logs" / f"{_safe(engine)}.log"

    def trace(self, scenario: str) -> Path:
        """The trace file of a scenario."""
        return self.path / "traces" / f"{_safe(scenario)}.parquet"


def open_run_folder(out: Path | None, model: str, force: bool) -> RunFolder:
    """Make the folder; raises UsageError where it cannot be used, or holds a run already."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    path = out or Path("runs") / f"{stamp}-{_safe(Path(model).name or model)}"
    if path.exists() and not path.is_dir():
        raise UsageError(f"--out {path}: is a file. Give a folder.")
    try:
        path.mkdir(parents=True, exist_ok=True)
        earlier = [name for name in _OURS if (path / name).exists()]
        if earlier and not force:
            raise UsageError(
                f"--out {path}: holds an earlier run ({', '.join(earlier)}). "
                "Give another folder, or --force to replace it."
            )
        for name in earlier:
            _remove(path / name)
        probe = path / f".writable.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UsageError(f"--out {path}: cannot be written to ({error}).") from error
    return RunFolder(path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._@-]+", "-", name).strip("-.") or "model"
