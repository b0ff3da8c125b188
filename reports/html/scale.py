"""Where a number stands in a drawing."""

from dataclasses import dataclass
from math import ceil, floor, log10


@dataclass(frozen=True)
class Linear:
    """Numbers from `low` to `high` on the drawing's units from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The place of `value`; what is beyond an end of the axis stands at that end."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.0
        return round(self.start + min(max(share, 0.0), 1.0) * (self.end - self.start), 1)


@dataclass(frozen=True)
class Logarithmic:
    """Likewise, by powers of ten; 0 stands at the start."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The place of `value`; what is beyond an end of the axis stands at that end."""
        share = log10(max(value, self.low) / self.low) / log10(self.high / self.low)
        return round(self.start + min(share, 1.0) * (self.end - self.start), 1)

    def ticks(self, every: int = 1) -> list[float]:
        """The powers of ten on the axis, every one or fewer of them."""
        first, last = ceil(log10(self.low) - 1e-9), floor(log10(self.high) + 1e-9)
        return [10.0**power for power in range(first, last + 1, every)]


def heat(ratio: float) -> float:
    """How much colour a value at `ratio` of its limit gets: none at a hundredth, all at 1."""
    return 0.0 if ratio <= 0 else round(min(max((log10(ratio) + 2) / 2, 0.0), 1.0), 2)
