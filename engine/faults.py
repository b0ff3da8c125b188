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
from vllm.v1.worker import mamba_utils

from linattn_verify.configs.faults import FAULTS, Injected, parse_fault
from linattn_verify.engine.state_faults import STATE_FAULTS, Due, StateFault
from linattn_verify.engine.steps import Step

_LOGITS, _ZEROING, _COPY = "logits_swapped", "blocks_not_zeroed", "copy_drops_last_item"
"""Faults that step in where the runner calls others than the model."""


class Faults:
    """The faults that are active in this worker, none unless told so."""

    def __init__(self, runner: Any) -> None:
        self.names: tuple[str, ...] = ()
        """As they were given, doses and all."""
        self.fired: dict[str, int] = {}
        """How often each active fault has fired since it was activated."""
        self._injected: dict[str, tuple[str, Injected]] = {}
        """By the fault's own name: as it was given, and what that means."""
        self._states: dict[str, StateFault] = {}
        self._due: dict[str, Due] = {}
        self._between(runner)

    @property
    def active(self) -> bool:
        return bool(self.names)

    def activate(self, names: Sequence[str]) -> None:
        """Make the faults named, and no others, active."""
        self.names = tuple(names)
        self.fired = dict.fromkeys(names, 0)
        self._injected = {one.name: (n, one) for n in names if (one := parse_fault(n))}
        self._due = {name: Due(one.dose) for name, (_, one) in self._injected.items()}
        self._states = {
            given: STATE_FAULTS[name](one.dose)
            for name, (given, one) in self._injected.items()
            if name in STATE_FAULTS
        }

    def scheduled(self, step: Step) -> None: ...

    def before(self, step: Step) -> None:
        for given, fault in self._states.items():
            self.fired[given] += fault.before(step)
        for name, strike in _PROCESS.items():
            if name in self._injected and any(held.continued for held in step.held):
                strike()

    def after(self, step: Step) -> None:
        for given, fault in self._states.items():
            self.fired[given] += fault.after(step)

    def _strikes(self, name: str) -> bool:
        """Whether that fault is active and due; counts it."""
        if name not in self._injected or not self._due[name]():
            return False
        self.fired[self._injected[name][0]] += 1
        return True

    def _between(self, runner: Any) -> None:
        """Step in where the runner calls others than the model."""
        compute_logits, zero_block_ids = runner.model.compute_logits, runner._zero_block_ids
        copy_blocks = mamba_utils.do_mamba_copy_block

        def logits_of(hidden: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            logits = compute_logits(hidden, *args, **kwargs)
            if _LOGITS in self._injected and _one_each(logits, runner):
                given, one = self._injected[_LOGITS]
                self.fired[given] += 1
                logits = torch.lerp(logits.float(), logits.float().roll(1, dims=0), one.dose)
            return logits

        def zero(block_ids: list[int]) -> None:
            if not self._strikes(_ZEROING):
                zero_block_ids(block_ids)

        def copy(buffers: Any) -> None:
            if buffers.offset and self._strikes(_COPY):
                buffers.offset -= 1
            copy_blocks(buffers)

        runner.model.compute_logits, runner._zero_block_ids = logits_of, zero
        mamba_utils.do_mamba_copy_block = copy


def _one_each(logits: torch.Tensor, runner: Any) -> bool:
    """Whether these are the logits of a step's requests, one row each, and more than one."""
    return 2 <= len(logits) == len(runner.input_batch.req_ids)


def _crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _raise() -> None:
    raise RuntimeError("fault 'raise_at_edges', injected on purpose")


def _hang() -> None:
    time.sleep(3600)


_PROCESS: dict[str, Callable[[], None]] = {
    "crash_at_edges": _crash,
    "raise_at_edges": _raise,
    "hang_at_edges": _hang,
}
"""Faults that end or stop the process at the first continued prefill."""
assert {*STATE_FAULTS, *_PROCESS, _LOGITS, _ZEROING, _COPY} == set(FAULTS)
