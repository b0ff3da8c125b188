"""The models that ship with the tool, by the names that --model takes."""

from collections.abc import Callable
from pathlib import Path

from linattn_verify.workloads.checkpoint import embedded_checkpoint
from linattn_verify.workloads.pocket.checkpoint import pocket_checkpoint

DEFAULT = "pocket"
EMBEDDED: dict[str, Callable[[], Path]] = {
    "pocket": pocket_checkpoint,
    "random": embedded_checkpoint,
}
"""pocket: small, trained, has a score to lose. random: Qwen3.5-0.8B's shape with random weights."""
