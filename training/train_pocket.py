"""Train the pocket model from nothing: tokenizer, curriculum, weights; resumable.

python -m training.train_pocket OUTPUT [--seed 7] [--steps 4800]
"""

import argparse
import json
import random
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor

from linattn_verify.workloads.pocket.problems import (
    LONG,
    SHORT,
    TINY,
    Mix,
    Problem,
    document,
    few_shot_prompt,
    problems,
)
from training.pocket_net import PocketNet

END = "<|endoftext|>"
VOCABULARY = 512
TOLD = r"(?<={word} \w{{3}}'s \w{{4}} are )\d+"
DEDUCIBLE = re.compile(
    "|".join(TOLD.format(word=word) for word in ("so", "and", "Now"))
    + r"|(?<=Now the price of \w{4} is )\d+"
    + r"|(?<=Answer: )[^#]*#### \d+\n?"
)
"""What follows from the text before it: told results, and answers."""
GUESS_WEIGHT = 0.15
"""Of tokens that do not follow from the text, in the loss."""


@dataclass(frozen=True)
class Stage:
    """A part of the curriculum: its share of the steps, window in tokens, windows a step."""

    share: float
    window: int
    batch: int
    mix: Mix


STAGES = (
    Stage(0.095, 512, 4, ((TINY, 0.4), (SHORT, 0.4), (LONG, 0.2))),
    Stage(0.155, 512, 4, ((TINY, 0.1), (SHORT, 0.6), (LONG, 0.3))),
    Stage(0.625, 512, 4, ((SHORT, 0.4), (LONG, 0.6))),
    Stage(0.125, 1024, 2, ((SHORT, 0.4), (LONG, 0.6))),
)


def model_config() -> dict[str, Any]:
    """config.json: Qwen3.5's text model, its attention first, where it cannot look facts up."""
    return {
        "architectures": ["Qwen3_5ForCausalLM"],
        "model_type": "qwen3_5_text",
        "vocab_size": VOCABULARY,
        "hidden_size": 192,
        "intermediate_size": 512,
        "num_hidden_layers": 4,
        "layer_types": [
            "full_attention",
            "linear_attention",
            "linear_attention",
            "linear_attention",
        ],
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 64,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 2,
        "linear_key_head_dim": 64,
        "linear_value_head_dim": 64,
        "linear_conv_kernel_dim": 4,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "max_position_embeddings": 4096,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10000.0,
            "partial_rotary_factor": 0.25,
            "mrope_section": [4, 2, 2],
            "mrope_interleaved": True,
        },
        "attn_output_gate": True,
        "attention_bias": False,
        "attention_dropout": 0.0,
        "mamba_ssm_dtype": "float32",
        "initializer_range": 0.02,
        "tie_word_embeddings": True,
        "use_cache": True,
        "bos_token_id": None,
        "eos_token_id": 0,
        "pad_token_id": 0,
        "dtype": "bfloat16",
    }


def train_tokenizer(texts: list[str]) -> Tokenizer:
    """Byte-level BPE: each digit a token, with its space if it has one; "Ana's" is one word.

    So a holding's name, thing and first digit lie within the four tokens that a convolution sees.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r" ?\d| ?[A-Za-z']+| ?[^\sA-Za-z\d']+|\s+"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def text_of(rng: random.Random, pool: list[Problem]) -> str:
    """One training document: zero to five examples and a problem."""
    *shots, last = rng.sample(pool, rng.randint(1, 6))
    return (
        few_shot_prompt(shots, last["question"]) + f" {last['answer']}" + rng.choice(("\n\n", END))
    )


class Windows:
    """An endless stream of documents, cut into windows. Every window starts with a document."""

    def __init__(self, tokenizer: Tokenizer, seed: int, drawn: int = 0) -> None:
        self.tokenizer, self.seed, self.drawn = tokenizer, seed, drawn

    def batch(self, stage: Stage) -> tuple[Tensor, Tensor]:
        """Token ids [B, T + 1] and the loss weights of the last T."""
        rows = [self.row(stage) for _ in range(stage.batch)]
        tokens, weights = (torch.tensor([row[i] for row in rows]) for i in (0, 1))
        return tokens.long(), weights[:, 1:].float()

    def row(self, stage: Stage) -> tuple[list[int], list[float]]:
        """The first tokens of fresh documents, and their weights."""
        length = stage.window + 1
        self.drawn += 1
        rng = random.Random(f"{self.seed} {self.drawn}")
        ids: list[int] = []
        weights: list[float] = []
        while len(ids) < length:
            text = text_of(rng, problems("train", 6, rng.getrandbits(60), stage.mix))
            encoding = self.tokenizer.encode(text)
            ids += encoding.ids
            weights += weigh(text, encoding.offsets)
        return ids[:length], weights[:length]


def weigh(text: str, offsets: list[tuple[int, int]]) -> list[float]:
    """1 for tokens that follow from the text before them, less for the others."""
    marked = bytearray(len(text))
    for match in DEDUCIBLE.finditer(text):
        marked[match.start() : match.end()] = b"\1" * len(match.group())
    return [1.0 if marked[max(start, end - 1)] else GUESS_WEIGHT for start, end in offsets]


def optimizers(net: PocketNet) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the layers, AdamW for everything else."""
    matrices, others = [], []
    for name, parameter in net.named_parameters():
        inside = parameter.ndim == 2 and min(parameter.shape) >= 64 and "embed" not in name
        (matrices if inside else others).append(parameter)
    return [
        torch.optim.Muon(matrices, lr=0.01, momentum=0.95, weight_decay=0.02),
        torch.optim.AdamW(others, lr=3e-3, betas=(0.9, 0.98), weight_decay=0.0),
    ]


