"""Settings against what the engine has, what its scenarios need, and what its log says."""

from typing import TYPE_CHECKING, Any

import pytest

from linattn_verify.checks.evidence import EngineSettings
from linattn_verify.checks.result import CheckResult, Verdict
from linattn_verify.traces.guard import Did, Guard
from linattn_verify.traces.observed import Compiled, LayerGroup, Observed

if TYPE_CHECKING:
    from tests.checks.world import World

REQUESTED: dict[str, Any] = {
    "enable_prefix_caching": True,
    "enable_chunked_prefill": True,
    "max_num_batched_tokens": 37,
}
RESOLVED: dict[str, Any] = {
    **REQUESTED,
    "mamba_cache_mode": "align",
    "mamba_cache_dtype": "auto",
    "mamba_ssm_cache_dtype": "float32",
    "enforce_eager": True,
    "compilation_mode": "NONE",
    "block_size": 48,
    "kv_cache_dtype": "auto",
}
STATE = LayerGroup(
    kind="gdn_attn",
    layers=3,
    backend="GDN_ATTN",
    block_size=48,
    dtypes={"convolution": "bfloat16", "recurrent": "float32"},
    prefill_backend="triton",
)
FULL = LayerGroup(
    kind="attention",
    layers=1,
    backend="CPU_ATTN",
    block_size=48,
    dtypes={"attention": "bfloat16"},
)


def observed(
    *groups: LayerGroup, budget: int | None = 37, compiled: Compiled | None = None
) -> Observed:
    """What the engine of REQUESTED has, or something else."""
    return Observed(
        groups=groups or (STATE, FULL),
        scheduler_budget=budget,
        hit_alignment=48,
        compiled=compiled,
    )


def judged(
    world: "World",
    asked: dict[str, Any] | None = None,
    got: dict[str, Any] | None = None,
    seen: Observed | None = None,
    *guards: Guard,
) -> CheckResult:
    """The verdict on a healthy caching engine but for what is given."""
    world.engines["cache"] = EngineSettings(
        {**REQUESTED, **(asked or {})},
        {**RESOLVED, **(asked or {}), **(got or {})},
        guards=guards,
        observed=seen or observed(),
    )
    return world.judge("effective_config", "cache")


def guard(setting: str, did: Did, value: str | None = None) -> Guard:
    return Guard(setting=setting, did=did, value=value, line=f"a line on {setting}")


def with_dtypes(group: LayerGroup, **dtypes: str) -> LayerGroup:
    return group.model_copy(update={"dtypes": {**group.dtypes, **dtypes}})


def test_a_healthy_engine_passes_and_counts_what_was_asked_for(world: "World") -> None:
    result = judged(world)
    assert result.verdict is Verdict.PASS
    assert result.message == "3 settings resolved as asked for"
    assert result.counts == {"requested": 3, "same": 3, "changed": 0, "not_reported": 0}


