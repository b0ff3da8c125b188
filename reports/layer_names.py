"""Layers by number, as messages count them."""

import re
from collections.abc import Iterable, Sequence

from linattn_verify.reports.document import Check


class LayerNames:
    """The layers that keep a state, in the model's order, numbered from 0."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(sorted(set(names), key=_natural))

    def number(self, name: str) -> int:
        """The number of the layer of that name."""
        return self.names.index(name)

    def __len__(self) -> int:
        return len(self.names)


def layer_names(checks: Sequence[Check]) -> LayerNames:
    """Of every layer that any of `checks` has measured."""
    return LayerNames(name for c in checks for errors in c.states for name in errors.by_layer)


def _natural(name: str) -> list[tuple[int, str]]:
    """Numbers within a name by their size: layers.2 before layers.10."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
