"""Folders are whole or absent, whoever makes them."""

import hashlib
import threading
from pathlib import Path

import pytest

from linattn_verify.workloads.folder import SUMS, folder_digest, is_whole, make_folder


def _fill(path: Path) -> None:
    (path / "a.txt").write_text("one")
    (path / "sub").mkdir()
    (path / "sub" / "b.txt").write_text("two")


def test_digest_worked_out_by_hand(tmp_path: Path) -> None:
    _fill(tmp_path)
    one, two = (hashlib.sha256(text).hexdigest() for text in (b"one", b"two"))
    expected = hashlib.sha256(f"a.txt\0{one}\nsub/b.txt\0{two}\n".encode()).hexdigest()
    assert folder_digest(tmp_path) == expected


def test_digest_sees_names_as_well_as_contents(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    before = folder_digest(tmp_path)
    (tmp_path / "a").rename(tmp_path / "b")
    assert folder_digest(tmp_path) != before


def test_a_made_folder_is_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = make_folder(tmp_path / "m", _fill)
    assert is_whole(path)
    assert {item.name for item in tmp_path.iterdir()} == {"m", ".m.lock"}
    assert (path / SUMS).read_text().splitlines()[0].endswith("  a.txt")


def test_a_whole_folder_is_not_made_again(tmp_path: Path) -> None:
    path = make_folder(tmp_path / "m", _fill)
    assert make_folder(path, lambda _: pytest.fail("made again")) == path


@pytest.mark.parametrize("harm", ["truncated", "missing", "added", "no-sums", "a-file"])
def test_a_harmed_folder_is_made_anew(tmp_path: Path, harm: str) -> None:
    path = make_folder(tmp_path / "m", _fill)
    digest = folder_digest(path)
    _harm(path, harm)
    assert not is_whole(path)
    assert folder_digest(make_folder(path, _fill)) == digest


def _harm(path: Path, harm: str) -> None:
    if harm == "truncated":
        (path / "a.txt").write_text("on")
    elif harm == "missing":
        (path / "sub" / "b.txt").unlink()
    elif harm == "added":
        (path / "c.txt").write_text("three")
    elif harm == "no-sums":
        (path / SUMS).unlink()
    else:
        path.rename(path.with_name("gone"))
        path.write_text("not a folder")


def test_a_failure_leaves_no_folder_and_the_next_attempt_succeeds(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        _fill(path)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        make_folder(tmp_path / "m", fail)
    assert not (tmp_path / "m").exists()
    assert is_whole(make_folder(tmp_path / "m", _fill))
    assert {item.name for item in tmp_path.iterdir()} == {"m", ".m.lock"}


def test_many_at_once_make_it_once(tmp_path: Path) -> None:
    made: list[Path] = []

    def fill(path: Path) -> None:
        made.append(path)
        _fill(path)

    threads = [threading.Thread(target=make_folder, args=(tmp_path / "m", fill)) for _ in range(7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert is_whole(tmp_path / "m")
