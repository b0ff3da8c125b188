"""The cases of an operator that carries a state: one call against two, over batches and slots.

Every unused slot, and every slot whose state must not be read, holds NaN: a leak shows at once,
where memory that happens to be zero would look like a right initial state.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from linattn_verify.engine.kernels.batch import Batch
from linattn_verify.engine.kernels.registry import Case, Measured
from linattn_verify.engine.kernels.tolerance import Tolerance, compared, untouched
from linattn_verify.traces.kernels import Measure

if TYPE_CHECKING:
    from torch import Generator, Tensor

_SEED = 20260
TOKENS = 129
SPLITS = (1, 2, 3, 63, 64, 65, 128)
"""1 and T-1; below the convolution's width; around the chunk length of 64."""


class SequenceKernel(Protocol):
    """An operator over a batch of sequences. Tensors of a sequence have tokens first."""

    @property
    def dtypes(self) -> str:
        """Activations and state, in words."""

    def inputs(self, tokens: int, generator: "Generator") -> "tuple[Tensor, ...]":
        """What one sequence feeds it, each [T, …]."""

    def state(self, generator: "Generator") -> "Tensor":
        """A state to go on from, as a slot holds it."""

    def pool(self, slots: int) -> "Tensor":
        """[slots, …], all NaN, in the engine's memory layout."""

    def call(self, inputs: "tuple[Tensor, ...]", pool: "Tensor", batch: Batch) -> "Tensor":
        """The outputs [T, …]; the states in `pool` move on in place."""

    def reference(self, inputs: "tuple[Tensor, ...]", state: "Tensor") -> "tuple[Tensor, Tensor]":
        """Outputs and last state of one sequence in float64."""

    def tolerances(self, tokens: int) -> tuple[Tolerance, Tolerance]:
        """Of outputs and of the state."""


@dataclass(frozen=True)
class Piece:
    """One sequence of a case: its tokens, where it is split, whether a state is given."""

    tokens: int
    split: int = 0
    """Tokens of the first call; 0: the sequence is not in it; all: not in the second."""
    initial: bool = True


@dataclass(frozen=True)
class _Made:
    """What a case is fed: per sequence the inputs, the state to go on from, and its slot."""

    inputs: "tuple[tuple[Tensor, ...], ...]"
    states: "tuple[Tensor, ...]"
    slots: tuple[int, ...]
    pool: "Tensor"


def split_cases(kernel: SequenceKernel, then: SequenceKernel | None = None) -> Iterator[Case]:
    """One sequence in two calls, for every split; `then` makes the second call."""
    for at in SPLITS:
        yield case(f"T={TOKENS} split at {at}", kernel, (Piece(TOKENS, at),), then=then)
    yield case("T=2 split at 1", kernel, (Piece(2, 1),), then=then)


def batch_cases(kernel: SequenceKernel, may_refuse: bool = False) -> Iterator[Case]:
    """Unequal sequences together, some with a state; each in one call and in two."""
    pieces = (
        Piece(1, 1),
        Piece(3, 2, initial=False),
        Piece(64, 63),
        Piece(65, 64, initial=False),
        Piece(130, 65),
    )
    words = "5 sequences of 1, 3, 64, 65, 130 tokens, states for 3, each split"
    yield case(words, kernel, pieces, may_refuse=may_refuse)


def initial_cases(kernel: SequenceKernel) -> Iterator[Case]:
    """A state that is there and must not be read."""
    for tokens in (2, TOKENS):
        fresh = (Piece(tokens, tokens, initial=False),)
        yield case(f"T={tokens}, has_initial_state false over NaN", kernel, fresh)


def case(
    words: str,
    kernel: SequenceKernel,
    pieces: Sequence[Piece],
    then: SequenceKernel | None = None,
    may_refuse: bool = False,
) -> Case:
    """The case that these pieces make."""

    def run() -> Measured:
        return Measured(measure(kernel, pieces, then or kernel))

    return Case(f"{words}, {kernel.dtypes}", run, dtypes=kernel.dtypes, may_refuse=may_refuse)


def measure(
    kernel: SequenceKernel, pieces: Sequence[Piece], then: SequenceKernel
) -> tuple[Measure, ...]:
    """One call over every piece, and where one is split two calls, against the reference."""
    made = make(kernel, pieces)
    exact = [kernel.reference(i, s) for i, s in zip(made.inputs, made.states, strict=True)]
    whole = made.pool.clone()
    outputs = _call(kernel, made, whole, pieces, [(0, p.tokens) for p in pieces])
    found = list(_against(kernel, made, exact, outputs, whole, ""))
    if any(0 < p.split < p.tokens for p in pieces):
        halves = made.pool.clone()
        first = _call(kernel, made, halves, pieces, [(0, p.split) for p in pieces])
        second = _call(then, made, halves, pieces, [(p.split, p.tokens) for p in pieces])
        joined = [_joined(a, b) for a, b in zip(first, second, strict=True)]
        found += _against(kernel, made, exact, joined, halves, "split ")
        found += _apart(kernel, made, outputs, whole, joined, halves)
    return tuple(found)


