"""How a scenario ended, whether or not it left a trace."""

from enum import StrEnum

from linattn_verify.configs.strict import Strict


class Status(StrEnum):
    """How a scenario ended."""

    DONE = "done"
    CRASHED = "crashed"
    """The engine raised or died."""
    TIMED_OUT = "timed out"
    UNSUPPORTED = "unsupported"
    """The engine said that it, or this machine, cannot do this."""
    NOT_RUN = "not run"
    """Something that it builds on did not end well."""
    ERROR = "error"
    """Our side or the machine."""


class Outcome(Strict):
    """The end of one scenario."""

    scenario: str
    engine: str
    status: Status
    trace: str | None = None
    """Path of the trace, relative to the run's folder."""
    message: str = ""
    """Why it did not end well: exception or signal, in one or two lines."""
    traceback: str = ""
    log_tail: tuple[str, ...] = ()
    seconds: float = 0.0
