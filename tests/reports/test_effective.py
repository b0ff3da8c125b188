"""Rows on the settings that decide what a scenario tests, and the page that shows them."""

from collections.abc import Callable
from typing import Any

import pytest

from linattn_verify.checks.evidence import EngineSettings
from linattn_verify.reports.document import Report
from linattn_verify.reports.effective import SHOWN, effective_settings
from linattn_verify.reports.settings import engine_section
from linattn_verify.traces.guard import Did, Guard
from linattn_verify.traces.observed import Compiled, LayerGroup, Observed
from tests.reports.pages import compact

Make = Callable[..., Report]

REQUESTED: dict[str, Any] = {
    "enable_prefix_caching": True,
    "enable_chunked_prefill": True,
    "max_num_batched_tokens": 37,
    "enforce_eager": False,
    "mamba_ssm_cache_dtype": "float16",
    "mamba_cache_dtype": "auto",
    "block_size": 32,
    "attention_backend": "FLASH_ATTN",
}
RESOLVED: dict[str, Any] = {
    **REQUESTED,
    "block_size": 48,
    "mamba_block_size": 96,
    "mamba_cache_mode": "align",
    "compilation_mode": "DYNAMO_TRACE_ONCE",
}
OBSERVED = Observed(
    groups=(
        LayerGroup(
            kind="gdn_attn",
            layers=3,
            backend="GDN_ATTN",
            block_size=96,
            dtypes={"convolution": "bfloat16", "recurrent": "float32"},
            forward="forward_cpu",
        ),
        LayerGroup(
            kind="attention",
            layers=1,
            backend="CPU_ATTN",
            block_size=48,
            dtypes={"attention": "bfloat16"},
        ),
    ),
    scheduler_budget=36,
    hit_alignment=96,
    compiled=Compiled(compilable=3, wanted=1, done=1),
)
ROWS = {
    "chunked prefill": ("on", "on"),
    "budget": ("37", "37, scheduler 36"),
    "prefix caching": ("on", "on"),
    "mamba cache mode": ("–", "align"),
    "state dtype": (
        "recurrent float16",
        "gdn_attn: convolution bfloat16, recurrent float32; configured auto/float16",
    ),
    "block size": (
        "attention 32",
        "attention 48, gdn_attn 96; hits at 96; configured 48/96",
    ),
    "eager or compiled": (
        "compiled",
        "compiled, mode DYNAMO_TRACE_ONCE, 1 of 3 modules have run compiled",
    ),
    "attention backend": ("FLASH_ATTN", "CPU_ATTN"),
    "linear-attention backend": ("–", "gdn_attn: GDN_ATTN, forward_cpu"),
}


def rows(engine: EngineSettings) -> dict[str, tuple[str, str]]:
    return {row.setting: (row.requested, row.resolved) for row in effective_settings(engine)}


def test_every_setting_has_a_row_with_what_the_engine_has() -> None:
    assert rows(EngineSettings(REQUESTED, RESOLVED, observed=OBSERVED)) == ROWS


def test_what_is_not_known_is_not_made_up() -> None:
    found = rows(EngineSettings({}, {}))
    assert set(found) == set(ROWS)
    assert found["attention backend"] == ("–", "–")
    assert found["eager or compiled"] == ("–", "–")
    assert found["budget"] == ("–", "–")


def test_an_eager_engine_without_caching_says_nothing_of_modules_and_hits() -> None:
    resolved = {**RESOLVED, "enforce_eager": True, "enable_prefix_caching": False}
    found = rows(EngineSettings({**REQUESTED, "enforce_eager": True}, resolved, observed=OBSERVED))
    assert found["eager or compiled"] == ("eager", "eager, mode DYNAMO_TRACE_ONCE")
    assert "hits" not in found["block size"][1]


@pytest.fixture
def page(made: Make) -> str:
    """Two engines, alike but for caching, on the compact page of 80 columns."""
    off = {"enable_prefix_caching": False}
    said = (
        Guard(setting="block_size", did=Did.SET, value="48", line="Setting block size to 48"),
        Guard(setting="compilation", did=Did.OFF, line="disabling both"),
        Guard(setting="cudagraph_mode", did=Did.OFF, line="disabling both"),
    )
    notes = ("another line", "Setting block size to 48", "disabling both")
    engines = engine_section(
        {
            "plain": EngineSettings({**REQUESTED, **off}, {**RESOLVED, **off}, notes, said),
            "cached": EngineSettings(REQUESTED, RESOLVED, notes, said, OBSERVED),
        }
    )
    return compact(made("pass").model_copy(update={"engine": engines}))


def test_engines_that_agree_share_a_row(page: str) -> None:
    lines = [line.split() for line in page.splitlines()]
    assert [line for line in lines if line[:2] == ["chunked", "prefill"]] == [
        ["chunked", "prefill", "on", "on", "all"]
    ]
    assert [line[2:] for line in lines if line[:2] == ["prefix", "caching"]] == [
        ["off", "off", "plain"],
        ["on", "on", "cached"],
    ]


def test_a_row_of_its_own_is_not_among_the_engines_choices(page: str) -> None:
    assert "mamba_block_size" in SHOWN
    assert "mamba_block_size =" not in page and "mamba_cache_mode =" not in page


def test_guards_come_first_and_are_named(page: str) -> None:
    log = page[page.index("In the log of engines") :].splitlines()
    assert [line.strip() for line in log[1:4]] == [
        "block_size = 48: Setting block size to 48",
        "compilation off, cudagraph_mode off: disabling both",
        "another line",
    ]
    assert page.count("disabling both") == 1


def test_a_change_that_nobody_asked_about_takes_nothing_from_what_is_in_effect(page: str) -> None:
    """Of 8 requested settings an engine, block_size is otherwise in both; the cached one's
    backend, recurrent dtype and scheduler too."""
    assert "11 of 16 requested settings are in effect as requested." in page