def make(kernel: SequenceKernel, pieces: Sequence[Piece]) -> _Made:
    """Inputs, states and a pool with the given states in it, the same on every call."""
    import torch

    generator = torch.Generator().manual_seed(_SEED)
    inputs = tuple(kernel.inputs(p.tokens, generator) for p in pieces)
    given = [kernel.state(generator) for _ in pieces]
    # Out of order and with gaps, as an engine's block table has them; slot 0 is the null block.
    slots = tuple(1 + (3 * i + 2) % (3 * len(pieces) + 1) for i in range(len(pieces)))
    pool = kernel.pool(3 * len(pieces) + 3)
    for piece, state, slot in zip(pieces, given, slots, strict=True):
        if piece.initial:
            pool[slot] = state
    states = (s if p.initial else torch.zeros_like(s) for p, s in zip(pieces, given, strict=True))
    return _Made(inputs, tuple(states), slots, pool)


def _call(
    kernel: SequenceKernel,
    made: _Made,
    pool: "Tensor",
    pieces: Sequence[Piece],
    ranges: Sequence[tuple[int, int]],
) -> "list[Tensor | None]":
    """One call over the tokens `ranges` of every sequence; None for one without tokens there."""
    import torch

    there = [i for i, (begin, end) in enumerate(ranges) if end > begin]
    parts = [tuple(x[slice(*ranges[i])] for x in made.inputs[i]) for i in there]
    lengths = [ranges[i][1] - ranges[i][0] for i in there]
    # What a first call has begun goes on in the second.
    initial = [pieces[i].initial or ranges[i][0] > 0 for i in there]
    batch = Batch.of(lengths, [made.slots[i] for i in there], initial)
    together = tuple(torch.cat(x) for x in zip(*parts, strict=True))
    outputs: list[Tensor | None] = [None] * len(ranges)
    for i, part in zip(there, kernel.call(together, pool, batch).split(lengths), strict=True):
        outputs[i] = part
    return outputs


def _against(
    kernel: SequenceKernel,
    made: _Made,
    exact: "list[tuple[Tensor, Tensor]]",
    outputs: "Sequence[Tensor | None]",
    pool: "Tensor",
    prefix: str,
) -> list[Measure]:
    """Outputs and states against the reference, the worst sequence of each, and other slots."""
    measures: dict[str, list[Measure]] = {}
    for i, (output, state) in enumerate(exact):
        of_output, of_state = kernel.tolerances(len(output))
        got = outputs[i]
        assert got is not None  # every piece has a token
        pairs = (
            ("output", got, output, of_output),
            ("state", pool[made.slots[i]], state, of_state),
        )
        for what, ours, right, tolerance in pairs:
            measures.setdefault(what, []).append(compared(prefix + what, ours, right, tolerance))
    others = [slot for slot in range(len(pool)) if slot not in made.slots]
    outside = untouched(f"{prefix}other slots", made.pool[others], pool[others])
    return [*(worst(found) for found in measures.values()), outside]


def _apart(
    kernel: SequenceKernel,
    made: _Made,
    outputs: "Sequence[Tensor | None]",
    whole: "Tensor",
    joined: "Sequence[Tensor | None]",
    halves: "Tensor",
) -> list[Measure]:
    """Two calls against one. Each may round its own way, so the limit is the reference's."""
    found: dict[str, list[Measure]] = {}
    for slot, one, two in zip(made.slots, outputs, joined, strict=True):
        assert one is not None and two is not None
        of_output, of_state = kernel.tolerances(len(one))
        pairs = (
            ("output apart", two, one, of_output),
            ("state apart", halves[slot], whole[slot], of_state),
        )
        for what, left, right, tolerance in pairs:
            found.setdefault(what, []).append(compared(what, left, right, tolerance))
    return [worst(measures) for measures in found.values()]


def worst(measures: Sequence[Measure]) -> Measure:
    """The one furthest beyond its limit, or nearest to it; what is not finite comes first."""
    return max(measures, key=lambda m: float("inf") if m.error is None else m.error - m.limit)


def _joined(first: "Tensor | None", second: "Tensor | None") -> "Tensor | None":
    import torch

    parts = [part for part in (first, second) if part is not None]
    return torch.cat(parts) if parts else None
