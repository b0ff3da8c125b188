"""What sentences of vLLM's log say of settings: lines as vLLM 0.32.0 logs them, and others."""

import pytest

from linattn_verify.engine.guards import guards

SET = [
    (
        "Setting attention block size to 256 tokens to ensure that attention page size is >= mamba "
        "page size.",
        "block_size = 256",
    ),
    (
        "Reset SSM cache type to float32 for accelerated GDN mamba backend 'qwen3_5_text'.",
        "mamba_ssm_cache_dtype = float32",
    ),
    (
        "Mamba cache mode is set to 'align' for Qwen3_5ForConditionalGeneration by default when "
        "prefix caching is enabled",
        "mamba_cache_mode = align",
    ),
    (
        "Mamba cache mode is set to 'none' when prefix caching is disabled",
        "mamba_cache_mode = none",
    ),
    (
        "CPU MLA backend requires block_size=16, overriding user-specified block_size=64.",
        "block_size = 16",
    ),
    (
        "Using float16 SSM state storage for the CPU accelerated GDN backend.",
        "mamba_ssm_cache_dtype = float16",
    ),
    (
        "max_num_scheduled_tokens is set to 2040 based on the speculative decoding settings.",
        "max_num_batched_tokens = 2040",
    ),
    (
        "Overriding num_gpu_blocks=16384 with num_gpu_blocks_override=24",
        "num_gpu_blocks = 24",
    ),
    ("Overriding cudagraph_mode from FULL to PIECEWISE.", "cudagraph_mode = PIECEWISE"),
    (
        "CPU platform detected: overriding Mamba SSU backend from 'triton' to 'cpu'.",
        "mamba_backend = cpu",
    ),
    ("Forcing kv cache dtype to torch.bfloat16.", "kv_cache_dtype = bfloat16"),
]
OFF = [
    (
        "Prefix caching is not supported for RISC-V CPUs; disabling it for V1 backend.",
        ["enable_prefix_caching"],
    ),
    (
        "Chunked prefill is not supported forRISC-V CPUs; disabling it for V1 backend.",
        ["enable_chunked_prefill"],
    ),
    (
        "Encoder-decoder models do not support chunked prefill nor prefix caching; disabling both.",
        ["enable_prefix_caching", "enable_chunked_prefill"],
    ),
    (
        "Disabling prefix caching: this instance runs the multi-modal encoder only.",
        ["enable_prefix_caching"],
    ),
    (
        "Unlimited-OCR: disabling prefix caching (R-SWA decode KV is not cacheable)",
        ["enable_prefix_caching"],
    ),
    ("Automatic prefix caching is disabled for Mamba models.", ["enable_prefix_caching"]),
    ("Setting enable_chunked_prefill to False.", ["enable_chunked_prefill"]),
    (
        "Async scheduling will be disabled because it is not supported with the `uni` distributed "
        "executor backend.",
        ["async_scheduling"],
    ),
    ("Async scheduling is not supported with prefix caching.", ["async_scheduling"]),
    (
        "Enforce eager set, disabling torch.compile, CUDAGraphs, and JIT kernel warmup. This is "
        "equivalent to setting -cc.mode=none -cc.cudagraph_mode=none",
        ["compilation", "cudagraph_mode"],
    ),
    (
        "TORCH_COMPILE_DISABLE is set, disabling torch.compile. This is equivalent to setting "
        "-cc.mode=none",
        ["compilation"],
    ),
    (
        "`torch.compile` is turned on, but the model a/b does not support it. Please open an issue",
        ["compilation"],
    ),
    ("Dual-Batch Overlap is not supported on CPU, disabled.", ["enable_dbo"]),
]
REFUSED = [
    (
        "Cannot use AttentionBackendEnum.FLASH_ATTN backend on CPU.",
        "attention_backend FLASH_ATTN refused",
    ),
    (
        "GDN prefill backend 'flashinfer' is selected but cannot use this kernel on the current "
        "platform. Falling back to Triton/FLA.",
        "gdn_prefill_backend flashinfer refused",
    ),
    (
        "Your device 'cpu' doesn't support torch.bfloat16. Falling back to torch.float16 for "
        "compatibility.",
        "dtype bfloat16 refused",
    ),
]
WARNED = [
    "This model does not officially support prefix caching. Enabling this manually may cause the "
    "engine to crash or produce incorrect outputs.",
    "This model does not officially support disabling chunked prefill. Disabling this manually may "
    "cause the engine to crash or produce incorrect outputs.",
]
NOTHING = [
    "Chunked prefill is enabled with max_num_batched_tokens=8171.",
    "Successfully reset prefix cache",
    "To disable prefix caching, pass --no-enable-prefix-caching.",
    "Prefix caching can be disabled with --no-enable-prefix-caching.",
    "Disabling fine-grained prefix-cache hits because these KV cache managers require "
    "block-aligned lookups: X.",
    "There is a latency regression when using chunked local attention with the hybrid KV cache "
    "manager. Disabling it, by default.",
    "Inductor compilation was disabled by user settings, optimizations settings that are only "
    "active during inductor compilation will be ignored.",
    "Using custom scheduler class X. If you have subclassed Scheduler instead of AsyncScheduler, "
    "you will see degraded performance due to async scheduling being disabled.",
    "CPU backend prefers block_size is multiples of 32, otherwise the performance is not "
    "optimized.",
    "Using max model len 1216",
    "Consider disabling prefix caching for more throughput.",
    "Blocks grow larger when disabling prefix caching.",
    "Disabling sleep mode with prefix caching.",
    "Auto-prefetch is disabled because the filesystem (EXT4) is not a recognized network FS.",
]


@pytest.mark.parametrize(("line", "told"), [*SET, *REFUSED])
def test_a_value_that_is_set_or_refused_is_read(line: str, told: str) -> None:
    assert [guard.told() for guard in guards(line)] == [told]


@pytest.mark.parametrize(("line", "settings"), OFF)
def test_what_is_switched_off_is_named(line: str, settings: list[str]) -> None:
    assert [guard.told() for guard in guards(line)] == [f"{name} off" for name in settings]


@pytest.mark.parametrize("line", WARNED)
def test_what_is_not_officially_supported_is_left_as_it_is(line: str) -> None:
    (guard,) = guards(line)
    assert guard.did == "warned"


@pytest.mark.parametrize("line", NOTHING)
def test_a_line_that_switches_nothing_is_no_guard(line: str) -> None:
    assert guards(line) == ()


def test_the_line_is_kept_as_logged() -> None:
    (guard,) = guards("  Chunked prefill is disabled.\n")
    assert guard.line == "Chunked prefill is disabled."
