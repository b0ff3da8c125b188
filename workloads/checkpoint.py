"""The embedded model: made on first use, the same to the bit on every machine."""

import json
from pathlib import Path

from platformdirs import user_cache_path

from linattn_verify.configs.errors import UsageError
from linattn_verify.workloads.architecture import (
    config,
    image_processor_config,
    shapes,
    video_processor_config,
)
from linattn_verify.workloads.corpus import embedded_texts
from linattn_verify.workloads.folder import make_folder
from linattn_verify.workloads.tokenizer import tokenizer_config, tokenizer_document
from linattn_verify.workloads.weights import write_weights

NAME = "qwen3_5-tiny-1"
"""Its last number goes up with every change of content, so that caches are not taken for new."""

CARD = """\
---
library_name: transformers
tags: [random-weights, testing]
---
# A tiny Qwen3.5 with random weights

Made by linattn-verify to test how an engine serves hybrid models: three Gated DeltaNet layers
and one of full attention, with a vision tower, in the shape of Qwen3.5-0.8B. The weights are
random and were never trained: it says nothing sensible, and is for testing serving only. Its
decay rates are chosen so that a recurrent state that is lost shows in what follows.
"""


def embedded_checkpoint(root: Path | None = None) -> Path:
    """The folder of the embedded model, made if it is not there or not whole.

    `root` is the folder it is kept in; by default the user's cache. Safe to call from several
    processes at once. Raises UsageError where the folder cannot be written.
    """
    home = user_cache_path("linattn-verify") / "models" if root is None else root
    try:
        return make_folder(home / NAME, _fill)
    except OSError as error:
        raise UsageError(
            f"The embedded model cannot be kept in {home}: {error.strerror or error}. "
            "Make the folder writable, or set XDG_CACHE_HOME to one that is."
        ) from error


def _fill(path: Path) -> None:
    texts = [text.text for text in embedded_texts()]
    _write_json(path / "config.json", config())
    _write_json(path / "generation_config.json", {"do_sample": False, "eos_token_id": [0, 2]})
    _write_json(path / "preprocessor_config.json", image_processor_config())
    _write_json(path / "video_preprocessor_config.json", video_processor_config())
    _write_json(path / "tokenizer.json", tokenizer_document(texts))
    _write_json(path / "tokenizer_config.json", tokenizer_config())
    (path / "README.md").write_text(CARD, encoding="utf-8")
    write_weights(path / "model.safetensors", shapes())


def _write_json(path: Path, document: dict[str, object]) -> None:
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    path.write_bytes(text.encode())
