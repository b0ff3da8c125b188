"""Requests that only an engine process can judge: refused, unsupported, or about nothing."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linattn_verify.engine.messages import Prepare
from linattn_verify.engine.process import EngineFailure, EngineProcess
from linattn_verify.traces.store import read_trace
from linattn_verify.workloads.prompts import Prompt
from tests.conftest import PROMPTS_ONLY, Invocation, invoke
from tests.families import make_checkpoint

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        pytest.param(["--engine-arg", "blok_size=256"], "block_size", id="unknown argument"),
        pytest.param(["--max-model-len", "128"], "--max-model-len is 128", id="prompt too long"),
        pytest.param(["--engine-arg", "block_size=many"], "block_size", id="wrong type"),
    ],
)
def test_a_request_that_cannot_be_is_refused_with_exit_code_2(
    tmp_path: Path, short_prompts: Path, flags: list[str], said: str
) -> None:
    run = invoke(tmp_path / "run", *PROMPTS_ONLY, "--prompts", str(short_prompts), *flags)
    assert run.code == 2, run.out + run.err
    assert said in run.err and "Traceback" not in run.err
    assert not run.folder.exists()


@pytest.fixture(scope="module")
def engine_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProcess]:
    """A process that has no engine yet; it may be asked to prepare again and again."""
    log = tmp_path_factory.mktemp("logs") / "child.log"
    with EngineProcess(log, {"HF_HUB_OFFLINE": "1"}) as process:
        yield process


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param({"engine_args": ("enable_prefix_caching",)}, "scenarios", id="ours"),
        pytest.param({"model": "nobody/no-such-model"}, "--model /path", id="hub unreachable"),
        pytest.param(
            {"prompts": (Prompt(id="big", token_ids=(5, 99999999)),)}, "99999999", id="token id"
        ),
        pytest.param({"prompts": (Prompt(id="one", token_ids=(5,)),)}, "'one'", id="one token"),
    ],
)
def test_what_the_checkpoint_does_not_allow_is_refused(
    engine_process: EngineProcess, checkpoint: Path, changes: dict[str, Any], said: str
) -> None:
    ask = Prepare(
        model=str(checkpoint), revision=None, trust_remote_code=False, prompts=(), engine_args=()
    )
    with pytest.raises(EngineFailure, match=said) as refused:
        engine_process.ask(ask.model_copy(update=changes), timeout=120)
    assert refused.value.failure.usage


def test_a_budget_above_every_prompt_and_prompts_below_a_block_prove_nothing(
    tmp_path: Path, short_prompts: Path
) -> None:
    run = invoke(
        tmp_path / "run",
        *(
            *PROMPTS_ONLY,
            "--prompts",
            str(short_prompts),
            "--budgets",
            "4096",
            "--decode-tokens",
            "3",
        ),
        *("--only", "chunked_prefill", "--only", "prefix_cache"),
    )
    assert run.code == 3, run.out + run.err
    chunked = run.check("chunked_prefill", "chunked@4096")
    assert chunked["verdict"] == "VACUOUS" and "prefill" in chunked["message"]
    assert run.check("prefix_cache", "cold")["verdict"] == "PASS"
    assert run.check("prefix_cache", "warm")["verdict"] == "VACUOUS"


def test_what_the_engine_cannot_do_is_unsupported_and_named(
    tmp_path: Path, short_prompts: Path
) -> None:
    run = invoke(
        tmp_path / "run", *PROMPTS_ONLY, "--prompts", str(short_prompts), "--dtype", "float32"
    )
    assert run.code == 3, run.out + run.err
    assert run.report["verdict"] == "UNSUPPORTED"
    assert "requires BF16" in run.out


def test_a_setting_that_the_engine_changes_fails_effective_config(
    tmp_path: Path, short_prompts: Path
) -> None:
    run = invoke(
        tmp_path / "run",
        *(*PROMPTS_ONLY, "--prompts", str(short_prompts), "--engine-arg", "block_size=128"),
        *("--engine-arg", "attention_backend=FLASH_ATTN"),
        *("--only", "effective_config", "--decode-tokens", "3", "--budgets", "64"),
    )
    assert run.code == 1, run.out + run.err
    check = run.check("effective_config", "caching")
    assert check["verdict"] == "FAIL"
    assert "block_size" in check["message"] and "128" in check["message"]
    # Of the backend the configuration still says what was asked for.
    assert run.report["engine"]["resolved"]["caching"]["attention_backend"] == "FLASH_ATTN"
    assert (
        "attention_backend asked for FLASH_ATTN, the layers of attention use CPU_ATTN "
        "(log: Cannot use AttentionBackendEnum.FLASH_ATTN backend on CPU.)"
    ) in check["message"]


GUARD = """
import importlib.abc, importlib.machinery, sys

