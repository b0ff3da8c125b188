"""The kernels there are."""

import pytest
import torch

from linattn_verify.configs.kernels import KERNEL_FAULTS, OPERATORS
from linattn_verify.engine.kernels import faults
from linattn_verify.engine.kernels.conv_layer import CPP
from linattn_verify.engine.kernels.registry import all_kernels, kernel


def test_every_operator_has_a_kernel_and_every_other_machines_path_is_named() -> None:
    found = all_kernels()
    assert {k.operator for k in found} == set(OPERATORS)
    named = {k.path for k in found}
    assert named >= {"Triton on CUDA", "C++ with AMX", "C++ with AVX512-BF16", CPP}


def test_only_the_operators_asked_for() -> None:
    assert {k.operator for k in all_kernels(("mamba2_scan",))} == {"mamba2_scan"}


def test_a_second_kernel_on_the_same_path_raises() -> None:
    all_kernels()
    with pytest.raises(ValueError, match="is defined twice"):
        kernel(operator="causal_conv1d", path=CPP, missing=lambda: None, engine_uses=lambda: False)(
            lambda injection: iter(())
        )


def test_an_operator_without_a_name_raises() -> None:
    register = kernel(operator="made_up", path="x", missing=lambda: None, engine_uses=lambda: False)
    with pytest.raises(ValueError, match=r"'made_up' is not in configs/kernels\.py"):
        register(lambda injection: iter(()))


@pytest.mark.parametrize(
    ("feature", "probe"),
    [("AMX", "_is_amx_tile_supported"), ("AVX512-BF16", "_is_avx512_bf16_supported")],
)
def test_an_instruction_set_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, feature: str, probe: str
) -> None:
    (kernel_with,) = [k for k in all_kernels() if k.path == f"C++ with {feature}"]
    monkeypatch.setattr(torch.cpu, probe, lambda: False)
    assert kernel_with.missing() == f"this CPU has no {feature}"
    monkeypatch.setattr(torch.cpu, probe, lambda: True)
    assert kernel_with.missing() is None
    assert list(kernel_with.cases(faults.Injection())) == []


def test_every_fault_that_is_named_can_be_injected() -> None:
    assert set(faults._FAULTS) == set(KERNEL_FAULTS)
    assert {fault.operator for fault in KERNEL_FAULTS.values()} <= set(OPERATORS)
