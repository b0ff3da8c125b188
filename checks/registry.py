"""The checks there are: one decorated definition in one file each."""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.result import CheckResult, Verdict, without_scenario
from linattn_verify.configs.errors import UsageError, unknown
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Need

Run = Callable[[Evidence], list[CheckResult]]


@dataclass(frozen=True)
class CheckSpec:
    """One check: the question, what it cannot see, and what it needs to be run."""

    name: str
    fault: str
    """The fault it exists for."""
    blind: str
    """What it cannot see."""
    kinds: tuple[Kind, ...]
    """Scenarios that it judges; their references are needed beside them."""
    legs: tuple[Leg, ...]
    """Legs that it reads, where the scenario has them."""
    tasks: bool
    """Whether it judges the scenarios of tasks, and none that serves the prompts."""
    needs: tuple[Need, ...]
    """What it needs beside scenarios."""
    coarse: bool
    """Whether it is known to miss most faults, and decides nothing where it has been shown to."""
    run: Run

    @property
    def about(self) -> str:
        """What it judges, in words."""
        every = "operator" if Need.KERNELS in self.needs else "task" if self.tasks else "engine"
        return ", ".join(self.kinds) or f"every {every}"


_SPECS: dict[str, CheckSpec] = {}


def check(
    *,
    name: str,
    fault: str,
    blind: str,
    kinds: Iterable[Kind] = (),
    legs: Iterable[Leg] = (),
    tasks: bool = False,
    needs: Iterable[Need] = (),
    coarse: bool = False,
) -> Callable[[Run], Run]:
    """Register the decorated function as a check; raises ValueError where the name is taken."""

    def register(run: Run) -> Run:
        if name in _SPECS:
            raise ValueError(f"check {name!r} is defined twice")
        _SPECS[name] = CheckSpec(
            name, fault, blind, tuple(kinds), tuple(legs), tasks, tuple(needs), coarse, run
        )
        return run

    return register


def all_checks() -> tuple[CheckSpec, ...]:
    """Every check of this package, by name."""
    _load()
    return tuple(_SPECS[name] for name in sorted(_SPECS))


def checks_named(only: Sequence[str] = (), skip: Sequence[str] = ()) -> tuple[CheckSpec, ...]:
    """The checks in `only` (all where it is empty) without those in `skip`; raises UsageError for
    a name that is none, and where nothing is left."""
    specs = {spec.name: spec for spec in all_checks()}
    for name in (*only, *skip):
        if name not in specs:
            raise unknown("check", name, specs)
    chosen = [s for s in specs.values() if (not only or s.name in only) and s.name not in skip]
    if not chosen:
        raise UsageError(f"No check is left to run. Known: {', '.join(specs)}.")
    return tuple(chosen)


def run_checks(specs: Iterable[CheckSpec], evidence: Evidence) -> list[CheckResult]:
    """Every check's answers. A check that raises is an ERROR of its own and stops no other."""
    return [result for spec in specs for result in _guarded(spec, evidence)]


def _guarded(spec: CheckSpec, evidence: Evidence) -> list[CheckResult]:
    try:
        return spec.run(evidence)
    except Exception as error:
        message = f"the check itself failed: {type(error).__name__}: {error}"
        return [without_scenario(spec.name, spec.about, Verdict.ERROR, message)]


def _load() -> None:
    """Import every module of this package, so that its definitions are registered."""
    package = importlib.import_module("linattn_verify.checks")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"linattn_verify.checks.{module.name}")
