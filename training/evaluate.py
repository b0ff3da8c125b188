"""Score a checkpoint in transformers on held-out problems, healthy and with states thrown away.

    python -m training.evaluate MODEL [--n 100] [--shots 5] [--seed 1] [--dtype bfloat16]
        [--output FILE]

Every condition is a row of one batch. The prompt is prefilled in pieces that end at every
condition's edges, and at each edge only the rows whose edge it is lose their state. Attention keeps
everything.
"""

import argparse
import json
import math
import random
import re
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from tokenizers import Tokenizer
from torch import Tensor

from linattn_verify.engine.native_libs import find_broken, shield
from linattn_verify.workloads.pocket.problems import Problem, few_shot_prompt, problems

if TYPE_CHECKING:
    from transformers import DynamicCache, PreTrainedModel

STRICT = re.compile(r"#### (\-?[0-9\.\,]+)")
STOPS = ("Question:", "</s>", "<|im_end|>")
BUDGETS = (64, 100, 128, 256, 512)
MAX_NEW_TOKENS = 96


@dataclass(frozen=True)
class Condition:
    """What is lost at every multiple of `budget` tokens of the prompt."""

    lost: str
    budget: int | None = None

    @property
    def conv(self) -> bool:
        return self.lost in ("both", "conv")

    @property
    def recurrent(self) -> bool:
        return self.lost in ("both", "recurrent")

    def at_edge(self, position: int) -> bool:
        """Whether this condition has an edge before this position."""
        return self.budget is not None and position % self.budget == 0


@dataclass(frozen=True)
class Score:
    """Strict-match accuracy of one condition."""

    lost: str
    budget: int | None
    right: int
    n: int

    @property
    def accuracy(self) -> float:
        return self.right / self.n


CONDITIONS = (
    Condition("nothing"),
    *(Condition("nothing, but chunked", budget) for budget in (64, 100)),
    *(Condition(lost, budget) for lost in ("both", "recurrent", "conv") for budget in BUDGETS),
)


def build_prompts(n: int, shots: int, seed: int) -> list[tuple[str, Problem]]:
    """Held-out problems, each behind examples drawn from the training split."""
    rng = random.Random(seed)
    pool = problems("train", 500, seed)
    return [
        (few_shot_prompt(rng.sample(pool, shots), test["question"]), test)
        for test in problems("test", n, seed)
    ]


def pieces(length: int, conditions: tuple[Condition, ...]) -> list[tuple[int, int]]:
    """The prompt cut at every edge of every condition."""
    edges = {p for p in range(1, length) for c in conditions if c.at_edge(p)}
    bounds = [0, *sorted(edges), length]
    return list(pairwise(bounds))


def lose_states(cache: "DynamicCache", position: int, conditions: tuple[Condition, ...]) -> None:
    """Zero the states of the rows that have an edge here."""
    for layer in cache.layers:
        if not hasattr(layer, "recurrent_states"):
            continue
        for row, condition in enumerate(conditions):
            if condition.at_edge(position) and condition.conv:
                layer.conv_states[0][row].zero_()
            if condition.at_edge(position) and condition.recurrent:
                layer.recurrent_states[0][row].zero_()


@torch.inference_mode()
def generate(
    model: "PreTrainedModel", ids: list[int], ends: Tensor, conditions: tuple[Condition, ...]
) -> Tensor:
    """Greedy continuations until each holds one of `ends`: [conditions, <= MAX_NEW_TOKENS]."""
    from transformers import DynamicCache

    rows, cache = torch.tensor([ids] * len(conditions)), DynamicCache(config=model.config)
    for start, end in pieces(len(ids), conditions):
        if start:
            lose_states(cache, start, conditions)
        logits = model(rows[:, start:end], past_key_values=cache, logits_to_keep=1).logits
    tokens: list[Tensor] = []
    for _ in range(MAX_NEW_TOKENS):
        tokens.append(logits[:, -1].argmax(-1))
        if bool(torch.isin(torch.stack(tokens, 1), ends).any(1).all()):
            break
        logits = model(tokens[-1][:, None], past_key_values=cache).logits
    return torch.stack(tokens, 1)


def strict_match(text: str) -> str | None:
    """The number that lm-eval's strict filter takes from a continuation."""
    for stop in STOPS:
        text = text.split(stop)[0]
    found = STRICT.search(text)
    return found.group(1) if found else None


def evaluate(folder: Path, n: int, shots: int, seed: int, dtype: str) -> list[Score]:
    """Scores of every condition over the same problems."""
    shield(find_broken())  # before any modelling code: it imports torchvision, which may not load
    from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5TextConfig
    from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5ForCausalLM

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    config = Qwen3_5TextConfig.from_pretrained(folder)
    model = Qwen3_5ForCausalLM.from_pretrained(
        folder, config=config, dtype=getattr(torch, dtype)
    ).eval()
    ends = torch.tensor([config.eos_token_id, tokenizer.encode(STOPS[0]).ids[0]])
    right, lengths = [0] * len(CONDITIONS), []
    for prompt, problem in build_prompts(n, shots, seed):
        ids = tokenizer.encode(prompt).ids
        lengths.append(len(ids))
        number = problem["answer"].split("#### ")[1]
        for row, tokens in enumerate(generate(model, ids, ends, CONDITIONS).tolist()):
            right[row] += strict_match(tokenizer.decode(tokens)) == number
    print(f"prompts of {min(lengths)} to {max(lengths)} tokens, {sum(lengths) / n:.0f} on average")
    return [Score(c.lost, c.budget, hits, n) for c, hits in zip(CONDITIONS, right, strict=True)]


def half_width(score: Score) -> float:
    """Half of the 95% interval of an accuracy (normal approximation)."""
    return 1.96 * math.sqrt(score.accuracy * (1 - score.accuracy) / score.n)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--shots", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--output", type=Path, help="also write the scores to this file as JSON")
    torch.set_num_threads(1)
    arguments = vars(parser.parse_args())
    output: Path | None = arguments.pop("output")
    scores = evaluate(**arguments)
    for score in scores:
        row = f"{score.lost:22} {score.budget or '-':>5} {score.accuracy:6.1%}"
        print(f"{row} ± {half_width(score):.1%}  n={score.n}")
    if output:
        output.write_text(json.dumps([asdict(score) for score in scores], indent=1) + "\n")
