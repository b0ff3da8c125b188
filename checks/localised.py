"""What is known of a fault: where, which class, the smallest case, and how to show it."""

from linattn_verify.checks.fault_class import FaultClass
from linattn_verify.checks.result import Parted
from linattn_verify.configs.strict import Strict


class ClassedScenario(Strict):
    """One scenario that fails, and the class of its fault."""

    scenario: str
    """Its name."""
    fault_class: FaultClass
    """The class of the fault, which says where in an engine to look."""
    because: str
    """What the class rests on, in a sentence."""


class Smallest(Strict):
    """The smallest case that was found to fail, and what was learnt on the way."""

    reproduced: bool | None
    """Whether the whole case failed again by itself; null: there was no time to try."""
    prompts: tuple[str, ...]
    """Names of the prompts that it takes."""
    prompt_tokens: tuple[int, ...]
    """Tokens of each, as far as they are needed."""
    budget: int
    """Most tokens of a step."""
    alone: bool | None
    """Whether one request fails by itself; false where only a batch does; null: not known."""
    largest_budget: int | None
    """The largest budget tried that fails; null where budgets play no part, or were not tried."""
    passing_budget: int | None
    """The smallest above it that was tried and passes; null where every one fails."""
    first_edge: int | None
    """Tokens of the first prompt before the first edge after which something is wrong; null where
    nothing is wrong after an edge."""
    trials: int
    """Cases tried, each on the engine."""
    finished: bool
    """Whether everything was tried before time was up."""


class Localised(Strict):
    """Where a fault is."""

    scenario: str
    """The scenario that was looked into."""
    reference: str | None
    """What it was compared with."""
    fault_class: FaultClass
    """The class of the fault, which says where in an engine to look."""
    because: str
    """What the class rests on, in a sentence."""
    parted: Parted | None
    """The first layer and state that are wrong; null where none was seen to be."""
    smallest: Smallest
    """The smallest case that fails."""
    by_output: bool
    """Whether log-probabilities show it; else states alone do, and the script may show nothing."""
    others: tuple[ClassedScenario, ...]
    """Every scenario that fails, this one too."""
    repro: str | None
    """The script for plain vLLM, relative to the run's folder; null where there can be none."""
