"""The batched memory copy that moves states where a prefix is hit (vllm/v1/worker/mamba_utils.py).

Which implementation runs is the engine's choice: its Triton kernel, or what the platform put in
the kernel's place where Triton has no backend for it.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from linattn_verify.configs.kernels import COPY
from linattn_verify.engine.kernels.available import on_cpu
from linattn_verify.engine.kernels.faults import Injection
from linattn_verify.engine.kernels.registry import Case, Measured, kernel
from linattn_verify.traces.kernels import Measure

if TYPE_CHECKING:
    from torch import Tensor

CPU = "Python, memmove"
"""What vLLM's CPU platform registers in place of the Triton kernel."""
_REPEATS = 5


@dataclass(frozen=True)
class Move:
    """One copy inside a buffer, in bytes."""

    source: int
    destination: int
    size: int


@cache
def resolved() -> Callable[..., object]:
    """`batch_memcpy` as the engine's model runner has it, replacements registered."""
    from vllm.platforms import current_platform
    from vllm.v1.worker import mamba_utils

    current_platform.register_triton_kernel_overrides()
    copy: Callable[..., object] = mamba_utils.batch_memcpy
    return copy


def missing() -> str | None:
    """The cases hand over addresses of this process's memory."""
    if not on_cpu():
        return "the cases are written for memory of the CPU"
    resolved()  # loaded before the forks
    return None


@kernel(operator=COPY, path=CPU, missing=missing, engine_uses=on_cpu)
def copies(injection: Injection) -> Iterator[Case]:
    """Disjoint, overlapping, empty and many copies; and what they cost."""
    size = 4096
    apart = [Move(0, 8192, size)]
    left, right = [Move(100, 37, size)], [Move(37, 100, size)]
    chain = [Move(0, 5000, 1000), Move(5000, 9000, 1000), Move(9000, 1, 999)]
    empty = [Move(5, 9000, 0), Move(0, 8192, 64), Move(7, 9001, 0)]
    odd = [Move(3 * n, 6000 + 2 * n, n) for n in (1, 3, 7, 13, 63, 65, 1023, 1025)]
    for words, moves in (
        ("1 copy of 4,096 bytes", apart),
        ("source and destination overlap, to the left by 63", left),
        ("source and destination overlap, to the right by 63", right),
        ("each copies what the one before it wrote", chain),
        ("sizes of 0 among others", empty),
        ("a destination that is its own source", [Move(64, 64, size)]),
        ("8 copies of odd sizes at odd addresses", odd),
        ("no copy at all", []),
    ):
        yield Case(words, partial(_copied, injection, moves))
    many = [Move(64 * i, (1 << 19) + 64 * (4095 - i), 64) for i in range(4096)]
    yield Case("4,096 copies of 64 bytes", partial(_copied, injection, many))
    mib = 1 << 20
    states = [Move(i * mib, (8 + i) * mib, mib) for i in range(8)]
    yield Case("8 copies of 1 MiB, throughput", partial(_copied, injection, states, timed=True))
    small = [Move(12288 * i, (1 << 23) + 12288 * i, 12288) for i in range(512)]
    yield Case("512 copies of 12 KiB, throughput", partial(_copied, injection, small, timed=True))


def plain(buffer: bytearray, moves: Sequence[Move]) -> bytearray:
    """The same moves one after the other; each reads its whole source before it writes."""
    for move in moves:
        taken = bytes(buffer[move.source : move.source + move.size])
        buffer[move.destination : move.destination + move.size] = taken
    return buffer


def _copied(injection: Injection, moves: Sequence[Move], timed: bool = False) -> Measured:
    import torch

    call = injection.around(COPY, resolved())
    length = max([1 << 14, *(max(m.source, m.destination) + m.size for m in moves)])
    generator = torch.Generator().manual_seed(len(moves))
    buffer = torch.randint(0, 256, (length,), dtype=torch.uint8, generator=generator)
    expected = plain(bytearray(buffer.numpy().tobytes()), moves)
    arguments = _arguments(buffer, moves)
    call(*arguments)
    wrong = int((buffer != torch.frombuffer(expected, dtype=torch.uint8)).sum())
    moved = sum(m.size for m in moves)
    note = f"{wrong} of {moved} bytes"
    found = Measure(what="bytes", error=wrong, limit=0, origin="an exact copy", note=note)
    return Measured((found,), _throughput(call, arguments, moved) if timed else None)


def _arguments(buffer: "Tensor", moves: Sequence[Move]) -> "tuple[Tensor, Tensor, Tensor]":
    """Addresses and sizes in the dtypes of the engine's `MambaCopyBuffers`."""
    import torch

    base = buffer.data_ptr()
    return (
        torch.tensor([base + m.source for m in moves], dtype=torch.uint64),
        torch.tensor([base + m.destination for m in moves], dtype=torch.uint64),
        torch.tensor([m.size for m in moves], dtype=torch.int32),
    )


def _throughput(call: Callable[..., object], arguments: Sequence["Tensor"], moved: int) -> float:
    """The best of a few, in GB/s: others use the machine too."""
    best = float("inf")
    for _ in range(_REPEATS):
        started = time.perf_counter()
        call(*arguments)
        best = min(best, time.perf_counter() - started)
    return moved / best / 1e9
