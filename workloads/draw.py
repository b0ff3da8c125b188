"""Draws that come out the same on every machine and every Python."""

import random
import re
from collections.abc import Mapping, Sequence

_SLOT = re.compile(r"\{(\w+)\}")


class Draw:
    """Seeded draws of numbers and words.

    Only `random.Random.random` is used: it is the one method whose sequence Python promises to
    keep. `lexicon` maps a slot's name to its choices; a choice may hold `{slots}` itself.
    """

    def __init__(self, seed: int, lexicon: Mapping[str, Sequence[str]]) -> None:
        self._rng = random.Random(seed)
        self._lexicon = lexicon
        self._decks: dict[str, list[str]] = {}

    def number(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + int(self._rng.random() * (high - low + 1))

    def shuffled(self, items: Sequence[str]) -> list[str]:
        """The items in another order."""
        rest = list(items)
        return [rest.pop(self.number(0, len(rest) - 1)) for _ in range(len(rest))]

    def deal(self, slot: str) -> str:
        """One of the slot's choices, filled in; every choice comes before one comes again."""
        if not self._decks.get(slot):
            self._decks[slot] = self.shuffled(self._lexicon[slot])
        return self.fill(self._decks[slot].pop())

    def fill(self, template: str) -> str:
        """The template with each `{slot}` dealt, and `{d1}` to `{d4}` numbers of so many digits."""
        return _SLOT.sub(self._value, template)

    def _value(self, match: re.Match[str]) -> str:
        slot = match[1]
        if re.fullmatch(r"d\d", slot):
            digits = int(slot[1])
            return str(self.number(max(2, 10 ** (digits - 1)), 10**digits - 1))
        return self.deal(slot)
