"""The embedded model's tokenizer: byte-level BPE, learnt from the embedded texts."""

import json
from collections.abc import Sequence
from typing import TypedDict

from linattn_verify.workloads.architecture import CONTEXT, SPECIAL_TOKENS, VOCABULARY


class _Learnt(TypedDict):
    vocab: dict[str, int]
    merges: list[str | list[str]]


CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


PIECES = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""How Qwen3.5 splits text (transformers, tokenization_qwen3_5.py). transformers 5 applies it to
every model of this type, whatever tokenizer.json says, so ours must say the same."""


def tokenizer_document(texts: Sequence[str]) -> dict[str, object]:
    """tokenizer.json for a vocabulary of `VOCABULARY` tokens learnt from `texts`.

    Only vocabulary and merges come from the library: what it writes around them, and how it
    writes a merge, changes between its releases.
    """
    learnt = _learn(texts)
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in learnt["merges"]]
    vocabulary = dict(sorted(learnt["vocab"].items(), key=lambda item: item[1]))
    return _document(vocabulary, merges)


def tokenizer_config() -> dict[str, object]:
    """tokenizer_config.json."""
    return {
        "add_prefix_space": False,
        "chat_template": CHAT_TEMPLATE,
        "clean_up_tokenization_spaces": False,
        "eos_token": SPECIAL_TOKENS[0],
        "model_max_length": CONTEXT,
        "pad_token": SPECIAL_TOKENS[0],
        "tokenizer_class": "Qwen2Tokenizer",
    }


def _learn(texts: Sequence[str]) -> _Learnt:
    from tokenizers import Tokenizer, pre_tokenizers, trainers

    tokenizer = Tokenizer.from_str(json.dumps(_document({}, [])))
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    learnt: _Learnt = json.loads(tokenizer.to_str())["model"]
    return learnt


def _document(vocabulary: dict[str, int], merges: list[str]) -> dict[str, object]:
    special = list(enumerate(SPECIAL_TOKENS)) if vocabulary else []
    split = {"type": "Split", "pattern": {"Regex": PIECES}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(number, token) for number, token in special],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, _byte_level()]},
        "post_processor": None,
        "decoder": _byte_level(),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": vocabulary,
            "merges": merges,
        },
    }


def _added(number: int, token: str) -> dict[str, object]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": number, "content": token, **flags, "special": True}


def _byte_level() -> dict[str, object]:
    flags = {"add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {"type": "ByteLevel", **flags}
