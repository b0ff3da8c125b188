"""What an engine process finds in its environment."""

import pytest

from linattn_verify.cli.pipeline import engine_environment


@pytest.mark.parametrize("level", ["WARNING", "error"])
def test_a_log_that_would_hide_what_is_switched_off_is_opened(
    monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    monkeypatch.setenv("VLLM_LOGGING_LEVEL", level)
    assert engine_environment("a/model")["VLLM_LOGGING_LEVEL"] == "INFO"


@pytest.mark.parametrize("level", ["DEBUG", "INFO"])
def test_a_log_that_tells_enough_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    monkeypatch.setenv("VLLM_LOGGING_LEVEL", level)
    assert "VLLM_LOGGING_LEVEL" not in engine_environment("a/model")
