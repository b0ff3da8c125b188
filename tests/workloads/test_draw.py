"""Draws repeat, cover their choices, and fill templates to the end."""

import re

from linattn_verify.workloads.corpus import LEXICON
from linattn_verify.workloads.draw import Draw

COLOURS = {"colour": ("teal", "plum", "sand"), "pair": ("{colour} and {colour}",)}


def test_one_seed_gives_one_sequence_and_another_seed_another() -> None:
    first, again, other = Draw(7, {}), Draw(7, {}), Draw(8, {})
    sequence = [first.number(0, 99) for _ in range(13)]
    assert sequence == [again.number(0, 99) for _ in range(13)]
    assert sequence != [other.number(0, 99) for _ in range(13)]


def test_numbers_reach_both_ends_and_never_leave_them() -> None:
    draw = Draw(3, {})
    assert {draw.number(4, 6) for _ in range(97)} == {4, 5, 6}


def test_every_choice_is_dealt_before_one_comes_again() -> None:
    draw = Draw(5, COLOURS)
    for _ in range(3):
        assert {draw.deal("colour") for _ in range(3)} == set(COLOURS["colour"])


def test_a_choice_may_hold_slots_itself() -> None:
    assert re.fullmatch(r"(teal|plum|sand) and (teal|plum|sand)", Draw(1, COLOURS).deal("pair"))


def test_numbers_in_templates_have_the_digits_asked_for() -> None:
    draw = Draw(11, {})
    for _ in range(53):
        assert re.fullmatch(r"[2-9] [1-9]\d [1-9]\d{3}", draw.fill("{d1} {d2} {d4}"))


def test_each_choice_of_the_lexicon_can_be_filled() -> None:
    draw = Draw(2, LEXICON)
    filled = [draw.fill(choice) for choices in LEXICON.values() for choice in choices]
    assert not [text for text in filled if "{" in text or not text.strip()]
