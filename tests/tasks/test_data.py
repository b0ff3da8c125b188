"""Questions from a folder, and the pocket model's own."""

import json
from pathlib import Path
from typing import Any

import pytest

from linattn_verify.configs.errors import UsageError
from linattn_verify.tasks.data import POCKET_SIZE, as_data_set, gsm8k_rows, pocket_rows

ROW = {"question": "Three and ten?", "answer": "#### 13"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """GSM8K's two files, of two questions and one."""
    write(tmp_path / "train.jsonl", ROW, {**ROW, "question": "Ten and three?"})
    write(tmp_path / "test.jsonl", ROW)
    return tmp_path


def write(path: Path, *rows: Any) -> None:
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def refusal(folder: Path) -> str:
    with pytest.raises(UsageError) as caught:
        gsm8k_rows(folder)
    return str(caught.value)


def test_both_files_are_read_in_their_order(folder: Path) -> None:
    assert gsm8k_rows(folder) == {"train": [ROW, {**ROW, "question": "Ten and three?"}],
                                  "test": [ROW]}  # fmt: skip


def test_blank_lines_and_other_fields_do_not_count(folder: Path) -> None:
    write(folder / "test.jsonl", "", {"id": 7, **ROW}, "  ", ROW, "")
    assert gsm8k_rows(folder)["test"] == [ROW, ROW]


def test_lines_may_end_as_on_windows(folder: Path) -> None:
    (folder / "test.jsonl").write_bytes(f"{json.dumps(ROW)}\r\n{json.dumps(ROW)}\r\n".encode())
    assert gsm8k_rows(folder)["test"] == [ROW, ROW]


@pytest.mark.parametrize("mark", ["\u2028", "\u0085"], ids=["line-separator", "next-line"])
def test_a_text_may_hold_what_ends_a_line_elsewhere(folder: Path, mark: str) -> None:
    row = {**ROW, "question": f"Three{mark}and ten?"}
    write(folder / "test.jsonl", row, ROW)
    assert gsm8k_rows(folder)["test"] == [row, ROW]


def test_a_home_folder_may_be_given_as_such(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder.parent))
    assert gsm8k_rows(Path("~") / folder.name)["test"] == [ROW]


BROKEN = {
    "half-a-line": '{"question": "Three',
    "no-answer": {"question": "Three and ten?"},
    "a-list": [1, 2],
    "a-number": 13,
}


@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN.keys())
def test_a_line_that_is_no_question_is_named(folder: Path, line: Any) -> None:
    write(folder / "train.jsonl", ROW, "", line)
    text = refusal(folder)
    assert f"--gsm8k-data: {folder / 'train.jsonl'} line 3 is no question of GSM8K" in text
    assert '"question" and "answer"' in text


@pytest.mark.parametrize("field", ["question", "answer"])
@pytest.mark.parametrize("value", [13, None, ["13"]], ids=["number", "null", "list"])
def test_fields_that_are_no_text_are_named(folder: Path, field: str, value: Any) -> None:
    write(folder / "test.jsonl", ROW, {**ROW, field: value})
    text = refusal(folder)
    assert f"{folder / 'test.jsonl'} line 2 is no question of GSM8K ({field}: " in text


@pytest.mark.parametrize(
    ("field", "value"),
    [("question", ""), ("answer", "Seven."), ("answer", "#### seven"), ("answer", "")],
)
def test_a_question_that_nobody_could_score_is_named(folder: Path, field: str, value: str) -> None:
    write(folder / "test.jsonl", ROW, {**ROW, field: value})
    assert f"line 2 is no question of GSM8K ({field}: " in refusal(folder)


def test_a_byte_order_mark_does_no_harm(folder: Path) -> None:
    file = folder / "test.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert gsm8k_rows(folder)["test"] == [ROW]


@pytest.mark.parametrize("name", ["train.jsonl", "test.jsonl"])
def test_a_missing_file_is_named_with_where_to_get_it(folder: Path, name: str) -> None:
    (folder / name).unlink()
    text = refusal(folder)
    assert f"--gsm8k-data: {folder / name} cannot be read" in text
    assert "github.com/openai/grade-school-math" in text


def test_a_folder_that_is_not_there_or_is_a_file(folder: Path) -> None:
    assert "cannot be read" in refusal(folder / "nowhere")
    assert "test.jsonl is a file" in refusal(folder / "test.jsonl")


def test_a_file_that_is_not_text(folder: Path) -> None:
    (folder / "test.jsonl").write_bytes(b"\xff\xfe\x00")
    assert f"{folder / 'test.jsonl'} cannot be read" in refusal(folder)


@pytest.mark.parametrize("content", ["", "\n \n"], ids=["empty", "blank"])
def test_a_file_without_a_question(folder: Path, content: str) -> None:
    (folder / "test.jsonl").write_text(content)
    assert f"{folder / 'test.jsonl'} has no question" in refusal(folder)


def test_the_pocket_models_questions_are_the_same_each_time() -> None:
    assert pocket_rows() == pocket_rows()


def test_the_pocket_models_questions_are_not_among_its_examples() -> None:
    rows = pocket_rows()
    asked = {split: {row["question"] for row in found} for split, found in rows.items()}
    assert {split: len(found) for split, found in rows.items()} == {
        "train": POCKET_SIZE,
        "test": POCKET_SIZE,
    }
    assert not asked["train"] & asked["test"]
    assert len(asked["test"]) == POCKET_SIZE  # none is asked twice


def test_questions_become_what_lm_eval_reads() -> None:
    data = as_data_set({"train": [ROW, ROW], "test": [ROW]})(version=3.0)
    assert {split: len(data[split]) for split in data} == {"train": 2, "test": 1}
    assert data["test"][0] == ROW
