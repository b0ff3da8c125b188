"""GSM8K questions from a folder, and the pocket model's own in the same form."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from linattn_verify.configs.errors import UsageError
from linattn_verify.workloads.pocket.problems import Split, problems

Rows = dict[str, list[dict[str, str]]]
"""Questions and answers by split."""
SPLITS: tuple[Split, ...] = ("train", "test")
GSM8K_PATHS = ("openai/gsm8k", "gsm8k")
"""Names of the data set on the hub, as tasks give them."""
POCKET_SEED = 2026
"""It played no part in any choice that was made in training."""
POCKET_SIZE = 1000


def pocket_rows() -> Rows:
    """Problems for the pocket model: short ones as examples, long ones as questions."""
    return {split: problems(split, POCKET_SIZE, POCKET_SEED) for split in SPLITS}


def gsm8k_rows(folder: Path) -> Rows:
    """train.jsonl and test.jsonl of `folder`; raises UsageError where they are not GSM8K's."""
    if folder.expanduser().is_file():
        raise UsageError(f"--gsm8k-data: {folder} is a file. Give the folder that holds both.")
    return {split: _rows(folder.expanduser() / f"{split}.jsonl") for split in SPLITS}


def as_data_set(rows: Rows) -> Callable[..., Any]:
    """What lm-eval calls to get its data."""

    def load(**_: Any) -> Any:
        from datasets import Dataset, DatasetDict

        return DatasetDict({split: Dataset.from_list(found) for split, found in rows.items()})

    return load


class _Question(BaseModel):
    """A line of GSM8K's files; further fields are none of our business."""

    question: str = Field(min_length=1)
    answer: str = Field(pattern=r"#### *-?[0-9]")


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        # Not splitlines: a text may hold other characters that end a line.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"--gsm8k-data: {path} cannot be read ({error}). Give the folder that holds "
            "train.jsonl and test.jsonl, as in github.com/openai/grade-school-math."
        ) from error
    rows = [_row(path, number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not rows:
        raise UsageError(f"--gsm8k-data: {path} has no question. Give GSM8K's own file.")
    return rows


def _row(path: Path, number: int, line: str) -> dict[str, str]:
    try:
        return _Question.model_validate_json(line).model_dump()
    except ValidationError as error:
        first = error.errors()[0]
        what = ": ".join([*map(str, first["loc"]), first["msg"]])
        raise UsageError(
            f"--gsm8k-data: {path} line {number} is no question of GSM8K ({what}). Every line is a "
            'JSON object with "question" and "answer", whose answer ends in "#### " and a number.'
        ) from error
