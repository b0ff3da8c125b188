"""What an engine has, beside what its configuration says: layers, tensors, scheduler, modules."""

from linattn_verify.configs.strict import Strict

ATTENTION = "attention"
"""Kind of a layer that keeps keys and values, not a state."""


class LayerGroup(Strict):
    """Layers that are alike in everything below."""

    kind: str
    """`attention`, or the engine's name of the linear attention."""
    layers: int
    """How many."""
    backend: str
    """The engine's name of what computes them."""
    forward: str | None = None
    """The method that the layer's forward is bound to, e.g. `forward_cpu`; null where to none."""
    prefill_backend: str | None = None
    """What computes a Gated DeltaNet's prefill, as the layer holds it; null where it holds none."""
    block_size: int
    """Tokens of a block of their group in the KV cache."""
    dtypes: dict[str, str]
    """Of the tensors themselves, by what they hold: attention, convolution, recurrent."""


class Compiled(Strict):
    """Modules of the model that the engine could compile."""

    compilable: int
    """Modules marked for compilation."""
    wanted: int
    """Those of them that the engine means to compile."""
    done: int
    """Those whose forward has run compiled."""


class Observed(Strict):
    """Read from a loaded engine's layers, tensors, scheduler and modules."""

    groups: tuple[LayerGroup, ...]
    """Every layer that keeps anything, by likeness."""
    scheduler_budget: int | None
    """Most tokens of a step, as the scheduler holds it once loaded."""
    hit_alignment: int | None
    """Tokens at whose multiples a cached prefix can end; null where the engine does not say."""
    compiled: Compiled | None
    """Null where the engine does not say."""
