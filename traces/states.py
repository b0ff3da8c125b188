"""The states that a scenario's layers held at the ends of chunks, blocks and decode steps."""

from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pyarrow as pa


class Part(StrEnum):
    """What a cache tensor holds."""

    ATTENTION = "attention"
    """Keys and values."""
    CONVOLUTION = "convolution"
    """A window of the last inputs."""
    RECURRENT = "recurrent"
    """What the recurrence carries."""
    OTHER = "other"
    """Whatever else a layer keeps, such as a buffer for decoding."""


class Moment(StrEnum):
    """When a state was read."""

    LEFT = "left"
    """Right after the step that ends at the position."""
    FOUND = "found"
    """Right before the step that starts there."""


STATES = pa.schema(
    [
        ("request", pa.int32()),  # index of the prompt in the workload
        ("position", pa.int32()),  # tokens that the state has seen
        ("edge", pa.int32()),  # steps of the request before it; 0: restored from the cache
        ("moment", pa.string()),
        ("rank", pa.int32()),  # of the worker that holds this share of the state
        ("layer", pa.string()),
        ("index", pa.int32()),  # of the layer, among those that keep a state
        ("kind", pa.string()),  # of the layer
        ("part", pa.string()),
        ("dtype", pa.string()),
        ("norm", pa.float64()),  # Euclidean; NaN where any number is
        ("digest", pa.string()),  # of the bytes
        ("data", pa.binary()),  # the bytes; null where only the digest was kept
    ]
)
"""One row per (request, position, moment, rank, layer, part)."""
KEY = ["request", "position", "rank", "layer", "part"]


def numbers(data: bytes, dtype: str) -> npt.NDArray[np.float64]:
    """The state's elements, flat. NumPy has no bfloat16: it is the upper half of a float32."""
    if dtype == "bfloat16":
        halves = np.frombuffer(data, dtype=np.uint16).astype(np.uint32) << 16
        return halves.view(np.float32).astype(np.float64)
    return np.frombuffer(data, dtype=np.dtype(dtype)).astype(np.float64)
