"""The files of a run, by what they hold."""

import json
import re
from pathlib import Path
from typing import Any

from linattn_verify.configs.errors import UsageError
from linattn_verify.traces.files import write_whole


class RunFiles:
    """Where in a run's folder everything is. Making one touches nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write_json(self, name: str, document: Any) -> None:
        """Write `document` so that the file is whole or not there."""
        write_whole(self.path / name, json.dumps(document, indent=1) + "\n")

    def log(self, engine: str) -> Path:
        """The log file of an engine."""
        return self.path / "logs" / f"{safe(engine)}.log"

    def scores(self, scenario: str) -> Path:
        """The file of what a scenario's answers to a task scored."""
        return self.path / "scores" / f"{safe(scenario)}.parquet"

    def states(self, scenario: str) -> Path:
        """The file of the states that a scenario's layers held."""
        return self.path / "states" / f"{safe(scenario)}.parquet"

    def trace(self, scenario: str) -> Path:
        """The trace file of a scenario."""
        return self.path / "traces" / f"{safe(scenario)}.parquet"

    def inside(self, path: str | Path) -> Path:
        """`path`, relative to the folder, as a file in it; raises UsageError where it leads out of
        the folder, by its own words or through a link."""
        found = self.path / path
        if not found.resolve().is_relative_to(self.path.resolve()):
            raise UsageError(
                f"{self.path}: its evidence names {path}, which is outside of the folder. Such a "
                "run was tampered with or moved apart: measure it again."
            )
        return found


def safe(name: str) -> str:
    """`name` as the name of a file."""
    return re.sub(r"[^A-Za-z0-9._@-]+", "-", name).strip("-.") or "model"
