"""The kernels there are: one decorated function each, which yields the cases of one path."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from linattn_verify.configs.kernels import OPERATORS
from linattn_verify.engine.kernels.faults import Injection
from linattn_verify.traces.kernels import Measure


@dataclass(frozen=True)
class Measured:
    """What a case found."""

    measures: tuple[Measure, ...]
    gb_per_s: float | None = None


@dataclass(frozen=True)
class Case:
    """One call, or several that belong together. `run` does all the work, and may die of it."""

    name: str
    run: Callable[[], Measured]
    called: bool = True
    """Whether the engine makes such calls."""
    dtypes: str = ""
    """The dtypes in `name`, where it has any."""
    may_refuse: bool = False
    """Whether an exception means UNSUPPORTED: a combination of dtypes that need not be there."""


Cases = Callable[[Injection], Iterator[Case]]
Answer = Callable[[], str | None]


@dataclass(frozen=True)
class Kernel:
    """One operator on one kernel path."""

    operator: str
    path: str
    missing: Answer
    """Why it cannot run here; None where it can."""
    engine_uses: Callable[[], bool]
    """The engine's own predicate: would it choose this path on this machine?"""
    cases: Cases


_KERNELS: dict[tuple[str, str], Kernel] = {}


def kernel(
    *, operator: str, path: str, missing: Answer, engine_uses: Callable[[], bool]
) -> Callable[[Cases], Cases]:
    """Register the decorated function; raises ValueError for an operator without a name in
    `configs.kernels`, and where operator and path are taken."""

    def register(cases: Cases) -> Cases:
        if operator not in OPERATORS:
            raise ValueError(f"operator {operator!r} is not in configs/kernels.py")
        if (operator, path) in _KERNELS:
            raise ValueError(f"{operator} on {path} is defined twice")
        _KERNELS[operator, path] = Kernel(operator, path, missing, engine_uses, cases)
        return cases

    return register


def all_kernels(only: tuple[str, ...] = ()) -> list[Kernel]:
    """Every kernel, or those of the operators named, in the order of `configs.kernels`."""
    package = importlib.import_module("linattn_verify.engine.kernels")
    for module in pkgutil.iter_modules(package.__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{package.__name__}.{module.name}")
    order = list(OPERATORS)
    chosen = [k for k in _KERNELS.values() if not only or k.operator in only]
    return sorted(chosen, key=lambda k: order.index(k.operator))
