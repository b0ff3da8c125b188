"""The embedded texts are long enough, varied, and share what they should."""

import re
import unicodedata
from collections import Counter

import pytest

from linattn_verify.workloads.corpus import SEED, Text, embedded_texts
from linattn_verify.workloads.prompts import embedded_prompts

TEXTS = embedded_texts()
IDS = [text.id for text in TEXTS]
LENGTHS = [1153, 1091, 1061, 1033, 907, 769, 768, 547, 433, 409]


def _common_prefix(texts: list[str]) -> int:
    return next(i for i, letters in enumerate(zip(*texts, strict=False)) if len(set(letters)) > 1)


def _texts(*ids: str) -> list[str]:
    return [text.text for text in TEXTS if text.id in ids]


def test_ten_texts_of_the_planned_lengths() -> None:
    assert [text.max_tokens for text in TEXTS] == LENGTHS
    assert len(set(IDS)) == 10


def test_a_budget_of_8192_takes_all_prompts_in_one_step() -> None:
    assert sum(LENGTHS) <= 8192


def test_four_prompts_are_cut_in_three_by_a_budget_of_512() -> None:
    assert sum(-(-length // 512) >= 3 for length in LENGTHS) == 4


@pytest.mark.parametrize("text", TEXTS, ids=IDS)
def test_a_text_has_five_and_a_half_characters_for_each_token(text: Text) -> None:
    assert len(text.text) >= 5.5 * text.max_tokens


@pytest.mark.parametrize("text", TEXTS, ids=IDS)
def test_hardly_any_run_of_eight_words_comes_twice(text: Text) -> None:
    words = re.findall(r"\w+", text.text)
    runs = Counter(tuple(words[i : i + 8]) for i in range(len(words) - 7))
    assert len(words) > 300
    assert 1 - len(runs) / runs.total() < 0.03


@pytest.mark.parametrize("text", TEXTS, ids=IDS)
def test_no_line_comes_twice(text: Text) -> None:
    lines = Counter(line for line in text.text.splitlines() if len(line) > 40)
    assert [line for line, count in lines.items() if count > 1] == []


@pytest.mark.parametrize("text", TEXTS, ids=IDS)
def test_no_slot_is_left_open_and_the_text_is_in_normal_form(text: Text) -> None:
    assert not re.search(r"\{[a-z]+\d?\}", text.text)
    assert unicodedata.is_normalized("NFC", text.text)


def test_three_texts_share_a_first_prefix_and_two_a_second() -> None:
    briefing, agreement = _texts("ledger", "dialogue", "code"), _texts("agreement", "problems")
    assert 2_250 <= _common_prefix(briefing) < 2_600
    assert 2_250 <= _common_prefix(agreement) < 2_600
    assert _common_prefix([briefing[0], agreement[0]]) < 10


def test_texts_outside_the_groups_share_no_beginning() -> None:
    alone = [text.text[:60] for text in TEXTS[5:]]
    assert len({beginning.split()[0] for beginning in alone}) == len(alone)


def test_the_ledger_adds_up() -> None:
    entries = re.findall(r": (\d+) ([+-]\d+) = (\d+) (\w+); all (\d+)\.", _texts("ledger")[0])
    stock: dict[str, int] = {}
    for before, change, after, goods, total in entries:
        assert stock.get(goods, 0) == int(before)
        stock[goods] = int(before) + int(change)
        assert stock[goods] == int(after) > 0
        assert sum(stock.values()) == int(total)
    assert len(entries) > 40
    assert sum(change.startswith("-") for _, change, *_ in entries) > 5


def test_prompts_carry_the_texts() -> None:
    prompts = embedded_prompts()
    assert [(p.id, p.text, p.max_tokens) for p in prompts] == [
        (text.id, text.text, text.max_tokens) for text in TEXTS
    ]
    assert all(prompt.token_ids is None for prompt in prompts)


def test_texts_come_out_the_same_again() -> None:
    assert embedded_texts() == TEXTS
    assert SEED == 20_260_117
