"""Everything that checks may look at."""

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from linattn_verify.checks.result import Proof
from linattn_verify.configs.plan import Plan, Scenario
from linattn_verify.configs.profile import Profile
from linattn_verify.traces.guard import Guard
from linattn_verify.traces.kernels import KernelEvidence
from linattn_verify.traces.observed import Observed
from linattn_verify.traces.outcome import Outcome
from linattn_verify.traces.store import Trace


@dataclass(frozen=True)
class EngineSettings:
    """One engine's settings, by engine argument: what was asked for and what it resolved."""

    requested: dict[str, Any]
    resolved: dict[str, Any]
    notes: tuple[str, ...] = ()
    """Lines of the engine's log that speak of a setting it changed or refused."""
    guards: tuple[Guard, ...] = ()
    """What those lines say of which setting, in the order of the log."""
    observed: Observed | None = None
    """What the loaded engine has, beside what its configuration says."""


@dataclass(frozen=True)
class Evidence:
    """A run's evidence: outcomes and traces by scenario, settings by engine."""

    plan: Plan
    profile: Profile
    prompt_names: tuple[str, ...]
    outcomes: dict[str, Outcome]
    traces: dict[str, Trace]
    engines: dict[str, EngineSettings]
    experts: bool = False
    """Whether the model is a mixture of experts."""
    linear_attention: bool | None = None
    """Whether any layer keeps a state; None where no engine could say."""
    states: dict[str, pd.DataFrame] = field(default_factory=dict)
    """By scenario: the rows of `traces.states.STATES`."""
    task_requests: dict[str, int] = field(default_factory=dict)
    """Number of requests by task."""
    scores: dict[str, pd.DataFrame] = field(default_factory=dict)
    """By scenario of a task: the rows of `traces.schema.SCORES`."""
    min_score: float | None = None
    """Share of right answers that every scenario of a task must reach."""
    proofs: dict[str, tuple[Proof, ...]] = field(default_factory=dict)
    kernels: KernelEvidence | None = None
    """What was measured of the engine's operators; None where they were not called."""

    focus: frozenset[str] | None = None
    """The scenarios that are asked about; None: all."""

    def judged(self) -> tuple[Scenario, ...]:
        """The planned scenarios that checks are asked about, in order; mutations are not."""
        planned = (s for s in self.plan.scenarios() if s.mutates is None)
        return tuple(s for s in planned if self.focus is None or s.name in self.focus)

    def request_names(self, scenario: Scenario) -> tuple[str, ...]:
        """What the requests of a scenario are called, in their order."""
        if scenario.task is None:
            return self.prompt_names
        return tuple(f"request {i}" for i in range(self.task_requests.get(scenario.task, 0)))

    def scenario(self, name: str) -> Scenario:
        """The planned scenario of that name."""
        return next(s for s in self.plan.scenarios() if s.name == name)
