"""A batch of sequences, as the operators take it, and where their states lie."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Sequences one after the other; a slot of the pool holds the state of each."""

    starts: "Tensor"
    """[N + 1], int32: first token of each sequence, and the end."""
    slots: "Tensor"
    """[N], int32."""
    has_initial: "Tensor | None"
    """[N], bool: whether the slot holds a state to go on from; None: the argument is left out."""

    @classmethod
    def of(cls, lengths: Sequence[int], slots: Sequence[int], initial: Sequence[bool]) -> Self:
        """The batch of sequences of these lengths."""
        import torch

        starts = torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)
        return cls(starts, torch.tensor(slots, dtype=torch.int32), torch.tensor(initial))

    def with_initial(self, initial: Sequence[bool]) -> "Batch":
        """The same with another `has_initial`."""
        import torch

        return replace(self, has_initial=torch.tensor(initial))

    def without_initial(self) -> "Batch":
        """The same with the argument left out."""
        return replace(self, has_initial=None)
