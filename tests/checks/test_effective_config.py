"""Settings as asked for, changed, or not shown."""

from typing import TYPE_CHECKING, Any

import pytest

from linattn_verify.checks.evidence import EngineSettings
from linattn_verify.checks.result import CheckResult, Verdict
from linattn_verify.checks.settings import compare_settings
from linattn_verify.traces.outcome import Status

if TYPE_CHECKING:
    from tests.checks.world import World


def judged(world: "World", requested: dict[str, Any], resolved: dict[str, Any]) -> CheckResult:
    notes = ("weights loaded", "Prefix caching is not supported here, disabling it.")
    world.engines["cache"] = EngineSettings(requested, resolved, notes)
    return world.judge("effective_config", "cache")


def test_a_setting_switched_off_fails_and_quotes_the_log(world: "World") -> None:
    result = judged(world, {"enable_prefix_caching": True}, {"enable_prefix_caching": False})
    assert result.verdict is Verdict.FAIL
    assert result.message == (
        "enable_prefix_caching asked for on, engine resolved off "
        "(log: Prefix caching is not supported here, disabling it.)"
    )


def test_every_changed_setting_is_listed(world: "World") -> None:
    asked = {"block_size": 16, "seed": 3, "dtype": "float32", "other": 1}
    result = judged(world, asked, {"block_size": 128, "seed": 3, "dtype": "bfloat16"})
    assert result.verdict is Verdict.FAIL
    assert "block_size asked for 16, engine resolved 128" in result.message
    assert "dtype asked for float32, engine resolved bfloat16" in result.message
    assert result.message.endswith("not reported: other")
    assert result.counts == {"requested": 4, "same": 1, "changed": 2, "not_reported": 1}


def test_a_setting_that_is_not_reported_is_listed_without_a_verdict(world: "World") -> None:
    result = judged(world, {"seed": 3, "hidden": 1}, {"seed": 3})
    assert result.verdict is Verdict.PASS
    assert result.message == "1 settings resolved as asked for; not reported: hidden"


@pytest.mark.parametrize("asked", [{}, {"hidden": 1}])
def test_nothing_compared_is_vacuous(world: "World", asked: dict[str, Any]) -> None:
    assert judged(world, asked, {"seed": 3}).verdict is Verdict.VACUOUS


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        ("auto", "bfloat16"),
        (None, 512),
        ("bfloat16", "torch.bfloat16"),
        (1, "1"),
        (0.5, 0.50),
        (True, "True"),
        ([1, 2], (1, 2)),
        ({"a": 1}, {"a": 1, "b": 2}),
    ],
)
def test_spelling_is_no_change(asked: Any, got: Any) -> None:
    assert compare_settings({"x": asked}, {"x": got}).changed == ()


@pytest.mark.parametrize(
    ("asked", "got"),
    [(True, False), (16, 128), ("align", "none"), ([1, 2], [1]), ({"a": 1}, {"a": 2}), (16, None)],
)
def test_another_value_is_a_change(asked: Any, got: Any) -> None:
    assert len(compare_settings({"x": asked}, {"x": got}).changed) == 1


def test_a_number_with_a_name_is_no_change() -> None:
    assert compare_settings({"x": "none"}, {"x": "NONE"}).changed == ()


@pytest.mark.parametrize(
    ("engine", "scenarios", "verdict"),
    [
        ("cache", ("cold", "warm", "warm-2"), Verdict.FAIL),
        ("plain", ("full",), Verdict.ERROR),
        ("plain", ("full", "chunked@7"), Verdict.FAIL),
    ],
)
def test_an_engine_that_did_not_start_has_its_scenarios_verdict(
    world: "World", engine: str, scenarios: tuple[str, ...], verdict: Verdict
) -> None:
    del world.engines[engine]
    for name in scenarios:
        world.end(name, Status.CRASHED, "SIGILL")
    result = world.judge("effective_config", engine)
    assert result.verdict is verdict
    assert "crashed: SIGILL" in result.message


def test_an_engine_that_served_but_left_no_settings_is_an_error(world: "World") -> None:
    del world.engines["plain"]
    assert world.judge("effective_config", "plain").verdict is Verdict.ERROR
