"""What a refused document says: place, key, nearest valid key."""

import math

import pytest
from pydantic import Field

from linattn_verify.configs.errors import UsageError, nearest, unknown
from linattn_verify.configs.strict import Strict, validated


class Wheel(Strict):
    spokes: int = Field(ge=3)
    colour: str = "grey"


class Bicycle(Strict):
    owner: str
    front: Wheel
    others: dict[str, Wheel] = Field(default_factory=dict)
    weight: float = 9.5


GOOD = {"owner": "Ada", "front": {"spokes": 7}}


def refusal(document: object) -> str:
    with pytest.raises(UsageError) as caught:
        validated(Bicycle, document, where="bicycle.yaml")
    return str(caught.value)


def test_a_sound_document_is_built() -> None:
    assert validated(Bicycle, GOOD, where="x").front == Wheel(spokes=7, colour="grey")


REFUSED = {
    "unknown-at-the-top": (
        {**GOOD, "ownr": "Bo"},
        ["bicycle.yaml: unknown key 'ownr'", "Did you mean 'owner'?", "front, others, owner"],
    ),
    "unknown-nested": (
        {**GOOD, "front": {"spokes": 7, "color": "red"}},
        ["unknown key 'front.color'", "Did you mean 'colour'?", "Known here: colour, spokes."],
    ),
    "unknown-within-a-mapping": (
        {**GOOD, "others": {"rear": {"spokes": 9, "spoks": 9}}},
        ["unknown key 'others.rear.spoks'", "Did you mean 'spokes'?"],
    ),
    "wrong-type": (
        {**GOOD, "front": {"spokes": "many"}},
        ["bicycle.yaml: front.spokes: ", "valid integer", "(got 'many')"],
    ),
    "below-the-bound": (
        {**GOOD, "front": {"spokes": 2}},
        ["front.spokes", "greater than or equal to 3", "(got 2)"],
    ),
    "missing": ({"owner": "Ada"}, ["bicycle.yaml: front: Field required"]),
    "not-a-number": ({**GOOD, "weight": math.nan}, ["weight", "finite number"]),
    "not-a-mapping": ([1, 2], ["bicycle.yaml: the document: ", "(got [1, 2])"]),
}


@pytest.mark.parametrize(("document", "parts"), REFUSED.values(), ids=REFUSED.keys())
def test_a_refusal_names_place_and_key(document: object, parts: list[str]) -> None:
    text = refusal(document)
    for part in parts:
        assert part in text


def test_a_key_that_is_near_nothing_gets_no_suggestion() -> None:
    text = refusal({**GOOD, "zzz": 1})
    assert "unknown key 'zzz'" in text
    assert "Did you mean" not in text


def test_every_fault_of_a_document_is_named_at_once() -> None:
    lines = refusal({"ownr": "Bo", "front": {"spokes": 1}}).splitlines()
    assert len(lines) == 3  # owner missing, spokes too few, ownr unknown
    assert all(line.startswith("bicycle.yaml: ") for line in lines)


def test_a_long_value_is_cut() -> None:
    assert len(refusal({**GOOD, "front": "x" * 5000})) < 250


def test_a_built_value_cannot_be_changed() -> None:
    wheel = Wheel(spokes=5)
    with pytest.raises(ValueError, match="frozen"):
        wheel.spokes = 6


@pytest.mark.parametrize(
    ("word", "expected"),
    [("quik", "quick"), ("realease", "release"), ("xyz", None), ("", None)],
    ids=["one-letter-short", "one-letter-more", "near-nothing", "empty"],
)
def test_nearest(word: str, expected: str | None) -> None:
    assert nearest(word, ["ci", "quick", "release"]) == expected


def test_an_unknown_name_lists_the_choices_in_order() -> None:
    text = str(unknown("fruit", "aple", ["pear", "apple"], "the basket"))
    assert text == ("Unknown fruit 'aple' in the basket. Did you mean 'apple'? Known: apple, pear.")


def test_of_many_choices_those_that_look_alike_are_listed() -> None:
    many = [f"zz{i}" for i in range(1234)] + ["apple", "apples", "maple"]
    text = str(unknown("fruit", "appel", many))
    assert text == (
        "Unknown fruit 'appel'. Did you mean 'apple'? "
        "Known: apple, apples, maple, 1,234 that do not look like it."
    )
