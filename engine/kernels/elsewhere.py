"""Kernel paths of other machines: none can run here, and each is named with the reason."""

from collections.abc import Iterator

from linattn_verify.configs.kernels import CONV, CONV_UPDATE, COPY, DELTA, DELTA_UPDATE, MAMBA2
from linattn_verify.engine.kernels.available import never, on_cuda
from linattn_verify.engine.kernels.faults import Injection
from linattn_verify.engine.kernels.registry import Answer, Case, kernel


def _on_gpu() -> str | None:
    """The engine chooses them on CUDA; this tool has cases for CPU memory alone."""
    if not on_cuda():
        return "no CUDA device"
    return "this tool has no cases for CUDA yet: leave it out with --skip kernels"


def _without(feature: str, present: str) -> Answer:
    """Why a path that rests on an instruction set cannot run; the rows of the paths that the
    engine chose cover it where the CPU has it."""

    def answer() -> str | None:
        import torch

        if getattr(torch.cpu, present, bool)():
            return None
        return f"this CPU has no {feature}"

    return answer


def _none(injection: Injection) -> Iterator[Case]:
    yield from ()


for _operator in (CONV, CONV_UPDATE, DELTA, DELTA_UPDATE, MAMBA2, COPY):
    kernel(operator=_operator, path="Triton on CUDA", missing=_on_gpu, engine_uses=on_cuda)(_none)
for _feature, _present in (
    ("AMX", "_is_amx_tile_supported"),
    ("AVX512-BF16", "_is_avx512_bf16_supported"),
):
    kernel(
        operator=DELTA,
        path=f"C++ with {_feature}",
        missing=_without(_feature, _present),
        engine_uses=never,
    )(_none)
