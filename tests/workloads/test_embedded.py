"""The models that ship with the tool."""

from pathlib import Path

import pytest

from linattn_verify.cli.main import run
from linattn_verify.cli.model import check_model
from linattn_verify.workloads import checkpoint
from linattn_verify.workloads.embedded import DEFAULT, EMBEDDED
from linattn_verify.workloads.pocket.checkpoint import pocket_checkpoint


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's cache folder is one of this test."""
    monkeypatch.setattr(checkpoint, "user_cache_path", lambda name: tmp_path / name)


@pytest.mark.parametrize("name", EMBEDDED)
def test_every_one_is_a_whole_checkpoint(name: str) -> None:
    check_model(str(EMBEDDED[name]()))


def test_they_are_two_models() -> None:
    assert set(EMBEDDED) == {"pocket", "random"}
    assert EMBEDDED["pocket"]() == pocket_checkpoint()
    assert EMBEDDED["random"]() != pocket_checkpoint()


def test_the_commands_own_choice_is_the_one_that_has_a_score_to_lose() -> None:
    (model,) = [option for option in run.params if option.name == "model"]
    assert model.default == DEFAULT == "pocket"
