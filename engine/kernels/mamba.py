"""The selective scan of Mamba-2 and its update; Mamba-1's where the build has one."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from linattn_verify.configs.kernels import MAMBA1, MAMBA2, MAMBA2_UPDATE
from linattn_verify.engine.kernels import reference
from linattn_verify.engine.kernels.available import module_missing, never, on_cpu, op_missing
from linattn_verify.engine.kernels.batch import Batch
from linattn_verify.engine.kernels.faults import Injection
from linattn_verify.engine.kernels.registry import Case, kernel
from linattn_verify.engine.kernels.sequences import (
    batch_cases,
    initial_cases,
    split_cases,
)
from linattn_verify.engine.kernels.stepped import Stepped, unequal_case, update_cases
from linattn_verify.engine.kernels.tolerance import Tolerance

if TYPE_CHECKING:
    from torch import Generator, Tensor, dtype

PATH = "C++"
_SCAN = "vllm.model_executor.layers.mamba.ops.cpu.mamba_ssm"
_HEADS, _GROUPS, _HEAD, _STATE, _CHUNK = 4, 2, 64, 32, 64
_FIXED_TERMS = 16 + _STATE
"""Float32 operations on the way of one token: step, softplus, exponential and products, and the
sum over the state's columns."""

_ROUNDED = "the state after each of two calls, and after the one that they are held against"


@dataclass(frozen=True)
class Mamba2:
    """The scan of one layer. Everything but inputs and outputs is computed in float32."""

    activations: "dtype"
    state_dtype: "dtype"
    injection: Injection

    @property
    def dtypes(self) -> str:
        """Activations and state, in words."""
        act, state = (str(d).removeprefix("torch.") for d in (self.activations, self.state_dtype))
        return f"{act} activations, {state} state"

    def weights(self) -> "tuple[Tensor, Tensor, Tensor]":
        """a in float32, d and dt_bias: [H]; steps and decays as trained layers have them."""
        import torch

        generator = torch.Generator().manual_seed(11)
        a = -(torch.rand(_HEADS, generator=generator) * 7.5 + 0.5)
        d = torch.randn(_HEADS, generator=generator).to(self.activations)
        return a, d, (torch.rand(_HEADS, generator=generator) * 4 - 6).to(self.activations)

    def inputs(self, tokens: int, generator: "Generator") -> "tuple[Tensor, ...]":
        """x: [T, H, P], dt: [T, H], b, c: [T, G, N]."""
        import torch

        shapes = ((_HEADS, _HEAD), (_HEADS,), (_GROUPS, _STATE), (_GROUPS, _STATE))
        drawn = (torch.randn(tokens, *shape, generator=generator) for shape in shapes)
        return tuple(x.to(self.activations) for x in drawn)

    def state(self, generator: "Generator") -> "Tensor":
        """[H, P, N]."""
        import torch

        return torch.randn(_HEADS, _HEAD, _STATE, generator=generator).to(self.state_dtype)

    def pool(self, slots: int) -> "Tensor":
        """[slots, H, P, N]."""
        import torch

        shape = (slots, _HEADS, _HEAD, _STATE)
        return torch.full(shape, torch.nan, dtype=self.state_dtype)

    def call(self, inputs: "tuple[Tensor, ...]", pool: "Tensor", batch: Batch) -> "Tensor":
        """States gathered, scanned and put back, as `mamba_mixer2.py` does."""
        outputs: Tensor = self.injection.around(MAMBA2, self._scan)(inputs, pool, batch)
        return outputs

    def _scan(self, inputs: "tuple[Tensor, ...]", pool: "Tensor", batch: Batch) -> "Tensor":
        import torch
        from vllm.model_executor.layers.mamba.ops.cpu import mamba_ssm

        x, dt, b, c = inputs
        a, d, dt_bias = self.weights()
        slots = batch.slots.long()
        assert batch.has_initial is not None
        states = torch.where(batch.has_initial[:, None, None, None], pool[slots], 0)
        outputs = torch.full_like(x, torch.nan)
        pool[slots] = mamba_ssm._mamba_chunk_scan_combined_fwd_cpu(
            x,
            dt,
            a,
            b,
            c,
            _CHUNK,
            outputs,
            D=d,
            dt_bias=dt_bias,
            initial_states=states,
            cu_seqlens=batch.starts,
            dt_softplus=True,
            state_dtype=self.state_dtype,
        )
        return outputs

    def step(self, inputs: "tuple[Tensor, ...]", pool: "Tensor", slots: "Tensor") -> "Tensor":
        """One token of each sequence, with the arguments that `mamba_mixer2.py` expands."""
        outputs: Tensor = self.injection.around(MAMBA2_UPDATE, self._update)(inputs, pool, slots)
        return outputs

    def _update(self, inputs: "tuple[Tensor, ...]", pool: "Tensor", slots: "Tensor") -> "Tensor":
        import torch
        import vllm._custom_ops as ops

        x, dt, b, c = inputs
        a, d, dt_bias = self.weights()
        outputs = torch.full_like(x, torch.nan)
        ops.selective_state_update_cpu(
            pool,
            x,
            dt[:, :, None].expand(-1, -1, _HEAD),
            a[:, None, None].expand(-1, _HEAD, _STATE),
            b,
            c,
            d[:, None].expand(-1, _HEAD),
            None,
            dt_bias[:, None].expand(-1, _HEAD),
            True,
            slots,
            slots,
            0,
            outputs,
            None,
            None,
        )
        return outputs

    def reference(self, inputs: "tuple[Tensor, ...]", state: "Tensor") -> "tuple[Tensor, Tensor]":
        """y: [T, H, P] and the state [H, P, N]."""
        x, dt, b, c = inputs
        a, d, dt_bias = self.weights()
        return reference.mamba2_scan(x, dt, a, b, c, d, dt_bias, state)

    def tolerances(self, tokens: int) -> tuple[Tolerance, Tolerance]:
        """Outputs are rounded once, and the state once a call."""
        terms = tokens + _FIXED_TERMS
        coarse = self.state_dtype.itemsize < 4
        kept = Tolerance(self.state_dtype, 3 * coarse, terms, _ROUNDED)
        if coarse and self.state_dtype.itemsize <= self.activations.itemsize:
            return Tolerance(self.state_dtype, 3, terms, "the output, the state read"), kept
        return Tolerance(self.activations, 1, terms, "the output"), kept


