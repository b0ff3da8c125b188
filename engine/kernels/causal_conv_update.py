"""The causal convolution one token at a time, as layers decode."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from linattn_verify.configs.kernels import CONV_UPDATE
from linattn_verify.engine.kernels.available import (
    conv_cpp_chosen,
    conv_cpp_missing,
    on_cpu,
    op_missing,
)
from linattn_verify.engine.kernels.causal_conv import cpp_forward, torch_forward
from linattn_verify.engine.kernels.conv_layer import (
    CPP,
    VEC,
    Conv,
    Forward,
    Step,
    wrappers_missing,
)
from linattn_verify.engine.kernels.faults import Injection
from linattn_verify.engine.kernels.registry import Case, kernel
from linattn_verify.engine.kernels.sequences import Piece, case
from linattn_verify.engine.kernels.stepped import Stepped

if TYPE_CHECKING:
    from torch import Tensor


def cpp_step(conv: Conv) -> Step:
    """The native update, with the arguments that `gdn_attention.py` gives it."""
    import vllm._custom_ops as ops

    packed = ops.causal_conv1d_weight_pack(conv.weight().clone())

    def step(inputs: "tuple[Tensor, ...]", pool: "Tensor", slots: "Tensor") -> "Tensor":
        outputs: Tensor = ops.causal_conv1d_update_cpu(
            x=inputs[0],
            conv_states=pool,
            weight=packed,
            bias=conv.bias(),
            silu_activation=True,
            conv_state_indices=slots,
            is_weight_packed=True,
        )
        return outputs

    return step


def vec_step(conv: Conv) -> Step:
    """The update that Mamba-2 and short-convolution layers call."""
    from vllm.model_executor.layers.mamba.ops.cpu.causal_conv1d import causal_conv1d_update_cpu

    def step(inputs: "tuple[Tensor, ...]", pool: "Tensor", slots: "Tensor") -> "Tensor":
        outputs: Tensor = causal_conv1d_update_cpu(
            inputs[0].clone(),  # it may write its outputs over its inputs
            pool,
            conv.weight(),
            conv.bias(),
            "silu",
            conv_state_indices=slots,
        )
        return outputs

    return step


@kernel(operator=CONV_UPDATE, path=CPP, missing=conv_cpp_missing, engine_uses=conv_cpp_chosen)
def native_update(injection: Injection) -> Iterator[Case]:
    """Decoding of Gated DeltaNet layers where the CPU has bfloat16 instructions."""
    yield from _update_cases(cpp_forward, cpp_step, injection, others=("float32",))


@kernel(
    operator=CONV_UPDATE,
    path=VEC,
    missing=lambda: op_missing("causal_conv1d_update_cpu_vec") or wrappers_missing(),
    engine_uses=on_cpu,
)
def plain_update(injection: Injection) -> Iterator[Case]:
    """Decoding of every other layer with a convolution."""
    yield from _update_cases(torch_forward, vec_step, injection, others=("float32", "float16"))


def _update_cases(
    forward: Callable[[Conv], Forward],
    step: Callable[[Conv], Step],
    injection: Injection,
    others: tuple[str, ...],
) -> Iterator[Case]:
    """Sequences of a few tokens, and the hand-over from the forward operator."""
    import torch

    conv = Conv(torch.bfloat16, forward=forward)
    stepped = _stepped(conv, step, injection)
    for tokens, at in ((2, 1), (9, 1), (9, 3), (9, 8)):
        yield case(f"T={tokens} split at {at}", stepped, (Piece(tokens, at),))
    three = (Piece(1, 1), Piece(2, 1), Piece(7, 4))
    yield case("3 sequences of 1, 2, 7 tokens", stepped, three)
    many = tuple(Piece(2, 1) for _ in range(17))
    yield case("17 sequences of 2 tokens", stepped, many)
    yield case("64 tokens in one forward call, then 5 updates", conv, (Piece(69, 64),), stepped)
    for name in others:
        other = replace(conv, activations=getattr(torch, name), _cache={})
        refusing = _stepped(other, step, injection)
        yield case("3 sequences of 1, 2, 7 tokens", refusing, three, may_refuse=True)


def _stepped(conv: Conv, step: Callable[[Conv], Step], injection: Injection) -> Stepped:
    made: list[Step] = []

    def once(inputs: "tuple[Tensor, ...]", pool: "Tensor", slots: "Tensor") -> "Tensor":
        if not made:  # weights are packed in the process that runs the case
            made.append(injection.around(CONV_UPDATE, step(conv)))
        return made[0](inputs, pool, slots)

    return Stepped(conv, once, rounded_state=False)
