"""The embedded model's numbers: rounding, ranges, and a file that safetensors reads."""

import struct
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from linattn_verify.workloads.architecture import shapes
from linattn_verify.workloads.weights import tensor, to_bfloat16, write_weights

LAYER = "model.language_model.layers.1."


@pytest.mark.parametrize(
    ("bits", "rounded"),
    [
        (0x3F80_0000, 0x3F80),
        (0x3F80_7FFF, 0x3F80),
        (0x3F80_8000, 0x3F80),
        (0x3F80_8001, 0x3F81),
        (0x3F81_8000, 0x3F82),
        (0xBF81_8000, 0xBF82),
        (0x3FFF_FFFF, 0x4000),
        (0x0000_0000, 0x0000),
        (0x8000_0000, 0x8000),
    ],
    ids=[
        "exact",
        "below-half",
        "tie-to-even",
        "above-half",
        "tie-up",
        "negative",
        "carry",
        "0",
        "-0",
    ],
)
def test_rounding_to_bfloat16(bits: int, rounded: int) -> None:
    (value,) = struct.unpack("<f", struct.pack("<I", bits))
    assert to_bfloat16(np.array([value], dtype=np.float32)).tolist() == [rounded]


def test_matrices_are_uniform_with_the_chosen_spread() -> None:
    values = tensor(f"{LAYER}mlp.up_proj.weight", (512, 256))
    assert abs(values.std() - 0.06) < 0.001
    assert abs(values.mean()) < 0.001
    assert abs(values).max() <= np.float32(0.06 * 3**0.5)


def test_steps_and_decays_lie_where_the_state_is_kept() -> None:
    steps = np.log1p(np.exp(tensor(f"{LAYER}linear_attn.dt_bias", (997,)).astype(float)))
    decays = np.exp(tensor(f"{LAYER}linear_attn.A_log", (997,)).astype(float))
    assert 0.00099 < steps.min() < 0.0012 and 0.09 < steps.max() < 0.1001
    assert abs(np.log(steps).mean() - np.log(0.01)) < 0.1
    assert 0.499 < decays.min() < 0.6 and 7.9 < decays.max() < 8.001


def test_norms_change_nothing() -> None:
    assert tensor(f"{LAYER}input_layernorm.weight", (3,)).tolist() == [0, 0, 0]
    assert tensor(f"{LAYER}linear_attn.norm.weight", (3,)).tolist() == [1, 1, 1]
    assert tensor("model.language_model.layers.3.self_attn.q_norm.weight", (2,)).tolist() == [0, 0]
    assert tensor("model.visual.blocks.0.norm1.weight", (2,)).tolist() == [1, 1]
    assert tensor("model.visual.blocks.0.norm1.bias", (2,)).tolist() == [0, 0]


def test_tensors_of_one_shape_differ_by_name() -> None:
    first, second = (tensor(f"layers.{n}.mlp.up_proj.weight", (5, 7)) for n in (0, 1))
    assert not np.isclose(first, second).any()


def test_safetensors_reads_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    write_weights(path, shapes())
    with safe_open(path, framework="numpy") as file:
        assert file.metadata() == {"format": "pt"}
        found = {name: file.get_slice(name) for name in file.keys()}
        assert {name: tuple(part.get_shape()) for name, part in found.items()} == shapes()
        assert {part.get_dtype() for part in found.values()} == {"BF16"}


def test_values_sit_where_the_header_says(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    write_weights(path, {"b.weight": (3, 5), "a.linear_attn.norm.weight": (3,)})
    raw = path.read_bytes()
    data = raw[8 + struct.unpack("<Q", raw[:8])[0] :]
    assert len(data) == 2 * (3 + 15)
    assert data[:6] == b"\x80\x3f" * 3
    assert data[6:] == to_bfloat16(tensor("b.weight", (3, 5))).tobytes()
