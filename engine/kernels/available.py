"""What this build and machine have, asked the way the engine asks."""

import importlib


def op_missing(name: str) -> str | None:
    """Why vLLM's native operator `name` is not there; None where it is."""
    import torch
    import vllm._custom_ops  # noqa: F401  (loads the library)

    if hasattr(torch.ops._C, name):
        return None
    return f"this build of vLLM has no {name}"


def module_missing(name: str) -> str | None:
    """Why vLLM's module `name` cannot be imported; None where it is, and then it is loaded."""
    try:
        importlib.import_module(name)
    except ImportError as error:
        return f"vLLM has no {name}: {error}"
    return None


def conv_cpp_missing() -> str | None:
    """Why the native convolution cannot run: it is written for AVX512-BF16 or Arm's bfloat16."""
    return op_missing("causal_conv1d_fwd_cpu") or (
        None if conv_cpp_chosen() else "this CPU has neither AVX512-BF16 nor Arm's bfloat16"
    )


def conv_cpp_chosen() -> bool:
    """The engine's own predicate (vllm/model_executor/layers/mamba/ops/cpu/gdn_attention.py)."""
    import torch
    from vllm.platforms import CpuArchEnum, current_platform

    arm = current_platform.get_cpu_architecture() == CpuArchEnum.ARM
    arm_bf16 = arm and torch.cpu.get_capabilities().get("bf16", False)
    return bool(torch.cpu._is_avx512_bf16_supported() or arm_bf16)


def on_cpu() -> bool:
    """Whether the engine runs its CPU platform here."""
    from vllm.platforms import current_platform

    return bool(current_platform.is_cpu())


def on_cuda() -> bool:
    """Whether the engine runs its CUDA platform here."""
    from vllm.platforms import current_platform

    return bool(current_platform.is_cuda_alike())


def never() -> bool:
    """For paths that the engine does not choose here."""
    return False
