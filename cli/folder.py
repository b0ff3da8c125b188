"""The folder of a run."""

import fcntl
import os
import time
from pathlib import Path

from linattn_verify.cli.files import RunFiles, safe
from linattn_verify.configs.errors import UsageError
from linattn_verify.workloads.folder import remove

_OURS = (
    "record.json", "workload.json", "engines.json", "outcomes.json", "kernels.json",
    "report.json", "report.schema.json", "report.txt", "traces", "states", "tasks", "scores",
    "logs", "localised.json", "repro.py", "localise",
)  # fmt: skip


class RunFolder(RunFiles):
    """Where everything that a run measures is kept, while the run writes there.

    An earlier run that this one replaces is set aside until the request has proven to be a good
    one: `accept` removes it, `refuse` puts it back and leaves nothing of this run. A lock keeps two
    runs from sharing the folder; it goes with the process.
    """

    def __init__(self, path: Path, made: bool = False) -> None:
        super().__init__(path)
        self._made = made
        self._aside = path / ".earlier"
        self._lock = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"{path}: another run is writing there. Wait for it, or give another folder."
            ) from None
        self._set_aside()

    def _set_aside(self) -> None:
        if self._aside.exists():  # left by a run that was killed before it had measured anything
            self.refuse()
        earlier = _found(self.path)
        if earlier:
            self._aside.mkdir()
        for item in earlier:
            item.rename(self._aside / item.name)

    def accept(self) -> None:
        """The run goes ahead: the earlier one is gone for good."""
        remove(self._aside)

    def refuse(self) -> None:
        """The request was a bad one: everything is as it was."""
        for item in _found(self.path):
            remove(item)
        for item in _found(self._aside):
            item.rename(self.path / item.name)
        remove(self._aside)
        if self._made:
            self.path.rmdir()

    def left(self) -> str:
        """What an interrupted run leaves, in words."""
        if _found(self.path):
            return f"What was measured so far stays in the run's folder: {self.path}"
        return "Nothing had been measured, and nothing is left."


def open_run_folder(out: Path | None, model: str, force: bool) -> RunFolder:
    """Make the folder; raises UsageError where it cannot be used, or holds a run already."""
    path = out or _new_path(model)
    if path.exists() and not path.is_dir():
        raise UsageError(f"--out {path}: is a file. Give a folder.")
    try:
        made = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
        earlier = [item.name for item in _found(path)]
        if earlier and not force:
            raise UsageError(
                f"--out {path}: holds an earlier run ({', '.join(earlier)}). "
                "Give another folder, or --force to replace it."
            )
        _probe(path)
        return RunFolder(path, made)
    except OSError as error:
        raise UsageError(f"--out {path}: cannot be written to ({error}).") from error


def _new_path(model: str) -> Path:
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{safe(Path(model).name or model)}"
    first = Path("runs") / name
    return first.with_name(f"{name}-{os.getpid()}") if first.exists() else first


def _found(path: Path) -> list[Path]:
    """What a run left in the folder."""
    return [path / name for name in _OURS if (path / name).exists()]


def check_writable(file: Path, flag: str) -> None:
    """Raise UsageError where `file` cannot be written; leaves nothing behind."""
    folder = next(p for p in file.absolute().parents if p.exists())
    try:
        if file.is_dir():
            raise IsADirectoryError("is a folder")
        _probe(folder)
    except OSError as error:
        raise UsageError(
            f"{flag} {file}: cannot be written to ({error.strerror or error}). "
            "Give a file in a folder that can."
        ) from error


def _probe(folder: Path) -> None:
    """Raise OSError where no file can be made in `folder`: permissions alone do not tell."""
    probe = folder / f".writable.{os.getpid()}"
    probe.touch()
    probe.unlink()
