"""GSM8K questions from a folder, and the pocket model's own in the same form."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from linattn_verify.configs.errors import UsageError
from linattn_verify.workloads.pocket.problems import Split, problems

Rows = dict[str, list[dict[str, str]]]
"""Questions and answers by split."""
SPLITS: tuple[Split, ...] = ("train", "test")
FIELDS = ("question", "answer")
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
    return {split: _rows(folder.expanduser() / f"{split}.jsonl") for split in SPLITS}


def as_data_set(rows: Rows) -> Callable[..., Any]:
    """What lm-eval calls to get its data."""

    def load(**_: Any) -> Any:
        from datasets import Dataset, DatasetDict

        return DatasetDict({split: Dataset.from_list(found) for split, found in rows.items()})

    return load


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        # Not splitlines: a text may hold other characters that end a line.
        lines = path.read_text(encoding="utf-8").split("\n")
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
        found = json.loads(line)
        row = {field: found[field] for field in FIELDS}
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"--gsm8k-data: {path} line {number} is no question of GSM8K ({error}). Every line is "
            'a JSON object with "question" and "answer".'
        ) from error
    if not all(isinstance(text, str) for text in row.values()):
        raise UsageError(f"--gsm8k-data: {path} line {number}: question and answer must be text.")
    return row
