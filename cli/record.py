"""What a run was asked, planned and made on: beside what it measured, all that judging needs."""

import json
import platform
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import AwareDatetime

from linattn_verify.cli.files import RunFiles
from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.plan import Plan
from linattn_verify.configs.request import Request
from linattn_verify.configs.strict import Strict, validated
from linattn_verify.engine.environment import versions
from linattn_verify.engine.messages import ModelFacts
from linattn_verify.reports.build import this_tool
from linattn_verify.reports.document import Cpu, Environment, Phase, Prompt, TaskAsked, Tool

RECORD = "record.json"
RECORD_VERSION = 1


class Planned(Strict):
    """What is known once the checkpoint has been read and the prompts are tokens."""

    plan: Plan
    model: ModelFacts
    prompts: tuple[Prompt, ...]
    tasks: tuple[TaskAsked, ...]
    digests: dict[str, str]
    """SHA-256 of the files that hold what is served, by path in the folder."""


class Record(Strict):
    """Written when the run starts, and again whenever more is known."""

    schema_version: int = RECORD_VERSION
    tool: Tool
    request: Request
    environment: Environment
    """As far as it is known without an engine."""
    planned: Planned | None = None
    weights_digest: str | None = None
    """None while it is not known, and where the model is in no local folder."""
    phases: tuple[Phase, ...] = ()
    finished: AwareDatetime | None = None
    """When everything had been measured; None: the run is under way, or was interrupted."""


class RecordKeeper:
    """Keeps record.json up to date with what is known."""

    def __init__(self, files: RunFiles, record: Record) -> None:
        self._files = files
        self.record = record
        self._write()

    def planned(self, planned: Planned) -> None:
        """What will be served is known."""
        self._update(planned=planned)

    def weights(self, digest: str | None) -> None:
        """The weights have been read."""
        self._update(weights_digest=digest)

    def finish(self, phases: tuple[Phase, ...], now: datetime) -> None:
        """Everything has been measured."""
        self._update(phases=phases, finished=now)

    def spent(self, phases: tuple[Phase, ...]) -> None:
        """More was done after the measuring."""
        self._update(phases=phases)

    def _update(self, **fields: Any) -> None:
        self.record = self.record.model_copy(update=fields)
        self._write()

    def _write(self) -> None:
        self._files.write_json(RECORD, self.record.model_dump(mode="json"))


def new_record(request: Request, variables: dict[str, str]) -> Record:
    """The record of a run that starts here and now; `variables`: those that steer the engine."""
    environment = Environment(
        versions=versions(),
        cpu=Cpu(model=platform.processor() or platform.machine(), threads=0),
        platform=platform.platform(),
        variables=variables,
    )
    return Record(tool=this_tool(), request=request, environment=environment)


def read_record(path: Path) -> Record:
    """The record of the run in the folder `path`; raises UsageError where there is none that this
    tool can read."""
    if not path.is_dir():
        raise UsageError(f"{path}: no such folder. Give the folder of a run.")
    file = path / RECORD
    if not file.exists():
        raise UsageError(
            f"{path}: holds no {RECORD}. Either it is not the folder of a run, or the run was "
            f"killed before it began: start it anew, with --out {path} --force."
        )
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        version = document["schema_version"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise damaged(file, error) from error
    if isinstance(version, int) and version > RECORD_VERSION:
        raise UsageError(
            f"{file}: schema version {version}, this tool reads {RECORD_VERSION}. It was written "
            "by a newer linattn-verify: use that one."
        )
    return validated(Record, document, where=str(file))


def damaged(file: Path, error: Exception) -> UsageError:
    """What is said of a file of a run that cannot be read."""
    return UsageError(
        f"{file}: is damaged, or of another version ({error}). "
        "Restore it from a copy, or measure again into another folder."
    )
