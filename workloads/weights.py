"""Random weights in which the recurrent state matters, bit-identical wherever they are made.

transformers' own initialisation of Gated DeltaNet forgets within a few tokens, so that a lost
state hardly shows. Here the step softplus(dt_bias) is log-uniform in [0.001, 0.1] and A is
uniform in [0.5, 8], as in Mamba-2 (Dao and Gu, 2024).
"""

import json
import math
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SEED = 1
SPREAD = 0.06
"""Standard deviation of the weights of two and more dimensions."""

STEP = (1e-3, 0.1)
DECAY = (0.5, 8.0)
ONES = ("linear_attn.norm.weight", "norm1.weight", "norm2.weight", "merger.norm.weight")
"""Norms that multiply by their weight; all others multiply by 1 + weight, or are biases."""


def write_weights(path: Path, shapes: dict[str, tuple[int, ...]]) -> None:
    """A safetensors file of bfloat16 tensors with these names and shapes.

    Written by hand, since the layout that the library chooses may differ between its releases.
    """
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    parts: list[bytes] = []
    offset = 0
    for name in sorted(shapes):
        data = to_bfloat16(tensor(name, shapes[name])).astype("<u2").tobytes()
        span = [offset, offset + len(data)]
        header[name] = {"dtype": "BF16", "shape": list(shapes[name]), "data_offsets": span}
        parts.append(data)
        offset += len(data)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(struct.pack("<Q", len(head)) + head + b"".join(parts))


def tensor(name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """The values of the tensor with this name: `shape`, each drawn from a stream of its own."""
    uniform = _uniform(name, math.prod(shape))
    if name.endswith("dt_bias"):
        values = np.array([_inverse_softplus(_step(u)) for u in uniform])
    elif name.endswith("A_log"):
        values = np.array([math.log(DECAY[0] + u * (DECAY[1] - DECAY[0])) for u in uniform])
    elif len(shape) == 1:
        values = np.full(shape, float(name.endswith(ONES)))
    else:
        values = (2 * uniform - 1) * (SPREAD * math.sqrt(3))
    return values.reshape(shape).astype(np.float32)


def to_bfloat16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """The bits of the nearest bfloat16, ties to even; for finite values."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def _uniform(name: str, count: int) -> NDArray[np.float64]:
    """[count] in [0, 1). The raw stream of a bit generator is the one numpy keeps stable."""
    raw = np.random.PCG64([SEED, zlib.crc32(name.encode())]).random_raw(count)
    return np.asarray(raw >> np.uint64(11), dtype=np.float64) * 2.0**-53


def _step(uniform: float) -> float:
    return math.exp(math.log(STEP[0]) + uniform * math.log(STEP[1] / STEP[0]))


def _inverse_softplus(value: float) -> float:
    return value + math.log(-math.expm1(-value))
