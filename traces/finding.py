"""What `doctor` says of one part of the environment."""

from enum import StrEnum

from linattn_verify.configs.strict import Strict


class Level(StrEnum):
    """How much it matters."""

    OK = "ok"
    NOTE = "note"
    """A run works; what it says holds for this environment, and may not for another."""
    PROBLEM = "problem"
    """It prevents a run."""


class Finding(Strict):
    """One part of the environment."""

    topic: str
    level: Level
    found: str
    """What is there."""
    means: str
    """What that does to a result."""
    fix: str = ""
    """What to do where it is not what you want."""


def ok(topic: str, found: str, means: str) -> Finding:
    """As it should be."""
    return Finding(topic=topic, level=Level.OK, found=found, means=means)


def note(topic: str, found: str, means: str, fix: str) -> Finding:
    """Something to know."""
    return Finding(topic=topic, level=Level.NOTE, found=found, means=means, fix=fix)


def problem(topic: str, found: str, means: str, fix: str) -> Finding:
    """Something that prevents a run."""
    return Finding(topic=topic, level=Level.PROBLEM, found=found, means=means, fix=fix)
