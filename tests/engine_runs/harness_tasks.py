"""Two tasks for lm-eval that need no network, and lm-eval's own HF backend's answers to them.

Run as a program it writes what the HF backend's samples are: MODEL OUTPUT. In a process of its own,
since transformers and the tests' process do not go together.
"""

import json
import sys
from pathlib import Path
from typing import Any

from linattn_verify.tasks.data import as_data_set, pocket_rows
from linattn_verify.tasks.loading import load_tasks, reset_examples

LIMIT = 11
Sample = dict[str, Any]


def tasks() -> dict[str, Any]:
    """GSM8K's definition over the pocket model's problems, 2 shots; and a choice of four."""
    from lm_eval.tasks import TaskManager

    rows = pocket_rows()
    choice = {
        "task": "choice",
        "output_type": "multiple_choice",
        "custom_dataset": as_data_set(rows),
        "dataset_path": "json",
        "test_split": "test",
        "fewshot_split": "train",
        "num_fewshot": 2,
        "doc_to_text": "Question: {{question}}\nAnswer:",
        "doc_to_choice": choices,
        "doc_to_target": 0,
        "target_delimiter": " ",
        "metric_list": [{"metric": "acc"}],
    }
    manager = TaskManager(include_defaults=False)
    return {**load_tasks(("gsm8k",), rows, 2), **manager.load([choice])["tasks"]}


def choices(doc: dict[str, str]) -> list[str]:
    """The right answer, and three with another number in its place."""
    steps, number = doc["answer"].rsplit(" ", 1)
    return [f"{steps} {int(number) + wrong}" for wrong in (0, 1, 10, 3)]


def hf_samples(model: str) -> dict[str, list[Sample]]:
    """What lm-eval's HF backend answers, by task."""
    from lm_eval.evaluator import evaluate
    from lm_eval.models.huggingface import HFLM

    backend = HFLM(pretrained=model, dtype="bfloat16", device="cpu", batch_size=1)
    found = {}
    for name, task in tasks().items():
        reset_examples(task)
        own = {"tasks": {name: task}, "groups": {}, "group_map": {}}
        results = evaluate(lm=backend, task_dict=own, limit=LIMIT, bootstrap_iters=0)
        found[name] = results["samples"][name]
    return found


if __name__ == "__main__":
    from linattn_verify.engine.native_libs import find_broken, shield

    shield(find_broken())
    Path(sys.argv[2]).write_text(json.dumps(hf_samples(sys.argv[1]), default=str))
