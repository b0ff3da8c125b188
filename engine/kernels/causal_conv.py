"""The causal convolution over a batch of sequences, native and in PyTorch."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from linattn_verify.configs.kernels import CONV
from linattn_verify.engine.kernels.available import conv_cpp_chosen, conv_cpp_missing, on_cpu
from linattn_verify.engine.kernels.batch import Batch
from linattn_verify.engine.kernels.conv_layer import CPP, TORCH, Conv, Forward, wrappers_missing
from linattn_verify.engine.kernels.faults import Injection
from linattn_verify.engine.kernels.registry import Case, Measured, kernel
from linattn_verify.engine.kernels.sequences import (
    Piece,
    batch_cases,
    initial_cases,
    make,
    split_cases,
)
from linattn_verify.engine.kernels.tolerance import compared, untouched

if TYPE_CHECKING:
    from torch import Tensor

_NOBODY = -1


def cpp_forward(conv: Conv) -> Forward:
    """The native operator, with the arguments that `gdn_attention.py` gives it."""
    import vllm._custom_ops as ops

    packed = ops.causal_conv1d_weight_pack(conv.weight().clone())

    def call(inputs: "tuple[Tensor, ...]", pool: "Tensor", batch: Batch) -> "Tensor":
        outputs: Tensor = ops.causal_conv1d_fwd_cpu(
            x=inputs[0].contiguous().transpose(0, 1),
            weight=packed,
            bias=conv.bias(),
            conv_states=pool,
            query_start_loc=batch.starts,
            cache_indices=batch.slots,
            has_initial_state=batch.has_initial,
            silu_activation=True,
            is_weight_packed=True,
        )
        return outputs.transpose(0, 1)

    return call


def torch_forward(conv: Conv) -> Forward:
    """vLLM's convolution in PyTorch, as Mamba-2 and short-convolution layers call it."""
    from vllm.model_executor.layers.mamba.ops.cpu.causal_conv1d import causal_conv1d_fn_cpu

    def call(inputs: "tuple[Tensor, ...]", pool: "Tensor", batch: Batch) -> "Tensor":
        outputs: Tensor = causal_conv1d_fn_cpu(
            inputs[0].transpose(0, 1),
            conv.weight(),
            conv.bias(),
            pool,
            batch.starts,
            batch.slots,
            batch.has_initial,
            activation="silu",
        )
        return outputs.transpose(0, 1)

    return call


@kernel(operator=CONV, path=CPP, missing=conv_cpp_missing, engine_uses=conv_cpp_chosen)
def native(injection: Injection) -> Iterator[Case]:
    """Prefill of Gated DeltaNet layers where the CPU has bfloat16 instructions."""
    yield from _forward_cases(cpp_forward, injection, others=("float32", "float16"))


@kernel(operator=CONV, path=TORCH, missing=wrappers_missing, engine_uses=on_cpu)
def in_torch(injection: Injection) -> Iterator[Case]:
    """Prefill of every other layer with a convolution, and of Gated DeltaNet on other CPUs."""
    import torch

    yield from _forward_cases(torch_forward, injection, others=("float32", "float16"))
    yield from batch_cases(Conv(torch.bfloat16, dim_first=True, forward=torch_forward))


def _forward_cases(
    path: Callable[[Conv], Forward], injection: Injection, others: tuple[str, ...]
) -> Iterator[Case]:
    import torch

    def forward(conv: Conv) -> Forward:
        return injection.around(CONV, path(conv))

    conv = Conv(torch.bfloat16, forward=forward)
    yield from split_cases(conv)
    yield from batch_cases(conv)
    yield from initial_cases(conv)
    for name in others:
        yield from batch_cases(replace(conv, activations=getattr(torch, name), _cache={}), True)
    yield _absent(conv)
    yield _padded(conv)


def _absent(conv: Conv) -> Case:
    """States are there, and nobody says whether they are to be read: then they are not."""

    def run() -> Measured:
        made = make(conv, [Piece(5, initial=False)])
        pool = made.pool.clone()
        batch = Batch.of([5], made.slots, [False]).without_initial()
        outputs = conv.call(made.inputs[0], pool, batch)
        exact, window = conv.reference(made.inputs[0], made.states[0])
        of_output, of_state = conv.tolerances(5)
        state = compared("state", pool[made.slots[0]], window, of_state)
        return Measured((compared("output", outputs, exact, of_output), state))

    return Case(f"T=5, has_initial_state absent, {conv.dtypes}", run, called=False)


def _padded(conv: Conv) -> Case:
    """A sequence without a slot (-1, vLLM's PAD_SLOT_ID) stands between two that have one."""

    def run() -> Measured:
        import torch

        made = make(conv, [Piece(3), Piece(2), Piece(5)])
        slots = (made.slots[0], _NOBODY, made.slots[2])
        pool, together = made.pool.clone(), torch.cat([x for (x,) in made.inputs])
        outputs = conv.call((together,), pool, Batch.of([3, 2, 5], slots, [True, False, True]))
        exact, window = conv.reference(made.inputs[2], made.states[2])
        of_output, of_state = conv.tolerances(5)
        others = [s for s in range(len(pool)) if s not in slots]
        return Measured(
            (
                compared("output", outputs[5:], exact, of_output),
                compared("state", pool[slots[2]], window, of_state),
                untouched("other slots", made.pool[others], pool[others]),
            )
        )

    return Case(f"3 sequences, the second in slot -1 (padding), {conv.dtypes}", run, called=False)
