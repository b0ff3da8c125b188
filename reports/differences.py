"""How far scenarios are from their references, as pictures need it: by size, and by position."""

from pydantic import ConfigDict

from linattn_verify.configs.strict import Strict

BOUNDS = tuple(2.0 ** (half / 2) for half in range(-28, 11))
"""Sizes that part the classes of a distribution, nats: two to a doubling, from 6e-5 to 32."""
WINDOWS = 160
"""Most windows of a curve."""
CURVES = 16
"""Most curves of a scenario: those of the prompts that differ most."""


class Part(Strict):
    """A part of the report; the text under a field is its description in the JSON Schema."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Distribution(Part):
    """How many positions of a scenario differ from the reference by how much."""

    scenario: str
    """The scenario."""
    reference: str
    """What it is compared with."""
    leg: str
    """What is compared: prompt, decode or cut."""
    compared: int
    """Positions compared: the sum of `counts`."""
    exact: int
    """Those of them that do not differ at all; they are in the first class, too."""
    counts: tuple[int, ...]
    """Positions by |Δ log-probability|: below the first bound, from each bound to the next, and
    from the last one on."""


class Curve(Part):
    """|Δ log-probability| along one prompt and the tokens decoded after it, nats."""

    scenario: str
    """The scenario."""
    reference: str
    """What it is compared with."""
    prompt: str
    """The prompt's name."""
    prompt_tokens: int
    """Its length; decoded tokens stand at this position and after it."""
    cached_tokens: int
    """Tokens taken from the cache."""
    edges: tuple[int, ...]
    """Where a later chunk, or what follows the cached tokens, starts, in tokens."""
    block_size: int
    """Tokens of a block that a prefix hit is counted in; 0 where prefix caching is off."""
    start: int
    """Position of the first window's first token."""
    stride: int
    """Positions of a window."""
    largest: tuple[float | None, ...]
    """By window the largest difference of any leg; null where nothing was compared."""
    broken: tuple[int, ...]
    """Windows in which a log-probability is missing, NaN or infinite, or of another token."""


class Differences(Part):
    """What was compared of prompts and decoded tokens, by size and by position."""

    bounds: tuple[float, ...]
    """What parts the classes of every distribution, nats."""
    distributions: tuple[Distribution, ...]
    """One a scenario and leg."""
    curves: tuple[Curve, ...]
    """One a scenario and prompt."""
    left_out: dict[str, int]
    """By scenario, prompts without a curve: they differ less than those that have one."""
