"""A file is there whole, or as it was before."""

from pathlib import Path

import pytest

from linattn_verify.traces.files import whole_file, write_whole


class Interrupted(BaseException):
    """As a KeyboardInterrupt, which is no Exception either."""


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("error", [OSError("no space left"), Interrupted()], ids=["disk", "key"])
@pytest.mark.parametrize("there", [True, False], ids=["over-an-old-file", "nothing-there-yet"])
def test_where_the_block_raises_everything_stays_as_it_was(
    tmp_path: Path, error: BaseException, there: bool
) -> None:
    path = tmp_path / "a.json"
    if there:
        path.write_bytes(b"old")
    before = contents(tmp_path)
    with pytest.raises(type(error)), whole_file(path) as file:
        file.write(b"half of the n")
        file.flush()
        raise error
    assert contents(tmp_path) == before


def test_a_reader_sees_the_old_file_until_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    with whole_file(path) as file:
        file.write(b"new, and longer")
        file.flush()
        assert path.read_bytes() == b"old"
    assert contents(tmp_path) == {"a.json": b"new, and longer"}


def test_what_is_not_finished_does_not_look_like_a_file_of_ours(tmp_path: Path) -> None:
    """Whoever lists `*.json` beside it must not find a part."""
    with whole_file(tmp_path / "a.json") as file:
        file.write(b"half")
        (unfinished,) = tmp_path.iterdir()
        assert unfinished.name.startswith(".")
        assert unfinished.suffix != ".json"


def test_where_the_name_cannot_be_taken_nothing_is_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    with pytest.raises(OSError), whole_file(tmp_path / "a.json") as file:
        file.write(b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").is_dir()


def test_folders_on_the_way_are_made(tmp_path: Path) -> None:
    path = tmp_path / "scores" / "gsm8k" / "warm.json"
    write_whole(path, "füünf\n")
    assert path.read_bytes() == "füünf\n".encode()
    write_whole(path, "")
    assert contents(path.parent) == {"warm.json": b""}


def test_a_text_that_cannot_be_encoded_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "half of a pair \ud83d")
    assert contents(tmp_path) == {"a.txt": b"old"}
