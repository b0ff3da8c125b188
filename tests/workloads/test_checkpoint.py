"""The embedded model is the same everywhere, whole, and of the shape it claims."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from linattn_verify.configs.errors import UsageError
from linattn_verify.workloads.checkpoint import NAME, embedded_checkpoint
from linattn_verify.workloads.folder import folder_digest, is_whole
from linattn_verify.workloads.prompts import embedded_prompts

KNOWN = ("qwen3_5-tiny-1", "6de753abb8a8b13c695a46084f82d70785c4611cd549d16c3273dd9275d8001b")
"""The name and the digest of what it stands for: change them together, never one alone."""

MAKE = """
import sys
from pathlib import Path
from linattn_verify.workloads.checkpoint import embedded_checkpoint
print(embedded_checkpoint(Path(sys.argv[1])))
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return embedded_checkpoint(tmp_path_factory.mktemp("models"))


def _start(root: Path, **environment: str) -> subprocess.Popen[str]:
    path = os.pathsep.join(item for item in sys.path if item)
    return subprocess.Popen(
        [sys.executable, "-c", MAKE, str(root)],
        env={**os.environ, "PYTHONPATH": path, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_name_and_content_belong_together(model: Path) -> None:
    assert (model.name, folder_digest(model)) == KNOWN


@pytest.mark.parametrize(("seed", "threads"), [("1", "1"), ("4242", "2")])
def test_processes_make_the_same_bits(model: Path, tmp_path: Path, seed: str, threads: str) -> None:
    process = _start(tmp_path, PYTHONHASHSEED=seed, RAYON_NUM_THREADS=threads)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert folder_digest(Path(out.strip())) == folder_digest(model)


def test_processes_may_make_it_at_once(model: Path, tmp_path: Path) -> None:
    processes = [_start(tmp_path) for _ in range(3)]
    assert [process.communicate(timeout=60)[0].strip() for process in processes] == [
        str(tmp_path / NAME)
    ] * 3
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert folder_digest(tmp_path / NAME) == folder_digest(model)


def test_a_half_written_folder_is_made_anew(model: Path, tmp_path: Path) -> None:
    half = tmp_path / NAME
    half.mkdir()
    (half / "config.json").write_bytes((model / "config.json").read_bytes())
    (half / "model.safetensors").write_bytes((model / "model.safetensors").read_bytes()[:4097])
    assert folder_digest(embedded_checkpoint(tmp_path)) == folder_digest(model)


def test_a_process_killed_in_between_does_no_harm(model: Path, tmp_path: Path) -> None:
    process = _start(tmp_path)
    while not (tmp_path / f".{NAME}.partial").exists() and process.poll() is None:
        time.sleep(0.001)
    process.kill()
    process.communicate(timeout=60)
    assert folder_digest(embedded_checkpoint(tmp_path)) == folder_digest(model)


def test_it_is_kept_in_the_cache_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "linattn_verify.workloads.checkpoint.user_cache_path", lambda name: tmp_path / name
    )
    path = embedded_checkpoint()
    assert path == tmp_path / "linattn-verify" / "models" / NAME
    assert is_whole(path)


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match=r"cannot be kept in .*file: .*set XDG_CACHE_HOME"):
        embedded_checkpoint(tmp_path / "file")


def test_the_shape_is_that_of_a_hybrid_model(model: Path) -> None:
    config = json.loads((model / "config.json").read_text())
    text = config["text_config"]
    assert config["architectures"] == ["Qwen3_5ForConditionalGeneration"]
    assert text["layer_types"] == ["linear_attention"] * 3 + ["full_attention"]
    special = [config[f"{kind}_token_id"] for kind in ("image", "video", "vision_start")]
    assert len(set(special)) == 3 and max(special) < text["vocab_size"]


def test_the_tokenizer_fills_the_vocabulary_of_the_model(model: Path) -> None:
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    assert tokenizer.get_vocab_size() == 1024
    assert tokenizer.token_to_id("<|endoftext|>") == 0
    assert tokenizer.encode("<|im_start|>a").ids[0] == 1
    assert len(tokenizer.encode("20735").ids) == 5


def test_the_tokenizer_gives_every_prompt_back_and_reaches_its_length(model: Path) -> None:
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    for prompt in embedded_prompts():
        assert prompt.text is not None and prompt.max_tokens is not None
        ids = tokenizer.encode(prompt.text).ids
        assert tokenizer.decode(ids) == prompt.text
        assert len(ids) > prompt.max_tokens
        assert len(set(ids[: prompt.max_tokens])) > 100


def test_groups_share_500_tokens_and_part_before_they_are_cut(model: Path) -> None:
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    cut = {
        prompt.id: tokenizer.encode(prompt.text or "").ids[: prompt.max_tokens]
        for prompt in embedded_prompts()
    }
    for first, second in (("ledger", "dialogue"), ("ledger", "code"), ("agreement", "problems")):
        pairs = list(zip(cut[first], cut[second], strict=False))
        shared = next(i for i, (one, other) in enumerate(pairs) if one != other)
        assert 500 <= shared <= len(pairs) - 100


def test_the_folder_says_what_it_is(model: Path) -> None:
    card = (model / "README.md").read_text()
    assert "random" in card and "testing serving only" in card


def test_making_it_is_quick(tmp_path: Path) -> None:
    start = time.process_time()
    embedded_checkpoint(tmp_path)
    assert time.process_time() - start < 3