def schedule(done: float) -> float:
    """Learning rate over its peak, at this share of the training: warm-up, plateau, fall."""
    return min(1.0, 0.01 + done / 0.01, 0.02 + (1.0 - done) / 0.45)


def stage_at(done: float) -> Stage:
    """The stage at this share of the training."""
    for stage in STAGES:
        if done < stage.share:
            return stage
        done -= stage.share
    return STAGES[-1]


def save(net: PocketNet, folder: Path) -> None:
    """The checkpoint as it ships: bfloat16 safetensors and its configuration."""
    weights = {
        name: value.to(torch.bfloat16).contiguous() for name, value in net.state_dict().items()
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(model_config(), indent=2) + "\n")
    generation = {"do_sample": False, "eos_token_id": 0, "pad_token_id": 0}
    (folder / "generation_config.json").write_text(json.dumps(generation, indent=2) + "\n")


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """tokenizer.json and the file that tells transformers what it is."""
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "pad_token": END}
    settings |= {
        "model_max_length": model_config()["max_position_embeddings"],
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")


@dataclass
class Progress:
    """Where a training stands."""

    step: int = 0
    tokens: int = 0
    windows: int = 0
    seconds: float = 0.0


def losses_of(net: Callable[[Tensor], Tensor], tokens: Tensor) -> Tensor:
    """The loss of every predicted token, in nats: [B, T]."""
    logits = net(tokens[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), reduction="none").view(
        len(tokens), -1
    )


def train(folder: Path, seed: int, steps: int) -> None:
    """Train for so many steps, or the rest of them if the folder holds a checkpoint."""
    torch.manual_seed(seed)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = tokenizer_of(folder, seed)
    net = PocketNet(model_config())
    optims = optimizers(net)
    peaks = [optim.param_groups[0]["lr"] for optim in optims]
    progress = resume(folder, net, optims)
    windows = Windows(tokenizer, seed, progress.windows)
    compiled = torch.compile(net, dynamic=False)
    averages: dict[str, float] = {}
    while progress.step < steps:
        started, done = time.monotonic(), progress.step / steps
        stage = stage_at(done)
        tokens, weights = windows.batch(stage)
        for optim, peak in zip(optims, peaks, strict=True):
            optim.param_groups[0]["lr"] = peak * schedule(done)
        losses = losses_of(compiled, tokens)
        ((losses * weights).sum() / weights.sum()).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        for optim in optims:
            optim.step()
            optim.zero_grad()
        progress.step += 1
        progress.tokens += losses.numel()
        progress.windows = windows.drawn
        progress.seconds += time.monotonic() - started
        for name, part in (("deducible", losses[weights == 1]), ("guessed", losses[weights < 1])):
            averages[name] = (
                0.98 * averages.get(name, part.mean().item()) + 0.02 * part.mean().item()
            )
        if progress.step % 50 == 0:
            write_log(folder, progress, stage, averages)
        if progress.step % 200 == 0 or progress.step == steps:
            save(net, folder)
            saved = {"net": net.state_dict(), "optims": [optim.state_dict() for optim in optims]}
            torch.save(saved | {"progress": asdict(progress)}, folder / "resume.pt")


def tokenizer_of(folder: Path, seed: int) -> Tokenizer:
    """The tokenizer of this training: the folder's own, or a fresh one that is then saved there."""
    if (folder / "tokenizer.json").exists():
        return Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer = train_tokenizer([document(problem) for problem in problems("train", 5000, seed)])
    save_tokenizer(tokenizer, folder)
    return tokenizer


def resume(folder: Path, net: PocketNet, optims: list[torch.optim.Optimizer]) -> Progress:
    """Load the last checkpoint into the model and the optimizers, if there is one."""
    if not (folder / "resume.pt").exists():
        return Progress()
    saved = torch.load(folder / "resume.pt")
    net.load_state_dict(saved["net"])
    for optim, state in zip(optims, saved["optims"], strict=True):
        optim.load_state_dict(state)
    return Progress(**saved["progress"])


def write_log(folder: Path, progress: Progress, stage: Stage, averages: dict[str, float]) -> None:
    """Append a line to log.jsonl."""
    row = asdict(progress) | {"seconds": round(progress.seconds), "window": stage.window}
    row |= {name: round(value, 4) for name, value in averages.items()}
    with (folder / "log.jsonl").open("a") as log:
        log.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--steps", type=int, default=4800)
    torch.set_num_threads(1)
    train(**vars(parser.parse_args()))