OTHERWISE: dict[str, tuple[dict[str, Any], dict[str, Any], Observed, str]] = {
    "state dtype asked for": (
        {"mamba_ssm_cache_dtype": "bfloat16"},
        {},
        observed(),
        "mamba_ssm_cache_dtype asked for bfloat16, the recurrent tensors of gdn_attn are float32",
    ),
    "state dtype configured": (
        {},
        {},
        observed(with_dtypes(STATE, recurrent="bfloat16"), FULL),
        "mamba_ssm_cache_dtype configured as float32, the recurrent tensors of gdn_attn are "
        "bfloat16",
    ),
    "convolution dtype": (
        {"mamba_cache_dtype": "float16"},
        {},
        observed(),
        "mamba_cache_dtype asked for float16, the convolution tensors of gdn_attn are bfloat16",
    ),
    "state of minimax": (
        {"mamba_cache_dtype": "float16"},
        {},
        observed(STATE.model_copy(update={"kind": "linear", "dtypes": {"recurrent": "float32"}})),
        "mamba_cache_dtype asked for float16, the recurrent tensors of linear are float32",
    ),
    "key and value dtype": (
        {"kv_cache_dtype": "bfloat16"},
        {},
        observed(STATE, with_dtypes(FULL, **{"attention": "float16"})),
        "kv_cache_dtype asked for bfloat16, the cache tensors of attention are float16",
    ),
    "attention block size": (
        {"block_size": 32},
        {},
        observed(),
        "block_size asked for 32, the blocks of attention hold 48",
    ),
    "state block size": (
        {"mamba_block_size": 64},
        {},
        observed(),
        "mamba_block_size asked for 64, the blocks of gdn_attn hold 48",
    ),
    "attention backend": (
        {"attention_backend": "FLASH_ATTN"},
        {},
        observed(),
        "attention_backend asked for FLASH_ATTN, the layers of attention use CPU_ATTN",
    ),
    "nested attention backend": (
        {"attention_config": {"backend": "FLASH_ATTN"}},
        {},
        observed(),
        "attention_backend asked for FLASH_ATTN, the layers of attention use CPU_ATTN",
    ),
    "linear-attention backend": (
        {"gdn_prefill_backend": "flashinfer"},
        {},
        observed(),
        "gdn_prefill_backend asked for flashinfer, the layers of gdn_attn use triton",
    ),
    "budget": (
        {},
        {},
        observed(budget=36),
        "max_num_batched_tokens asked for 37, the scheduler holds 36",
    ),
    "cache mode": (
        {},
        {"mamba_cache_mode": "none"},
        observed(),
        "mamba_cache_mode needed by the scenarios: a mode that keeps states, engine resolved none",
    ),
    "compilation mode": (
        {"enforce_eager": False},
        {},
        observed(),
        "compilation follows from enforce_eager off: on, engine resolved mode NONE",
    ),
    "nothing compiled": (
        {"enforce_eager": False},
        {"compilation_mode": "DYNAMO_TRACE_ONCE"},
        observed(compiled=Compiled(compilable=3, wanted=1, done=0)),
        "compilation follows from enforce_eager off: on, the model has 0 of 3 modules compiled",
    ),
}


@pytest.mark.parametrize("case", OTHERWISE)
def test_what_the_engine_has_otherwise_fails_by_name(world: "World", case: str) -> None:
    asked, got, seen, message = OTHERWISE[case]
    result = judged(world, asked, got, seen)
    assert result.verdict is Verdict.FAIL
    assert result.message.split("; not reported")[0] == message
    assert result.counts["changed"] == 1


AS_ASKED: dict[str, tuple[dict[str, Any], dict[str, Any], Observed]] = {
    "torch's spelling": ({"mamba_ssm_cache_dtype": "torch.float32"}, {}, observed()),
    "left to the engine": ({"mamba_ssm_cache_dtype": "auto"}, {}, observed()),
    "fp8 lies in bytes": (
        {"kv_cache_dtype": "fp8"},
        {},
        observed(with_dtypes(FULL, **{"attention": "uint8"})),
    ),
    "a backend's spelling": ({"attention_backend": "cpu-attn"}, {}, observed()),
    "block size as text": ({"block_size": "48"}, {}, observed()),
    "caching off": ({"enable_prefix_caching": False}, {"mamba_cache_mode": "none"}, observed()),
    "no state": ({}, {"mamba_cache_mode": "none"}, observed(FULL)),
    "compiled": (
        {"enforce_eager": False},
        {"compilation_mode": "DYNAMO_TRACE_ONCE"},
        observed(compiled=Compiled(compilable=3, wanted=1, done=1)),
    ),
    "no compilation asked for": (
        {"enforce_eager": False, "compilation_config": {"mode": 0}},
        {},
        observed(),
    ),
    "no optimization asked for": (
        {"enforce_eager": False, "optimization_level": 0},
        {},
        observed(),
    ),
}


@pytest.mark.parametrize("case", AS_ASKED)
def test_what_is_as_asked_for_passes(world: "World", case: str) -> None:
    result = judged(world, *AS_ASKED[case])
    assert result.verdict is Verdict.PASS, result.message


def test_a_setting_known_from_the_layers_alone_is_no_longer_unreported(world: "World") -> None:
    asked = {**REQUESTED, "gdn_prefill_backend": "triton"}
    world.engines["cache"] = EngineSettings(asked, RESOLVED, observed=observed())
    result = world.judge("effective_config", "cache")
    assert result.message == "4 settings resolved as asked for"


