"""Everything that checks may look at."""

from dataclasses import dataclass, field
from typing import Any

from linattn_verify.checks.result import Proof
from linattn_verify.configs.plan import Plan, Scenario
from linattn_verify.configs.profile import Profile
from linattn_verify.traces.outcome import Outcome
from linattn_verify.traces.store import Trace


@dataclass(frozen=True)
class EngineSettings:
    """One engine's settings, by engine argument: what was asked for and what it resolved."""

    requested: dict[str, Any]
    resolved: dict[str, Any]
    notes: tuple[str, ...] = ()
    """Lines of the engine's log that speak of a setting it changed or refused."""


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
    proofs: dict[str, tuple[Proof, ...]] = field(default_factory=dict)

    def scenario(self, name: str) -> Scenario:
        """The planned scenario of that name."""
        return next(s for s in self.plan.scenarios() if s.name == name)
