"""The operators that `kernels` calls one by one, and the faults that can be put around them."""

from dataclasses import dataclass

CHECK = "kernels"
"""Name of the check that judges them."""
CONV, CONV_UPDATE = "causal_conv1d", "causal_conv1d_update"
DELTA, DELTA_UPDATE = "gated_delta_rule", "gated_delta_rule_update"
MAMBA2, MAMBA2_UPDATE = "mamba2_scan", "mamba2_update"
MAMBA1 = "mamba1_scan"
COPY = "state_copy"

OPERATORS: dict[str, str] = {
    CONV: "causal convolution over a batch of sequences of unequal length",
    CONV_UPDATE: "causal convolution, one token a sequence",
    DELTA: "chunked gated delta rule, with its gates",
    DELTA_UPDATE: "gated delta rule, one token a sequence",
    MAMBA2: "selective scan of Mamba-2",
    MAMBA2_UPDATE: "selective state update of Mamba-2, one token a sequence",
    MAMBA1: "selective scan of Mamba-1",
    COPY: "the batched memory copy that moves states where a prefix is hit",
}
"""Every operator, with what it is."""


@dataclass(frozen=True)
class KernelFault:
    """A fault that is put around a real operator on purpose."""

    operator: str
    what: str


KERNEL_FAULTS: dict[str, KernelFault] = {
    "has_initial_state_ignored": KernelFault(
        CONV, "has_initial_state is false for every sequence, whatever the caller says"
    ),
    "delta_state_decayed": KernelFault(
        DELTA, "a tenth of the recurrent state is lost before it is read"
    ),
    "crash_in_update": KernelFault(DELTA_UPDATE, "the process dies by SIGSEGV at the third call"),
    "copy_drops_last_item": KernelFault(COPY, "the last copy of every batch is left out"),
}
"""Every fault, by name."""
