"""An operator that takes one token a sequence, seen as one over sequences: token after token."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from linattn_verify.engine.kernels.batch import Batch
from linattn_verify.engine.kernels.registry import Case
from linattn_verify.engine.kernels.sequences import Piece, SequenceKernel, case
from linattn_verify.engine.kernels.tolerance import Tolerance

if TYPE_CHECKING:
    from torch import Generator, Tensor


class Step(Protocol):
    """One token of each of N sequences."""

    def __call__(self, inputs: "tuple[Tensor, ...]", pool: "Tensor", slots: "Tensor") -> "Tensor":
        """The outputs [N, …] of inputs [N, …]; the states in `pool` move on in place."""


@dataclass(frozen=True)
class Stepped:
    """`over` describes inputs, states and the recurrence, which update and forward share."""

    over: SequenceKernel
    step: Step
    rounded_state: bool
    """Whether the state is rounded to a coarse dtype after every token."""

    @property
    def dtypes(self) -> str:
        """Activations and state, in words."""
        return self.over.dtypes

    def inputs(self, tokens: int, generator: "Generator") -> "tuple[Tensor, ...]":
        """What one sequence feeds it."""
        return self.over.inputs(tokens, generator)

    def state(self, generator: "Generator") -> "Tensor":
        """A state to go on from."""
        return self.over.state(generator)

    def pool(self, slots: int) -> "Tensor":
        """[slots, …], all NaN."""
        return self.over.pool(slots)

    def reference(self, inputs: "tuple[Tensor, ...]", state: "Tensor") -> "tuple[Tensor, Tensor]":
        """The same recurrence."""
        return self.over.reference(inputs, state)

    def tolerances(self, tokens: int) -> tuple[Tolerance, Tolerance]:
        """Those of a call over the tokens, and a rounding a token where the state is coarse."""
        output, state = self.over.tolerances(tokens)
        if not self.rounded_state:
            return output, state
        return tuple(  # type: ignore[return-value]
            Tolerance(t.dtype, t.roundings + tokens, t.terms, f"{t.steps}, the state at each token")
            for t in (output, state)
        )

    def call(self, inputs: "tuple[Tensor, ...]", pool: "Tensor", batch: Batch) -> "Tensor":
        """Every token in a call of its own, with all sequences that still have one."""
        import torch

        starts, slots = batch.starts.tolist(), batch.slots
        outputs: list[Tensor | None] = [None] * starts[-1]
        lengths = batch.starts.diff().tolist()
        for t in range(max(lengths)):
            there = [i for i, length in enumerate(lengths) if t < length]
            rows = [starts[i] + t for i in there]
            step = self.step(tuple(x[rows] for x in inputs), pool, slots[there])
            for row, output in zip(rows, step, strict=True):
                outputs[row] = output
        return torch.stack([o for o in outputs if o is not None])


def update_cases(over: SequenceKernel, stepped: Stepped, done: str) -> Iterator[Case]:
    """Splits of one sequence, unequal and many sequences, and a prefill (what `over` has `done`)
    that is handed over to updates."""
    for tokens, at in ((2, 1), (9, 1), (9, 8)):
        yield case(f"T={tokens} split at {at}", stepped, (Piece(tokens, at),))
    yield unequal_case(stepped)
    yield case("17 sequences of 2 tokens", stepped, tuple(Piece(2, 1) for _ in range(17)))
    handed = (Piece(69, 64), Piece(65, 63))
    yield case(f"2 sequences, 64 and 63 tokens {done}, then updates", over, handed, stepped)


def unequal_case(stepped: Stepped, may_refuse: bool = False) -> Case:
    """Three sequences that end one after the other."""
    pieces = (Piece(1, 1), Piece(2, 1), Piece(7, 4))
    return case("3 sequences of 1, 2, 7 tokens", stepped, pieces, may_refuse=may_refuse)