class Guard(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != "vllm.platforms.cpu":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        run = spec.loader.exec_module
        def exec_module(module):
            run(module)
            check = module.CpuPlatform.check_and_update_config.__func__
            def switched_off(cls, config):
                cache = config.cache_config
                cache.enable_prefix_caching = False
                cache.mamba_cache_mode = "none"
                cache.mamba_block_size = config.model_config.max_model_len
                module.logger.info("Prefix caching is not supported on %s; disabling it.", "this")
                module.logger.warning_once("Chunked prefill is disabled on this platform.")
                check(cls, config)
            module.CpuPlatform.check_and_update_config = classmethod(switched_off)
        spec.loader.exec_module = exec_module
        return spec

sys.meta_path.insert(0, Guard())
"""


def test_a_platform_guard_that_switches_caching_off_is_found(
    tmp_path: Path, short_prompts: Path
) -> None:
    guard = tmp_path / "guard"
    guard.mkdir()
    (guard / "sitecustomize.py").write_text(GUARD)
    run = invoke(
        tmp_path / "run",
        *(
            *PROMPTS_ONLY,
            "--prompts",
            str(short_prompts),
            "--skip",
            "chunked_prefill",
            "--decode-tokens",
            "3",
        ),
        *("--budgets", "64"),
        PYTHONPATH=os.pathsep.join((str(guard), os.environ.get("PYTHONPATH", ""))),
    )
    assert run.code == 1, run.out + run.err
    check = run.check("effective_config", "caching")
    assert check["verdict"] == "FAIL"
    assert (
        "enable_prefix_caching asked for on, engine resolved off "
        "(log: Prefix caching is not supported on this; disabling it.)"
    ) in check["message"]
    assert (  # switched off by its word alone
        "enable_chunked_prefill asked for on, engine resolved on, but its log says off "
        "(log: Chunked prefill is disabled on this platform.)"
    ) in check["message"]
    assert run.check("effective_config", "plain")["verdict"] == "FAIL"
    for scenario in ("cold", "warm", "warm-2"):
        assert run.check("prefix_cache", scenario)["verdict"] == "VACUOUS"


@pytest.fixture(scope="module")
def two_ways(
    tmp_path_factory: pytest.TempPathFactory, short_prompts: Path
) -> tuple[Invocation, Invocation]:
    """The same budgets on one shared engine, and on an engine each."""
    folder = tmp_path_factory.mktemp("isolate")
    flags = [
        *PROMPTS_ONLY,
        "--prompts",
        str(short_prompts),
        "--budgets",
        "48",
        "--only",
        "chunked_prefill",
    ]
    return invoke(folder / "shared", *flags), invoke(folder / "isolated", *flags, "--isolate")


@pytest.mark.slow
def test_isolated_engines_give_the_same_traces_as_a_shared_one(
    two_ways: tuple[Invocation, Invocation],
) -> None:
    shared, isolated = two_ways
    assert (shared.code, isolated.code) == (0, 0), shared.err + isolated.err
    assert list(isolated.report["engine"]["resolved"]) == ["full", "chunked@48"]
    resolved = isolated.report["engine"]["resolved"]["chunked@48"]
    assert resolved["max_num_batched_tokens"] == 48
    for scenario in ("full", "chunked@48"):
        one, other = (read_trace(r.folder / f"traces/{scenario}.parquet").rows for r in two_ways)
        columns = ["request", "leg", "position", "token", "logprob", "step", "chunk"]
        assert one[columns].equals(other[columns])


def test_json_to_standard_output_is_all_that_is_there(
    tmp_path: Path, short_prompts: Path, checkpoint: Path
) -> None:
    model = make_checkpoint("qwen3", "bfloat16", checkpoint, tmp_path / "qwen3")
    run = invoke(
        tmp_path / "run",
        *(
            *("--skip", "task_score", "--skip", "kernels"),
            "--model",
            str(model),
            "--prompts",
            str(short_prompts),
            "--budgets",
            "64,33",
        ),
        *("--engine-arg", "block_size=32", "--json", "-"),
    )
    assert run.code == 0, run.out + run.err
    report = json.loads(run.out)
    assert report["verdict"] == "PASS" and "PASS" in run.err
    # A model without linear attention still runs, and the report says so.
    assert report["model"]["linear_attention"] is False
    assert any("no linear-attention layer" in note for note in report["notes"])
    assert {r["name"] for r in report["scenarios"]} >= {"warm", "warm-2"}
    # Nothing of it has a state to compare; its cache blocks are blocks all the same.
    judged = {c["name"] for c in report["checks"]}
    assert "state_equivalence" not in judged and "cache_hygiene" in judged
