"""The cases of a made operator, a running sum, right and with something wrong."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from torch import Generator, Tensor

from linattn_verify.engine.kernels.batch import Batch
from linattn_verify.engine.kernels.sequences import (
    SPLITS,
    TOKENS,
    Piece,
    batch_cases,
    initial_cases,
    measure,
    split_cases,
)
from linattn_verify.engine.kernels.stepped import Stepped
from linattn_verify.engine.kernels.tolerance import Tolerance
from linattn_verify.traces.kernels import Measure

Inputs = tuple[Tensor, ...]
Call = Callable[[Inputs, Tensor, Batch], Tensor]


def running_sum(inputs: Inputs, pool: Tensor, batch: Batch) -> Tensor:
    outputs = torch.empty_like(inputs[0])
    assert batch.has_initial is not None
    pairs = zip(batch.slots.tolist(), batch.has_initial.tolist(), strict=True)
    for i, (slot, initial) in enumerate(pairs):
        span = slice(*batch.starts[i : i + 2].tolist())
        outputs[span] = inputs[0][span].cumsum(0) + (pool[slot] if initial else 0)
        pool[slot] = outputs[span][-1]
    return outputs


@dataclass(frozen=True)
class Sum:
    """y[t] = x[0] + … + x[t], and what was summed before."""

    forward: Call = running_sum
    dtypes: str = "float32"

    def inputs(self, tokens: int, generator: Generator) -> Inputs:
        return (torch.rand(tokens, 3, generator=generator),)

    def state(self, generator: Generator) -> Tensor:
        return torch.rand(3, generator=generator) + 5

    def pool(self, slots: int) -> Tensor:
        return torch.full((slots, 3), torch.nan)

    def call(self, inputs: Inputs, pool: Tensor, batch: Batch) -> Tensor:
        return self.forward(inputs, pool, batch)

    def reference(self, inputs: Inputs, state: Tensor) -> tuple[Tensor, Tensor]:
        outputs = inputs[0].double().cumsum(0) + state.double()
        return outputs, outputs[-1]

    def tolerances(self, tokens: int) -> tuple[Tolerance, Tolerance]:
        return Tolerance(torch.float32, 1, tokens), Tolerance(torch.float32, 1, tokens)


def every(kernel: Sum) -> dict[str, tuple[Measure, ...]]:
    cases = [*split_cases(kernel), *batch_cases(kernel), *initial_cases(kernel)]
    return {case.name: case.run().measures for case in cases}


def broken(forward: Call) -> dict[str, set[str]]:
    """By case what does not hold."""
    found = {name: {m.what for m in ms if not m.holds} for name, ms in every(Sum(forward)).items()}
    return {name: what for name, what in found.items() if what}


def test_a_right_operator_holds_in_every_case() -> None:
    found = every(Sum())
    assert len(found) == len(SPLITS) + 1 + 1 + 2
    assert all(m.holds for ms in found.values() for m in ms)
    assert broken(running_sum) == {}


def test_every_split_that_the_chunk_length_and_the_width_suggest_is_there() -> None:
    splits = [c.name for c in split_cases(Sum()) if c.name.startswith(f"T={TOKENS} ")]
    assert splits == [f"T=129 split at {s}, float32" for s in (1, 2, 3, 63, 64, 65, 128)]


def test_one_call_and_two_are_held_against_the_reference_and_each_other() -> None:
    measures = measure(Sum(), (Piece(9, 4),), Sum())
    assert [m.what for m in measures] == [
        *("output", "state", "other slots", "split output", "split state", "split other slots"),
        *("output apart", "state apart"),
    ]


def test_a_state_that_is_ignored_shows_wherever_one_is_given() -> None:
    def forgets(inputs: Inputs, pool: Tensor, batch: Batch) -> Tensor:
        return running_sum(inputs, pool, batch.with_initial([False] * len(batch.slots)))

    found = broken(forgets)
    assert all("split at" in name or "states for 3" in name for name in found)
    assert found["T=129 split at 64, float32"] >= {"output", "split state", "output apart"}


def test_a_state_read_where_none_is_given_shows_as_not_finite() -> None:
    def trusts(inputs: Inputs, pool: Tensor, batch: Batch) -> Tensor:
        return running_sum(inputs, pool, batch.with_initial([True] * len(batch.slots)))

    name = "T=129, has_initial_state false over NaN, float32"
    assert broken(trusts)[name] == {"output", "state"}
    (output, *_) = every(Sum(trusts))[name]
    assert (output.error, output.note) == (None, "387 of 387 values are not finite")


def test_a_state_lost_in_the_second_call_alone_shows_in_the_split() -> None:
    """The fault that one call never has: chunked prefill's."""

    def loses(inputs: Inputs, pool: Tensor, batch: Batch) -> Tensor:
        if len(inputs[0]) == TOKENS - 63:
            pool[batch.slots.long()] = 0
        return running_sum(inputs, pool, batch)

    assert broken(loses) == {
        "T=129 split at 63, float32": {
            *("split output", "split state", "output apart", "state apart")
        }
    }


def test_a_neighbours_slot_that_is_written_shows() -> None:
    def spills(inputs: Inputs, pool: Tensor, batch: Batch) -> Tensor:
        pool[0] = 0
        return running_sum(inputs, pool, batch)

    assert set.union(*broken(spills).values()) == {"other slots", "split other slots"}


def test_an_operator_of_one_token_is_stepped_over_unequal_sequences() -> None:
    sizes = []

    def step(inputs: Inputs, pool: Tensor, slots: Tensor) -> Tensor:
        sizes.append(len(slots))
        pool[slots.long()] += inputs[0]
        return pool[slots.long()].clone()

    stepped = Stepped(Sum(), step, rounded_state=False)
    pieces = (Piece(1, 1), Piece(2, 2), Piece(4, 4))
    assert all(m.holds for m in measure(stepped, pieces, stepped))
    assert sizes == [3, 2, 1, 1]


@pytest.mark.parametrize(("rounded", "roundings"), [(False, 1), (True, 1 + 9)])
def test_a_state_rounded_at_each_token_has_a_rounding_a_token(
    rounded: bool, roundings: int
) -> None:
    stepped = Stepped(Sum(), lambda *_: torch.empty(0), rounded)
    assert [t.roundings for t in stepped.tolerances(9)] == [roundings, roundings]
