"""Faults around real operators: each changes the call or what it leaves, and counts its strikes."""

import os
import signal
from collections.abc import Callable
from typing import Any

from linattn_verify.configs.kernels import KERNEL_FAULTS

Call = Callable[..., Any]
_CALLS_BEFORE_CRASH = 2


class Injection:
    """The fault of this run, or none. Who counts its strikes is told of each before anything
    happens: a crash leaves nobody who could tell."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self._calls = 0
        self._struck: Callable[[], None] = lambda: None

    def on_strike(self, struck: Callable[[], None]) -> None:
        """Call `struck` at each strike from now on."""
        self._struck = struck

    def around(self, operator: str, call: Call) -> Call:
        """`call`, or `call` with the fault around it where the fault is about this operator."""
        if not self.fault or KERNEL_FAULTS[self.fault].operator != operator:
            return call
        faulty: Callable[[Call, Injection], Call] = _FAULTS[self.fault]
        return faulty(call, self)

    def strike(self) -> None:
        """Tell of one strike."""
        self._struck()

    def count(self) -> int:
        """Count one call; the number of calls before it."""
        self._calls += 1
        return self._calls - 1


def _has_initial_state_ignored(call: Call, injection: Injection) -> Call:
    def faulty(inputs: Any, pool: Any, batch: Any) -> Any:
        if batch.has_initial is None or not bool(batch.has_initial.any()):
            return call(inputs, pool, batch)
        injection.strike()
        return call(inputs, pool, batch.with_initial([False] * len(batch.slots)))

    return faulty


def _delta_state_decayed(call: Call, injection: Injection) -> Call:
    def faulty(inputs: Any, pool: Any, batch: Any) -> Any:
        injection.strike()
        for slot in batch.slots.tolist():
            pool[slot] *= 0.9
        return call(inputs, pool, batch)

    return faulty


def _crash_in_update(call: Call, injection: Injection) -> Call:
    def faulty(inputs: Any, pool: Any, slots: Any) -> Any:
        if injection.count() >= _CALLS_BEFORE_CRASH:
            injection.strike()
            os.kill(os.getpid(), signal.SIGSEGV)
        return call(inputs, pool, slots)

    return faulty


def _copy_drops_last_item(call: Call, injection: Injection) -> Call:
    def faulty(sources: Any, destinations: Any, sizes: Any) -> Any:
        injection.strike()
        return call(sources[:-1], destinations[:-1], sizes[:-1])

    return faulty


_FAULTS: dict[str, Callable[[Call, Injection], Call]] = {
    "has_initial_state_ignored": _has_initial_state_ignored,
    "delta_state_decayed": _delta_state_decayed,
    "crash_in_update": _crash_in_update,
    "copy_drops_last_item": _copy_drops_last_item,
}
