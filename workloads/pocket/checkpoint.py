"""Where the pocket model lies."""

from pathlib import Path


def pocket_checkpoint() -> Path:
    """The folder of the pocket model: weights, tokenizer, configuration and model card."""
    return Path(__file__).parent / "model"
