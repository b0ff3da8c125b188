"""What a plan has to know of a task."""

from linattn_verify.configs.strict import Strict


class TaskShape(Strict):
    """The requests of one task, as far as they decide engine settings."""

    name: str
    lengths: tuple[int, ...]
    """Prompt tokens by request."""
    outputs: tuple[int, ...]
    """Most output tokens by request."""
