"""The causal convolution of one layer: weights, layout of the window, recurrence, tolerance."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from linattn_verify.engine.kernels import reference
from linattn_verify.engine.kernels.available import module_missing
from linattn_verify.engine.kernels.batch import Batch
from linattn_verify.engine.kernels.tolerance import Tolerance

if TYPE_CHECKING:
    from torch import Generator, Tensor, dtype

CPP = "C++, packed weights"
"""What Gated DeltaNet layers call; Mamba-2 and short-convolution layers call the others."""
TORCH = "PyTorch"
VEC = "C++, plain weights"
_DIM, _WIDTH = 512, 4
_STEPS = "the sum, its activation, the output"

Forward = Callable[["tuple[Tensor, ...]", "Tensor", Batch], "Tensor"]
Step = Callable[["tuple[Tensor, ...]", "Tensor", "Tensor"], "Tensor"]


@dataclass(frozen=True)
class Conv:
    """The convolution of one layer: channels, taps, a bias and SiLU."""

    activations: "dtype"
    dim_first: bool = False
    """Memory layout of the window: [D, W-1] a slot, or the engine's default [W-1, D]."""
    forward: "Callable[[Conv], Forward] | None" = None
    _cache: "dict[str, Tensor]" = field(default_factory=dict, compare=False)

    @property
    def dtypes(self) -> str:
        """Activations and state have the same dtype."""
        name = str(self.activations).removeprefix("torch.")
        return f"{name} activations and state" + (", DS layout" if self.dim_first else "")

    def weight(self) -> "Tensor":
        """[D, W], the same on every call."""
        return self._drawn("weight", (_DIM, _WIDTH), 7)

    def bias(self) -> "Tensor":
        """[D]."""
        return self._drawn("bias", (_DIM,), 8)

    def _drawn(self, name: str, shape: tuple[int, ...], seed: int) -> "Tensor":
        import torch

        if name not in self._cache:
            drawn = torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 0.5
            self._cache[name] = drawn.to(self.activations)
        return self._cache[name]

    def inputs(self, tokens: int, generator: "Generator") -> "tuple[Tensor, ...]":
        """x: [T, D]."""
        import torch

        return (torch.randn(tokens, _DIM, generator=generator).to(self.activations),)

    def state(self, generator: "Generator") -> "Tensor":
        """The last W-1 inputs, [D, W-1]."""
        import torch

        return torch.randn(_DIM, _WIDTH - 1, generator=generator).to(self.activations)

    def pool(self, slots: int) -> "Tensor":
        """[slots, D, W-1], as a view of the engine's layout."""
        import torch

        shape = (_DIM, _WIDTH - 1) if self.dim_first else (_WIDTH - 1, _DIM)
        pool = torch.full((slots, *shape), torch.nan, dtype=self.activations)
        return pool if self.dim_first else pool.transpose(1, 2)

    def call(self, inputs: "tuple[Tensor, ...]", pool: "Tensor", batch: Batch) -> "Tensor":
        """The path that was chosen."""
        assert self.forward is not None
        return self.forward(self)(inputs, pool, batch)

    def reference(self, inputs: "tuple[Tensor, ...]", state: "Tensor") -> "tuple[Tensor, Tensor]":
        """y: [T, D] and the window [D, W-1]."""
        outputs, window = reference.causal_conv(
            inputs[0], self.weight(), self.bias(), state.T, silu=True
        )
        return outputs, window.T

    def tolerances(self, tokens: int) -> tuple[Tolerance, Tolerance]:
        """The window is a copy of inputs, so it has to be exact."""
        return Tolerance(self.activations, 3, _WIDTH + 1, _STEPS), Tolerance(self.activations, 0)


def wrappers_missing() -> str | None:
    """Why vLLM's convolution in Python is not there."""
    return module_missing("vllm.model_executor.layers.mamba.ops.cpu.causal_conv1d")
