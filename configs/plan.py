"""The plan: which engines are started and which scenarios each one serves."""

from enum import StrEnum

from linattn_verify.configs.legs import Leg
from linattn_verify.configs.profile import EngineValue
from linattn_verify.configs.strict import Strict


class Kind(StrEnum):
    """A way of serving the workload."""

    FULL = "full"
    """Every prompt prefilled in one step, prefix caching off: the reference."""
    CHUNKED = "chunked"
    """Prefix caching off, prompts cut by the token budget of a step."""
    COLD = "cold"
    """Prefix caching on, every request under a salt of its own: nothing to hit."""
    WARM = "warm"
    """The same requests again, served from the cache that `cold` filled."""


class Scenario(Strict):
    """One way of serving the workload, and the scenario that it is compared with."""

    name: str
    kind: Kind
    reference: str | None
    budget: int
    """max_num_batched_tokens of the scheduler while it runs."""
    legs: tuple[Leg, ...]
    after: str | None = None
    """The scenario that must have run before in the same engine."""
    task: str | None = None
    """The task whose requests it serves; None where it serves the prompts."""
    faults: tuple[str, ...] = ()
    """Faults injected on purpose (`linattn_verify.configs.faults`)."""


class EnginePlan(Strict):
    """One engine process and what it serves, in order."""

    name: str
    requested: dict[str, EngineValue]
    """Engine arguments, by the engine's own names."""
    scenarios: tuple[Scenario, ...]


class Plan(Strict):
    """Everything that a run starts, in order."""

    engines: tuple[EnginePlan, ...]

    def scenarios(self) -> tuple[Scenario, ...]:
        """Every scenario of every engine, in order."""
        return tuple(s for e in self.engines for s in e.scenarios)
