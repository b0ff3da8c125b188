"""The gated delta rule with its gates: chunked over a batch, and one token a sequence."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from linattn_verify.configs.kernels import DELTA, DELTA_UPDATE
from linattn_verify.engine.kernels import reference
from linattn_verify.engine.kernels.available import on_cpu, op_missing
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
_KEY_HEADS, _VALUE_HEADS = 2, 4
_EPS = 1e-5
"""vLLM's default in `chunk_gated_delta_rule_cpu`."""
_OUTPUT = (
    "normalised q and k, beta, beta k, the inverse, the pseudo-values, the state, the scores, the "
    "output"
)
_STATE = "normalised k, beta, beta k, the inverse, the pseudo-values, the state"


@dataclass(frozen=True)
class DeltaRule:
    """The rule of one layer. Activations are bfloat16: vLLM's CPU kernels take nothing else."""

    activations: "dtype"
    state_dtype: "dtype"
    injection: Injection
    head: int = 64
    """Key and value dimension of a head."""

    @property
    def dtypes(self) -> str:
        """Activations and state, in words."""
        act, state = (str(d).removeprefix("torch.") for d in (self.activations, self.state_dtype))
        return f"{act} activations, {state} state, heads of {self.head}"

    def gate(self) -> "tuple[Tensor, Tensor]":
        """a_log: [Hv] in float32 and dt_bias: [Hv]. Steps and decays as trained layers have them:
        with faster decay a lost state would hardly show."""
        import torch

        generator = torch.Generator().manual_seed(9)
        a_log = (torch.rand(_VALUE_HEADS, generator=generator) * 7.5 + 0.5).log()
        return a_log, (torch.rand(_VALUE_HEADS, generator=generator) * 4 - 6).to(self.activations)

    def inputs(self, tokens: int, generator: "Generator") -> "tuple[Tensor, ...]":
        """q, k: [T, Hk, K], v: [T, Hv, V], a, b: [T, Hv]."""
        import torch

        keys, values = (_KEY_HEADS, self.head), (_VALUE_HEADS, self.head)
        shapes = (keys, keys, values, values[:1], values[:1])
        drawn = (torch.randn(tokens, *shape, generator=generator) for shape in shapes)
        return tuple(x.to(self.activations) for x in drawn)

    def state(self, generator: "Generator") -> "Tensor":
        """[Hv, K, V]."""
        import torch

        shape = (_VALUE_HEADS, self.head, self.head)
        return (torch.randn(shape, generator=generator) * 0.3).to(self.state_dtype)

    def pool(self, slots: int) -> "Tensor":
        """[slots, Hv, K, V]."""
        import torch

        shape = (slots, _VALUE_HEADS, self.head, self.head)
        return torch.full(shape, torch.nan, dtype=self.state_dtype)

    def call(self, inputs: "tuple[Tensor, ...]", pool: "Tensor", batch: Batch) -> "Tensor":
        """Gates, zeroed slots and rule, as `_cpu_gdn_attention_nonspec` has them."""
        outputs: Tensor = self.injection.around(DELTA, self._chunked)(inputs, pool, batch)
        return outputs

    def _chunked(self, inputs: "tuple[Tensor, ...]", pool: "Tensor", batch: Batch) -> "Tensor":
        import vllm._custom_ops as ops

        q, k, v, a, b = inputs
        a_log, dt_bias = self.gate()
        g, beta = ops.fused_gdn_gating_cpu(A_log=a_log, a=a, b=b, dt_bias=dt_bias)
        assert batch.has_initial is not None
        pool[batch.slots[~batch.has_initial].long()] = 0
        outputs, _ = ops.chunk_gated_delta_rule_cpu(
            query=q.unsqueeze(0),
            key=k.unsqueeze(0),
            value=v.unsqueeze(0),
            g=g,
            beta=beta,
            initial_state=pool,
            output_final_state=True,
            cu_seqlens=batch.starts,
            head_first=False,
            use_qk_l2norm_in_kernel=True,
            initial_state_indices=batch.slots,
        )
        return outputs.squeeze(0)

    def step(self, inputs: "tuple[Tensor, ...]", pool: "Tensor", slots: "Tensor") -> "Tensor":
        """One token of each sequence, as `_cpu_gdn_attention_nonspec` decodes."""
        outputs: Tensor = self.injection.around(DELTA_UPDATE, self._update)(inputs, pool, slots)
        return outputs

    def _update(self, inputs: "tuple[Tensor, ...]", pool: "Tensor", slots: "Tensor") -> "Tensor":
        import torch
        import vllm._custom_ops as ops

        q, k, v, a, b = inputs
        a_log, dt_bias = self.gate()
        outputs = ops.fused_sigmoid_gating_delta_rule_update_cpu(
            A_log=a_log,
            dt_bias=dt_bias,
            q=q.unsqueeze(0),
            k=k.unsqueeze(0),
            v=v.unsqueeze(0),
            a=a,
            b=b,
            initial_state_source=pool,
            initial_state_indices=slots,
            cu_seqlens=torch.arange(len(q) + 1, dtype=torch.int32),
            use_qk_l2norm_in_kernel=True,
        )
        return outputs.view(v.shape)

    def reference(self, inputs: "tuple[Tensor, ...]", state: "Tensor") -> "tuple[Tensor, Tensor]":
        """o: [T, Hv, V] and the state [Hv, K, V]."""
        q, k, v, a, b = inputs
        g, beta = reference.gates(a, b, *self.gate())
        return reference.gated_delta_rule(q, k, v, g, beta, state, _EPS)

    def tolerances(self, tokens: int) -> tuple[Tolerance, Tolerance]:
        """What the chunked form rounds to bfloat16 before each product; sums are in float32."""
        return (
            Tolerance(self.activations, 9, tokens, _OUTPUT),
            Tolerance(self.activations, 6, tokens, _STATE),
        )


@kernel(
    operator=DELTA,
    path=PATH,
    missing=lambda: op_missing("chunk_gated_delta_rule_cpu"),
    engine_uses=on_cpu,
)
def chunked(injection: Injection) -> Iterator[Case]:
    """Prefill of Gated DeltaNet layers."""
    import torch

    rule = DeltaRule(torch.bfloat16, torch.float32, injection)
    yield from split_cases(rule)
    yield from batch_cases(rule)
    yield from initial_cases(rule)
    yield from batch_cases(replace(rule, head=128))
    yield from batch_cases(replace(rule, state_dtype=torch.bfloat16), may_refuse=True)
    yield from batch_cases(replace(rule, state_dtype=torch.float16), may_refuse=True)
    yield from batch_cases(replace(rule, activations=torch.float32), may_refuse=True)
    yield from batch_cases(replace(rule, activations=torch.float16), may_refuse=True)


@kernel(
    operator=DELTA_UPDATE,
    path=PATH,
    missing=lambda: op_missing("fused_sigmoid_gating_delta_rule_update_cpu"),
    engine_uses=on_cpu,
)
def update(injection: Injection) -> Iterator[Case]:
    """Decoding of Gated DeltaNet layers."""
    import torch

    rule = DeltaRule(torch.bfloat16, torch.float32, injection)
    yield from update_cases(rule, _stepped(rule), "chunked")
    for others in ({"head": 128}, {"state_dtype": torch.bfloat16}, {"state_dtype": torch.float16}):
        yield unequal_case(_stepped(replace(rule, **others)), may_refuse="head" not in others)


def _stepped(rule: DeltaRule) -> Stepped:
    return Stepped(rule, rule.step, rounded_state=rule.state_dtype.itemsize < 4)