@pytest.mark.parametrize("name", ["enable_prefix_caching", "enable_chunked_prefill"])
def test_a_precondition_that_the_engine_does_not_report_is_vacuous(
    world: "World", name: str
) -> None:
    resolved = {k: v for k, v in RESOLVED.items() if k != name}
    world.engines["cache"] = EngineSettings(REQUESTED, resolved, observed=observed())
    result = world.judge("effective_config", "cache")
    assert result.verdict is Verdict.VACUOUS
    assert result.message.startswith(f"the scenarios need {name}")


def test_chunked_prefill_is_needed_though_nobody_asks_for_it(world: "World") -> None:
    asked, got = {"seed": 3}, {"seed": 3, "enable_chunked_prefill": False}
    world.engines["cache"] = EngineSettings(asked, got)
    result = world.judge("effective_config", "cache")
    assert result.verdict is Verdict.FAIL
    assert result.message == (
        "enable_chunked_prefill needed by the scenarios: on, engine resolved off"
    )
    assert result.counts == {"requested": 1, "same": 1, "changed": 1, "not_reported": 0}


@pytest.mark.parametrize("name", ["enable_prefix_caching", "enable_chunked_prefill"])
def test_a_guard_that_only_the_log_tells_of_fails_and_is_quoted(world: "World", name: str) -> None:
    result = judged(world, None, None, None, guard(name, Did.OFF))
    assert result.verdict is Verdict.FAIL
    assert result.message == (
        f"{name} asked for on, engine resolved on, but its log says off (log: a line on {name})"
    )


@pytest.mark.parametrize(
    ("asked", "said", "message"),
    [
        (
            {"quantization": "fp8"},
            guard("quantization", Did.REFUSED, "fp8"),
            "quantization asked for fp8, engine resolved fp8, but its log refuses fp8",
        ),
        (
            {"mamba_cache_mode": "all"},
            guard("mamba_cache_mode", Did.SET, "align"),
            "mamba_cache_mode asked for all, engine resolved all, but its log says align",
        ),
        (
            {"enforce_eager": False, "compilation_mode": "VLLM_COMPILE"},
            guard("compilation", Did.OFF),
            "compilation asked for on, its log says off",
        ),
    ],
)
def test_a_guard_against_what_was_asked_for_fails(
    world: "World", asked: dict[str, Any], said: Guard, message: str
) -> None:
    result = judged(world, asked, None, None, said)
    assert result.verdict is Verdict.FAIL
    assert result.message == f"{message} (log: {said.line})"


INFORMS = {
    "nobody asked": [guard("block_size", Did.SET, "256"), guard("async_scheduling", Did.OFF)],
    "warned": [guard("enable_prefix_caching", Did.WARNED)],
    "as asked": [guard("max_num_batched_tokens", Did.SET, "37")],
    "eager was asked for": [guard("compilation", Did.OFF), guard("cudagraph_mode", Did.OFF)],
    "the last word counts": [
        guard("max_num_seqs", Did.SET, "5"),
        guard("max_num_seqs", Did.SET, "7"),
    ],
}


@pytest.mark.parametrize("case", INFORMS)
def test_a_guard_that_informs_is_no_failure(world: "World", case: str) -> None:
    result = judged(world, {"max_num_seqs": 7}, None, None, *INFORMS[case])
    assert result.verdict is Verdict.PASS, result.message


def test_a_warning_takes_nothing_back(world: "World") -> None:
    name = "enable_prefix_caching"
    said = guard(name, Did.OFF), guard(name, Did.WARNED)
    assert judged(world, None, None, None, *said).verdict is Verdict.FAIL


def test_what_is_otherwise_is_not_counted_as_the_same(world: "World") -> None:
    result = judged(world, {"mamba_ssm_cache_dtype": "bfloat16"})
    assert result.counts == {"requested": 4, "same": 3, "changed": 1, "not_reported": 0}


def test_what_the_engine_has_outweighs_what_it_says(world: "World") -> None:
    said = guard("block_size", Did.SET, "64")
    assert judged(world, {"block_size": 48}, None, None, said).verdict is Verdict.PASS


def test_a_setting_is_listed_once_with_the_logs_last_word(world: "World") -> None:
    said = guard("attention_backend", Did.REFUSED, "FLASH_ATTN")
    result = judged(world, {"attention_backend": "FLASH_ATTN"}, None, None, said)
    assert result.message.count("attention_backend asked for") == 1
    assert result.message.endswith("use CPU_ATTN (log: a line on attention_backend)")
