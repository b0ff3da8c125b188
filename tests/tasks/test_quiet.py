"""Progress is shown by whoever calls: lm-eval's own bars and warnings would write over it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BOTH = """
from linattn_verify.tasks.loading import load_tasks  # first, as the command does
from tests.tasks.fakes import ROWS, asked, gsm8k, inline, said

generation = asked(gsm8k())
choices = asked(inline([{"question": "The sky is", "gold": 1}], output_type="multiple_choice",
                       doc_to_text="question", doc_to_choice=["white", "blue"],
                       doc_to_target="gold"))
for harness in (generation, choices):
    requests = harness.collect()
    assert harness.score(said(*["#### 13"] * len(requests)))

import datasets
assert datasets.are_progress_bars_disabled()  # those of a download
"""


def test_nothing_is_printed_as_tasks_are_loaded_asked_and_scored() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", BOTH], capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
