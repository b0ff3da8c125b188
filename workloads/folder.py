"""Folders that are whole or absent."""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

SUMS = "SHA256SUMS"
"""The file that says what a whole folder holds, in the format of `sha256sum`."""


def folder_digest(path: Path) -> str:
    """SHA-256 over the names (relative, sorted) and contents of all files below `path`."""
    digest = hashlib.sha256()
    for name, file in sorted((file.relative_to(path).as_posix(), file) for file in _files(path)):
        digest.update(f"{name}\0{file_digest(file)}\n".encode())
    return digest.hexdigest()


def is_whole(path: Path) -> bool:
    """Whether the folder was finished and every file still has the content it was given."""
    try:
        return (path / SUMS).read_text(encoding="utf-8") == _sums(path)
    except OSError:
        return False


def make_folder(path: Path, fill: Callable[[Path], None]) -> Path:
    """`path`, filled by `fill` unless it is whole already.

    It is filled under another name and then renamed, by one process at a time. Raises OSError
    where the parent cannot be written.
    """
    if is_whole(path):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with _lock(path.parent / f".{path.name}.lock"):
        if not is_whole(path):
            _replace(path, fill)
    return path


def _replace(path: Path, fill: Callable[[Path], None]) -> None:
    partial = path.parent / f".{path.name}.partial"
    remove(partial)
    partial.mkdir()
    fill(partial)
    (partial / SUMS).write_text(_sums(partial), encoding="utf-8")
    remove(path)
    os.rename(partial, path)


def remove(path: Path) -> None:
    """Take away a file, a link or a folder with all it holds; nothing there is no error."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Held by one process or thread at a time; the system frees it when its holder dies."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _files(path: Path) -> Iterator[Path]:
    return (file for file in path.rglob("*") if file.is_file())


def _sums(path: Path) -> str:
    names = sorted(file.relative_to(path).as_posix() for file in _files(path))
    return "".join(f"{file_digest(path / name)}  {name}\n" for name in names if name != SUMS)


def file_digest(file: Path) -> str:
    """SHA-256 of a file."""
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()
