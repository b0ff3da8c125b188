"""A line of an engine's log in which the engine says that it changed a setting by itself."""

from enum import StrEnum

from linattn_verify.configs.strict import Strict


class Did(StrEnum):
    """What the engine says it did with a setting."""

    OFF = "off"
    """Switched off."""
    SET = "set"
    """Set to another value."""
    REFUSED = "refused"
    """The value asked for cannot be used."""
    WARNED = "warned"
    """Left as it is, with a warning."""


class Guard(Strict):
    """One setting that one line of the log speaks of."""

    setting: str
    """The engine argument, by the engine's own name."""
    did: Did
    """What the engine did with it."""
    value: str | None = None
    """The value it was set to, or the one that was refused; null where the line names none."""
    line: str
    """The line, as logged."""

    def told(self) -> str:
        """The act in a few words, e.g. `block_size = 256`, `enable_prefix_caching off`."""
        match self.did:
            case Did.SET:
                return f"{self.setting} = {self.value}"
            case Did.OFF:
                return f"{self.setting} off"
            case Did.REFUSED:
                return f"{self.setting} {self.value or 'as asked for'} refused"
            case Did.WARNED:
                return f"{self.setting} not officially supported"
