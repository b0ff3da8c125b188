"""Tiny random checkpoints of other model families. Run as a script, beside vLLM's own packages.

The time step and the decay are drawn so that a state matters; transformers' own initialisation
decays so fast that losing it hardly shows.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

_COMMON: dict[str, Any] = {
    "vocab_size": 1024,
    "eos_token_id": 0,
    "bos_token_id": 1,
    "pad_token_id": 0,
    "hidden_size": 256,
    "num_hidden_layers": 2,
    "tie_word_embeddings": True,
}
_ATTENTION: dict[str, Any] = {
    "intermediate_size": 512,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "max_position_embeddings": 4096,
}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "qwen3": ("Qwen3", _ATTENTION),
    "lfm2": (
        "Lfm2",
        {
            "intermediate_size": 512,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 4096,
            "num_hidden_layers": 3,
            "layer_types": ["conv", "conv", "full_attention"],
            # vLLM reads these; transformers takes the hidden and the intermediate size.
            "conv_dim": 256,
            "block_dim": 256,
            "block_ff_dim": 512,
        },
    ),
    "falcon_h1": (
        "FalconH1",
        {
            **_ATTENTION,
            "mamba_d_ssm": 512,
            "mamba_n_heads": 8,
            "mamba_d_head": 64,
            "mamba_d_state": 32,
            "mamba_n_groups": 1,
            "mamba_chunk_size": 64,
        },
    ),
}


def make_checkpoint(family: str, dtype: str, tokenizer: Path, folder: Path) -> Path:
    """A checkpoint of `family` in `folder`, with the tokenizer of another, made in a process of
    its own."""
    arguments = [family, dtype, str(tokenizer), str(folder)]
    subprocess.run([sys.executable, __file__, *arguments], check=True, capture_output=True)
    return folder


def _make(family: str, dtype: str, tokenizer: Path, folder: Path) -> None:
    from linattn_verify.engine.native_libs import find_broken, shield

    shield(find_broken())
    import torch
    import transformers

    name, settings = FAMILIES[family]
    config = getattr(transformers, f"{name}Config")(**{**_COMMON, **settings})
    torch.manual_seed(0)
    model = getattr(transformers, f"{name}ForCausalLM")(config)
    for parameter_name, parameter in model.named_parameters():
        _draw(torch, parameter_name, parameter)
    model.to(getattr(torch, dtype)).save_pretrained(folder)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tokenizer / file, folder / file)


def _draw(torch: Any, name: str, parameter: Any) -> None:
    uniform = torch.rand_like(parameter)
    if name.endswith("dt_bias"):  # softplus(dt_bias) log-uniform in [0.001, 0.1]
        step = torch.exp(uniform * 4.6 - 6.9)
        parameter.data = step + torch.log(-torch.expm1(-step))
    elif name.endswith("A_log"):
        parameter.data = torch.log(uniform * 7.5 + 0.5)
    elif parameter.dim() >= 2:
        parameter.data.normal_(0, 0.06)


if __name__ == "__main__":
    _make(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
