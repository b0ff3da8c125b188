"""The plan: which engines are started and which scenarios each one serves."""

from enum import StrEnum

from linattn_verify.configs.legs import Leg
from linattn_verify.configs.profile import EngineValue
from linattn_verify.configs.strict import Strict


class Kind(StrEnum):
    """A way of serving the workload."""

    FULL = "full"
    """Every prompt prefilled in one step, prefix caching off: the reference."""
    AGAIN = "again"
    """The reference again, in another order and other batches: what its numbers differ by where
    nothing is wrong."""
    CHUNKED = "chunked"
    """Prefix caching off, prompts cut by the token budget of a step."""
    COLD = "cold"
    """Prefix caching on, every request under a salt of its own: nothing to hit."""
    WARM = "warm"
    """The same requests again, served from the cache that `cold` filled."""
    PREFIX = "prefix"
    """Prefixes of the prompts, each prefilled in one step, caching off: what states are compared
    with."""


_FOR_ONE = (Kind.AGAIN, Kind.PREFIX)


class Memory(StrEnum):
    """What the cache tensors hold when a scenario starts."""

    ZERO = "zero"
    NAN = "nan"
    FINITE = "finite"
    """Numbers of moderate size: what a former owner of the same kind may have left."""


class Need(StrEnum):
    """What a check asks of a run beside scenarios."""

    STATES = "states"
    """The states that layers hold where chunks and blocks end."""
    KERNELS = "kernels"
    """The engine's operators, measured without a model: nothing is served."""
    HYGIENE = "hygiene"
    """Every scenario once more, on memory that nobody may read, and in a small pool."""
    FLOOR = "floor"
    """The reference once more, where the profile asks for contrasts."""


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
    states: bool = False
    """Whether the states of some requests are read."""
    memory: Memory | None = None
    """What the cache tensors are filled with before it starts; None: what they happen to hold."""
    twin: str | None = None
    """The scenario that it repeats, bit for bit, on memory that nobody may read."""
    tight: bool = False
    """Few requests at a time, in a pool so small that blocks are used over and over."""
    faults: tuple[str, ...] = ()
    """Faults injected on purpose, `NAME` or `NAME@10%` (`linattn_verify.configs.faults`)."""
    mutates: str | None = None
    """The scenario that it repeats with a fault put in, to show that checks would see it."""

    @property
    def aside(self) -> bool:
        """Whether it serves one check alone, which asks something else than how outputs compare."""
        for_one = self.tight or self.twin is not None or self.kind in _FOR_ONE
        return for_one or self.mutates is not None


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
