"""The model as far as it can be judged from outside."""

from collections.abc import Callable
from pathlib import Path

import pytest

from linattn_verify.cli.model import (
    check_engine_is_installed,
    check_harness_is_installed,
    check_model,
    weight_files,
    weights_digest,
)
from linattn_verify.configs.errors import UsageError


@pytest.mark.parametrize(
    ("check", "package"),
    [(check_engine_is_installed, "vllm"), (check_harness_is_installed, "lm_eval")],
    ids=["engine", "harness"],
)
def test_only_its_own_package_is_missed(
    monkeypatch: pytest.MonkeyPatch, check: Callable[[], None], package: str
) -> None:
    there = {"vllm", "lm_eval"}
    monkeypatch.setattr(
        "linattn_verify.cli.model.find_spec", lambda name: object() if name in there else None
    )
    check()
    there.remove(package)
    with pytest.raises(UsageError, match=r"is not installed.*pip install"):
        check()


@pytest.mark.parametrize("name", ["owner/model", "model", "owner/model-1.5_b"])
def test_a_hub_name_is_left_to_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    check_model(name)


def test_a_checkpoint_folder_is_accepted_by_any_spelling(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model.parent)
    monkeypatch.setenv("HOME", str(model.parent))
    for spelling in (str(model), model.name, f"./{model.name}", f"~/{model.name}"):
        check_model(spelling)


def test_weight_files_come_by_name_and_nothing_else(model: Path) -> None:
    for name in ("b.safetensors", "a.gguf", "model.safetensors.index.json", "notes.txt"):
        (model / name).write_text(name)
    assert [f.name for f in weight_files(model)] == [
        "a.gguf", "b.safetensors", "model.safetensors"
    ]  # fmt: skip


def changed(model: Path, how: str) -> None:
    weights = model / "model.safetensors"
    if how == "a-byte":
        weights.write_bytes(b"weightz")
    elif how == "a-name":
        weights.rename(model / "other.safetensors")
    elif how == "one-more":
        (model / "second.safetensors").write_bytes(b"")
    else:
        (model / "README.md").write_text("words")


@pytest.mark.parametrize(
    ("how", "same"),
    [("a-byte", False), ("a-name", False), ("one-more", False), ("a-readme", True)],
    ids=lambda value: str(value),
)
def test_the_digest_is_of_the_weights(model: Path, how: str, same: bool) -> None:
    before = weights_digest(model)
    assert len(before) == 64
    changed(model, how)
    assert (weights_digest(model) == before) is same