@kernel(
    operator=MAMBA2,
    path=PATH,
    missing=lambda: op_missing("mamba_chunk_scan_fwd_cpu") or module_missing(_SCAN),
    engine_uses=on_cpu,
)
def scan(injection: Injection) -> Iterator[Case]:
    """Prefill of Mamba-2 layers."""
    import torch

    layer = Mamba2(torch.bfloat16, torch.float32, injection)
    yield from split_cases(layer)
    yield from batch_cases(layer)
    yield from initial_cases(layer)
    for activations, state in _combinations():
        yield from batch_cases(replace(layer, activations=activations, state_dtype=state), True)


@kernel(
    operator=MAMBA2_UPDATE,
    path=PATH,
    missing=lambda: op_missing("selective_state_update_cpu"),
    engine_uses=on_cpu,
)
def update(injection: Injection) -> Iterator[Case]:
    """Decoding of Mamba-2 layers."""
    import torch

    layer = Mamba2(torch.bfloat16, torch.float32, injection)
    yield from update_cases(layer, _stepped(layer), "scanned")
    for activations, state in _combinations():
        other = replace(layer, activations=activations, state_dtype=state)
        yield unequal_case(_stepped(other), may_refuse=True)


def _combinations() -> "list[tuple[dtype, dtype]]":
    """Activations and state, beside bfloat16 and float32."""
    import torch

    coarse, half, full = torch.bfloat16, torch.float16, torch.float32
    return [(coarse, coarse), (full, full), (full, coarse), (half, full), (half, half)]


def _stepped(layer: Mamba2) -> Stepped:
    return Stepped(layer, layer.step, rounded_state=layer.state_dtype.itemsize < 4)


@kernel(
    operator=MAMBA1,
    path=PATH,
    missing=lambda: op_missing("selective_scan_fwd") or "this tool has no cases for it yet",
    engine_uses=never,
)
def scan_of_mamba1(injection: Injection) -> Iterator[Case]:
    """CPU builds of vLLM have no such operator, so models that need it cannot be served there."""
    yield from ()
