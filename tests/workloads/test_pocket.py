"""The pocket model's problems are what it was trained on, and its checkpoint is whole."""

import json
import random
import re
import struct
from itertools import product
from typing import Any

import pytest
from safetensors import safe_open
from tokenizers import Tokenizer

from linattn_verify.workloads.pocket.checkpoint import pocket_checkpoint
from linattn_verify.workloads.pocket.problems import (
    Problem,
    Split,
    few_shot_prompt,
    problems,
    split_of,
)

SPLITS: tuple[Split, ...] = ("train", "test")
GOLDEN = {
    "question": "The price of keys is 7 dollars. Eva's keys are 6. Ben's keys are 29. "
    "After a recount Eva's keys are 22. Eva sells 2 keys, so Eva's keys are 20. "
    "Now Eva's keys are 20. Now the price of keys is 7 dollars. "
    "Then the price of keys is 6 dollars. Now the price of keys is 6 dollars. "
    "How many dollars are Ben's keys worth?",
    "answer": "Ben's keys are 29. The price of keys is 6 dollars. 29 * 6 = 174.\n#### 174",
}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(pocket_checkpoint() / "tokenizer.json"))


def config() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads((pocket_checkpoint() / "config.json").read_text())
    return parsed


def prompts(n: int, shots: int) -> list[str]:
    """Held-out questions behind examples of the training split."""
    rng, pool = random.Random(41), problems("train", 50, 41)
    tests = problems("test", n, 41)
    return [few_shot_prompt(rng.sample(pool, shots), test["question"]) for test in tests]


def test_the_splits_share_no_question() -> None:
    asked = {s: {p["question"] for seed in (1, 2) for p in problems(s, 1500, seed)} for s in SPLITS}
    assert min(len(questions) for questions in asked.values()) > 2500
    assert not asked["train"] & asked["test"]
    assert {split_of(q) for q in asked["train"]} == {"train"}


def test_one_seed_gives_the_same_problems_and_another_seed_others() -> None:
    for split in SPLITS:
        assert problems(split, 20, 5) == problems(split, 20, 5)
        assert problems(split, 20, 5)[:7] == problems(split, 7, 5)
        assert not {p["question"] for p in problems(split, 20, 5)} & {
            p["question"] for p in problems(split, 20, 6)
        }


def test_the_generator_still_writes_what_the_model_was_scored_on() -> None:
    assert problems("train", 1, 1)[0] == GOLDEN


def test_a_problem_has_gsm8k_fields_and_its_answer_ends_in_its_number() -> None:
    for split, seed in product(SPLITS, (3, 4)):
        for problem in problems(split, 200, seed):
            assert set(problem) == {"question", "answer"}
            assert problem["question"].endswith("?")
            steps, number = problem["answer"].split("\n#### ")
            assert re.fullmatch(r"0|[1-9]\d*", number)
            assert steps.endswith((f" are {number}.", f" = {number}."))


def test_the_number_is_that_of_an_independent_reading_of_the_question() -> None:
    """The last told value of every fact counts."""
    for split, seed in product(SPLITS, (3, 4)):
        for problem in problems(split, 200, seed):
            number = int(problem["answer"].split("#### ")[1])
            assert number == worked_out(problem["question"]), problem


def worked_out(question: str) -> int:
    prices = dict(re.findall(r"price of (\w+) is (\d+)", question))
    held = {
        (who, what): int(n) for who, what, n in re.findall(r"(\w+)'s (\w+) are (\d+)", question)
    }
    asked = re.split(r"(?<=\.) ", question)[-1]
    if found := re.fullmatch(r"How many (\w+) does (\w+) have\?", asked):
        return held[found[2], found[1]]
    if found := re.fullmatch(r"How many (\w+) do (\w+) and (\w+) have together\?", asked):
        return held[found[2], found[1]] + held[found[3], found[1]]
    found = re.fullmatch(r"How many dollars are (\w+)'s (\w+) worth\?", asked)
    assert found, asked
    return held[found[1], found[2]] * int(prices[found[2]])


def test_a_prompt_has_the_shape_of_lm_evals_gsm8k() -> None:
    shots: list[Problem] = [
        {"question": "How many?", "answer": "Two.\n#### 2"},
        {"question": "And now?", "answer": "Three.\n#### 3"},
    ]
    assert few_shot_prompt(shots, "And then?") == (
        "Question: How many?\nAnswer: Two.\n#### 2\n\n"
        "Question: And now?\nAnswer: Three.\n#### 3\n\n"
        "Question: And then?\nAnswer:"
    )
    assert few_shot_prompt([], "Why?") == "Question: Why?\nAnswer:"


def test_five_shots_make_prompts_of_many_chunks(tokenizer: Tokenizer) -> None:
    lengths = [len(tokenizer.encode(prompt).ids) for prompt in prompts(60, 5)]
    assert 600 <= min(lengths) <= max(lengths) <= 1024  # no longer than what it was trained on


def test_the_checkpoint_folder_is_whole_and_small() -> None:
    folder = pocket_checkpoint()
    assert {path.name for path in folder.iterdir()} == {
        "README.md",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 8 * 1024**2


def test_the_configuration_is_a_hybrid_whose_attention_comes_first() -> None:
    parsed = config()
    assert parsed["architectures"] == ["Qwen3_5ForCausalLM"]
    assert parsed["layer_types"] == ["full_attention", *["linear_attention"] * 3]
    generation = json.loads((pocket_checkpoint() / "generation_config.json").read_text())
    assert generation["eos_token_id"] == parsed["eos_token_id"]


def test_the_weights_open_and_fit_the_configuration() -> None:
    parsed, path = config(), pocket_checkpoint() / "model.safetensors"
    with safe_open(path, framework="np") as weights:
        names = set(weights.keys())
    with path.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
    del header["__metadata__"]
    assert set(header) == names
    assert {tensor["dtype"] for tensor in header.values()} == {"BF16"}
    embedding = header["model.embed_tokens.weight"]
    assert embedding["shape"] == [parsed["vocab_size"], parsed["hidden_size"]]
    mixers = {"full_attention": "self_attn", "linear_attention": "linear_attn"}
    for i, kind in enumerate(parsed["layer_types"]):
        assert any(name.startswith(f"model.layers.{i}.{mixers[kind]}.") for name in names)


def test_the_tokenizer_loses_nothing(tokenizer: Tokenizer) -> None:
    assert max(tokenizer.get_vocab().values()) < config()["vocab_size"]
    end = json.loads((pocket_checkpoint() / "tokenizer_config.json").read_text())["eos_token"]
    assert tokenizer.token_to_id(end) == config()["eos_token_id"]
    for text in [*prompts(20, 2), "Zoë pays 12 €\n\tfor 3 kg.  "]:
        assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_a_fact_lies_within_one_convolution_window(tokenizer: Tokenizer) -> None:
    """Name, thing, "are" and the first digit, which carries its space."""
    assert tokenizer.encode(" Ana's pens are 12").tokens == ["ĠAna's", "Ġpens", "Ġare", "Ġ1", "2"]
