"""What the cache tensors held before a scenario, and how often its blocks were used."""

from linattn_verify.checks.result import Proof
from linattn_verify.configs.plan import Memory, Scenario
from linattn_verify.traces.schema import TraceRecord


def memory_proofs(scenario: Scenario, record: TraceRecord) -> tuple[Proof, ...]:
    """Those that the scenario needs."""
    return (
        *_memory(scenario, record),
        *_reuse(scenario, record),
        *_handed_out(scenario, record),
    )


def _memory(scenario: Scenario, record: TraceRecord) -> tuple[Proof, ...]:
    """What every cache tensor held before the scenario, as read back."""
    if scenario.memory is None:
        return ()
    filled = record.filled
    content = "NaN" if scenario.memory is Memory.NAN else "zeros"
    observed, holds = "nothing filled", False
    if filled is not None:
        wanted = filled.tensors if scenario.memory is Memory.NAN else {}
        read = {kind: count for kind, count in filled.poisoned.items() if count}
        kinds = ", ".join(f"{count} {kind}" for kind, count in filled.tensors.items())
        holds = filled.content is scenario.memory and read == wanted and filled.bytes > 0
        what = content if holds else f"NaN in {read or 'none'}"
        observed = f"{what} in tensors: {kinds}; {filled.bytes / 2**20:,.0f} MiB"
    expected = f"{content} in every cache tensor"
    return (Proof(name="memory", expected=expected, observed=observed, holds=holds),)


def _reuse(scenario: Scenario, record: TraceRecord) -> tuple[Proof, ...]:
    if not scenario.tight:
        return ()
    return (
        Proof(
            name="blocks_reused",
            expected="more blocks handed out than the pool has",
            observed=f"{record.allocated_blocks} handed out, {record.pool_blocks} in the pool",
            holds=record.allocated_blocks > record.pool_blocks > 0,
        ),
    )


def _handed_out(scenario: Scenario, record: TraceRecord) -> tuple[Proof, ...]:
    """What a block's former owner has left was overwritten before the block was used again."""
    if scenario.memory is None or not (scenario.memory is Memory.NAN or scenario.tight):
        return ()
    content = "NaN" if scenario.memory is Memory.NAN else "zeros"
    filled, of = record.handed_out_blocks, record.allocated_blocks
    return (
        Proof(
            name="blocks_filled",
            expected=f"{content} in every block as it is handed out",
            observed=f"{filled} of {of} blocks",
            holds=filled == of > 0,
        ),
    )
