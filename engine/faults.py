"""Faults put in on purpose, to see whether a check turns red. Each counts how often it fired.

A fault sits between the model runner and the model: the metadata and the state tensors that the
layers are about to read are the engine's own, whatever the layer's kind.
"""

import os
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from linattn_verify.configs.faults import FAULTS
from linattn_verify.engine.steps import Held, Step
from linattn_verify.traces.states import Part


class Faults:
    """The faults that are active in this worker, none unless told so."""

    def __init__(self, runner: Any) -> None:
        self.names: tuple[str, ...] = ()
        self.fired: dict[str, int] = {}
        """How often each active fault has fired since it was activated."""
        self._between(runner)

    @property
    def active(self) -> bool:
        return bool(self.names)

    def activate(self, names: Sequence[str]) -> None:
        """Make the faults named, and no others, active."""
        self.names = tuple(names)
        self.fired = dict.fromkeys(names, 0)

    def scheduled(self, step: Step) -> None: ...

    def before(self, step: Step) -> None:
        for name in self.names:
            if name in _BEFORE_FORWARD:
                self.fired[name] += _BEFORE_FORWARD[name](step)

    def after(self, step: Step) -> None: ...

    def _between(self, runner: Any) -> None:
        """Step in where the runner calls others than the model."""
        compute_logits, zero_block_ids = runner.model.compute_logits, runner._zero_block_ids

        def logits_of(hidden: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            logits = compute_logits(hidden, *args, **kwargs)
            if "logits_swapped" in self.names and _one_each(logits, runner):
                self.fired["logits_swapped"] += 1
                logits = logits.roll(1, dims=0)
            return logits

        def zero(block_ids: list[int]) -> None:
            if "blocks_not_zeroed" in self.names:
                self.fired["blocks_not_zeroed"] += 1
            else:
                zero_block_ids(block_ids)

        runner.model.compute_logits, runner._zero_block_ids = logits_of, zero


def _one_each(logits: torch.Tensor, runner: Any) -> bool:
    """Whether these are the logits of a step's requests, one row each, and more than one."""
    return 2 <= len(logits) == len(runner.input_batch.req_ids)


def _continued(step: Step) -> list[Held]:
    """Every (layer, request) of this step whose prefill goes on from a state."""
    return [held for held in step.held if held.continued]


def _zero(*parts: Part, where: Callable[[Held, Step], bool] = lambda held, step: True) -> Any:
    """Zero those parts, or all, of the states of continued prefills."""

    def act(step: Step) -> int:
        held = [one for one in _continued(step) if where(one, step) and one.states(*parts)]
        for one in held:
            for _, state in one.states(*parts):
                state.zero_()
        return len(held)

    return act


def _last_layer(held: Held, step: Step) -> bool:
    return held.layer is step.layers[-1]


def _restored(held: Held, step: Step) -> bool:
    return held.restored


def _neighbour(step: Step) -> int:
    """Give a restored state the contents of the block beside its own."""
    hit = [held for held in _continued(step) if held.restored]
    for held in hit:
        for state in held.layer.states:
            state[held.slot] = state[held.slot - 1].clone()
    return len(hit)


def _flags(value: bool, where: Callable[[Held], bool]) -> Callable[[Step], int]:
    """Tell the layers that prefills have, or have no, initial state."""

    def act(step: Step) -> int:
        hit = [held for held in step.held if where(held)]
        if hit:
            for metadata in step.metadata():
                for name in ("has_initial_state", "has_initial_states_p"):
                    flags = getattr(metadata, name, None)
                    if flags is not None:
                        flags.fill_(value)
        return len(hit)

    return act


def _poison(step: Step) -> int:
    for held in _continued(step):
        held.states()[-1][1].fill_(float("nan"))
    return len(_continued(step))


def _crash(step: Step) -> int:
    if _continued(step):
        os.kill(os.getpid(), signal.SIGSEGV)
    return 0


def _raise(step: Step) -> int:
    if _continued(step):
        raise RuntimeError("fault 'raise_at_edges', injected on purpose")
    return 0


def _hang(step: Step) -> int:
    if _continued(step):
        time.sleep(3600)
    return 0


_BEFORE_FORWARD: dict[str, Callable[[Step], int]] = {
    "state_lost_at_edges": _zero(),
    "conv_state_lost_at_edges": _zero(Part.CONVOLUTION),
    "recurrent_state_lost_at_edges": _zero(Part.RECURRENT),
    "one_layer_state_lost_at_edges": _zero(where=_last_layer),
    "has_initial_state_ignored": _flags(False, lambda held: held.continued),
    "restored_state_lost": _zero(where=_restored),
    "restored_state_off_by_one_block": _neighbour,
    "unwritten_state_read": _flags(True, lambda held: held.start == 0),
    "nan_state_at_edges": _poison,
    "crash_at_edges": _crash,
    "raise_at_edges": _raise,
    "hang_at_edges": _hang,
}
assert set(_BEFORE_FORWARD) | {"logits_swapped", "blocks_not_zeroed"} == set(FAULTS)
