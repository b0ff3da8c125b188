"""What is compared of a scenario."""

from enum import StrEnum


class Leg(StrEnum):
    """What is compared."""

    PROMPT = "prompt"
    """Teacher-forced log-probabilities of the prompt's own tokens."""
    DECODE = "decode"
    """Log-probabilities while decoding along the reference's tokens."""
    FREE = "free"
    """Greedy output as it comes."""
    CUT = "cut"
    """Log-probability of the prompt's next token after a prefix of it."""
    ANSWER = "answer"
    """What the model answers to a task's request."""
    PREFIX = "prefix"
    """The state that a prefix of the prompt leaves."""
