"""What a checkpoint says of itself, and its tokenizer: before any engine starts."""

import dataclasses
from pathlib import Path
from typing import Any

from linattn_verify.configs.errors import UsageError, unknown
from linattn_verify.engine.messages import ModelFacts, Prepare, Prepared
from linattn_verify.engine.tokenizer import tokenizer_facts
from linattn_verify.workloads.prompts import Prompt

OURS = frozenset(
    {"model", "scheduler_cls", "worker_extension_cls", "logits_processors", "logprobs_mode",
     "max_num_batched_tokens", "enable_chunked_prefill", "enable_prefix_caching", "max_logprobs",
     "max_model_len", "seed", "dtype", "revision", "trust_remote_code"}
)  # fmt: skip
"""Engine arguments that scenarios set, or that have a flag of their own."""
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")


def prepare(ask: Prepare) -> tuple[Prepared, Any]:
    """Read configuration and tokenizer; what they say, and the tokenizer itself. Raises UsageError
    where the request is at fault."""
    check_engine_args(ask.engine_args)
    config = _from_hub(ask, "AutoConfig")
    tokenizer = _from_hub(ask, "AutoTokenizer")
    text = config.get_text_config()
    facts = ModelFacts(
        name=ask.model,
        path=_folder(ask),
        revision=getattr(config, "_commit_hash", None) or ask.revision,
        architecture=(config.architectures or [type(config).__name__])[0],
        vocab_size=text.vocab_size,
        max_position_embeddings=getattr(text, "max_position_embeddings", None),
        experts=any(getattr(text, name, None) for name in _EXPERTS),
    )
    ids = tuple(_tokens(p, tokenizer, facts.vocab_size) for p in ask.prompts)
    facts_of_both = Prepared(model=facts, tokenizer=tokenizer_facts(tokenizer), token_ids=ids)
    return facts_of_both, tokenizer


def check_engine_args(names: tuple[str, ...]) -> None:
    """Raise UsageError for a name that vLLM's EngineArgs lacks, or that scenarios set."""
    from vllm.engine.arg_utils import EngineArgs

    known = {f.name for f in dataclasses.fields(EngineArgs)}
    for name in names:
        if name not in known:
            raise unknown("engine argument", name, known - OURS)
        if name in OURS:
            raise UsageError(
                f"Engine argument {name}: the scenarios, or a flag of their own, set this. Use "
                "--model, --budgets, --max-model-len, --dtype, --seed, --revision or --only."
            )


def _from_hub(ask: Prepare, loader: str) -> Any:
    import transformers

    what = {"AutoConfig": "configuration", "AutoTokenizer": "tokenizer"}[loader]
    try:
        return getattr(transformers, loader).from_pretrained(
            ask.model, revision=ask.revision, trust_remote_code=ask.trust_remote_code
        )
    except Exception as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        remedy = (
            "Is the folder a whole checkpoint that this transformers knows?"
            if Path(ask.model).is_dir()
            else "A hub name needs the network or a filled cache, and a valid name and revision. "
            "Otherwise download the model elsewhere and give its folder: --model /path/to/folder."
        )
        raise UsageError(
            f"The {what} of model {ask.model!r} cannot be loaded: {first}\n{remedy}"
        ) from error


def _folder(ask: Prepare) -> str | None:
    """The local folder that holds the checkpoint, fetched if it is not there yet."""
    if Path(ask.model).is_dir():
        return str(Path(ask.model).resolve())
    from huggingface_hub import snapshot_download

    try:
        return snapshot_download(ask.model, revision=ask.revision)
    except Exception as error:
        raise UsageError(
            f"The weights of model {ask.model!r} cannot be fetched ({type(error).__name__}: "
            f"{error}). Give the folder of a downloaded model: --model /path/to/folder."
        ) from error


def _tokens(prompt: Prompt, tokenizer: Any, vocab_size: int) -> tuple[int, ...]:
    ids = tokenizer.encode(prompt.text) if prompt.text is not None else list(prompt.token_ids or ())
    too_large = next((i for i in ids if i >= vocab_size), None)
    if too_large is not None:
        raise UsageError(
            f"Prompt {prompt.id!r}: token id {too_large} is not below the vocabulary's size "
            f"{vocab_size}. Use token ids of this model's tokenizer."
        )
    if prompt.text is not None and not ids:
        raise UsageError(
            f"Prompt {prompt.id!r}: the tokenizer makes no token of it. Does the model's folder "
            "hold a whole tokenizer? Without one, give prompt_token_ids."
        )
    if len(ids) < 2:
        raise UsageError(
            f"Prompt {prompt.id!r} has {len(ids)} token; a prompt needs at least 2, since the "
            "first has no log-probability. Lengthen it or take it out."
        )
    return tuple(ids[: prompt.max_tokens])
