"""The causal convolution, forward and one token at a time, native and in PyTorch."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from linattn_verify.configs.kernels import CONV, CONV_UPDATE
from linattn_verify.engine.kernels import reference
from linattn_verify.engine.kernels.available import (
    conv_cpp_chosen,
    conv_cpp_missing,
    on_cpu,
    module_missing,
    op_missing,
)
from linattn_verify.engine.kernels.batch import Batch
from linattn_verify.engine.kernels.faults import Injection
from linattn_verify.engine.kernels.registry import Case, Measured, kernel
from linattn_verify.engine.kernels.sequences import (
    Piece,
    batch_cases,
    case,
    initial_cases,
    make,
    split_cases,
)
from linattn_verify.engine.kernels.stepped import Stepped
from linattn_verify.engine.kernels.tolerance import Tolerance, compared, untouched

if TYPE_CHECKING:
    from torch import Generator, Tensor, dtype

CPP = "vLLM C++, packed weights (Gated DeltaNet)"
TORCH = "vLLM in PyTorch (Mamba-2, short convolution)"
VEC = "vLLM C++, plain weights (Mamba-2, short convolution)"
_DIM, _WIDTH, _NOBODY = 512, 4, -1
_STEPS = "the sum, its activation, the output"

Forward = Callable[["tuple[Tensor, ...]", "Tensor", Batch], "Tensor"]


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

    def reference(
        self, inputs: "tuple[Tensor, ...]", state: "Tensor"
    ) -> "tuple[Tensor, Tensor]":
        """y: [T, D] and the window [D, W-1]."""
        outputs, window = reference.causal_conv(
            inputs[0], self.weight(), self.bias(), state.T, silu=True
        )
        return outputs, window.T

    def tolerances(self, tokens: int) -> tuple[Tolerance, Tolerance]:
        """The window is a copy of inputs, so it has to be exact."""
        return Tolerance(self.activations, 3, _WIDTH + 1, _STEPS), Tolerance(self.activations, 0)


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


def wrappers_missing() -> str | None:
    """Why vLLM's convolution in Python is not there."""
    return module_missing("vllm.model_executor.layers.mamba.ops.cpu.causal_conv1d")


@kernel(operator=CONV, path=CPP, missing=conv_cpp_missing, engine_uses=conv_cpp_chosen)
def native(injection: Injection) -> Iterator[Case]:
    """Prefill of Gated DeltaNet layers where the CPU has bfloat16 instructions."""
    yield from _forward_cases(cpp_forward, injection, others=("float32", "float16"))


@kernel(operator=CONV, path=TORCH, missing=wrappers_missing, engine_uses=on_cpu)
def in_torch(injection: Injection) -> Iterator[Case]:
    """Prefill of every other layer with a convolution, and of Gated DeltaNet on other CPUs."""
    yield from _forward_cases(torch_forward, injection, others=("float32", "float16"))


def _forward_cases(
    path: Callable[[Conv], Forward], injection: Injection, others: tuple[str, ...]
) -> Iterator[Case]:
    import torch

    def forward(conv: Conv) -> Forward:
        return injection.around(CONV, path(conv))  # type: ignore[no-any-return]

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


def cpp_step(conv: Conv) -> Callable[..., "Tensor"]:
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


def vec_step(conv: Conv) -> Callable[..., "Tensor"]:
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
    step: Callable[[Conv], Callable[..., "Tensor"]],
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
        yield case("3 sequences of 1, 2, 7 tokens", _stepped(other, step, injection), three, None, True)


def _stepped(
    conv: Conv, step: Callable[[Conv], Callable[..., "Tensor"]], injection: Injection
) -> Stepped:
    made: list[Callable[..., Tensor]] = []

    def once(inputs: "tuple[Tensor, ...]", pool: "Tensor", slots: "Tensor") -> "Tensor":
        if not made:  # weights are packed in the process that runs the case
            made.append(injection.around(CONV_UPDATE, step(conv)))
        return made[0](inputs, pool, slots)

    return Stepped(conv, once, rounded_state=False)
