"""Signs to classes: one case for each rule, and what would mislead it."""

from typing import Any

import pytest

from linattn_verify.checks.fault_class import Changed, FaultClass, Signs, classify
from linattn_verify.checks.result import Parted
from linattn_verify.configs.plan import Kind

ALL = Changed(wrong=6, of=9, every_layer=True, rounded=False)
ONE_LAYER = Changed(wrong=2, of=9, every_layer=False, rounded=False)
NONE = Changed(wrong=0, of=9, every_layer=True, rounded=False)
ROUNDED = Changed(wrong=6, of=9, every_layer=True, rounded=True)
LATER = frozenset({"prompt.later", "prompt.edge+0", "prompt.edge+64..", "decode.later"})


def parted(how: str = "not carried", position: int = 64, edge: int = 1) -> Parted:
    return Parted.model_validate(
        {
            **{"how": how, "request": 0, "prompt": "alpha", "position": position, "edge": edge},
            **{"layer": "layers.1", "index": 0, "kind": "gdn", "part": "convolution"},
            **{"error": None, "detail": f"state {how} at token {position}"},
        }
    )


def signs(kind: Kind = Kind.CHUNKED, **more: Any) -> Signs:
    return Signs(kind=kind, prompt_tokens=200, **more)


CASES = {
    "both parts lost": (
        signs(parted=parted(), changed={"convolution": ALL, "recurrent": ALL}),
        FaultClass.NOT_CARRIED,
    ),
    "convolution lost": (
        signs(parted=parted(), changed={"convolution": ALL, "recurrent": NONE}),
        FaultClass.CONVOLUTION,
    ),
    "recurrence lost": (
        signs(parted=parted(), changed={"convolution": NONE, "recurrent": ALL}),
        FaultClass.RECURRENT,
    ),
    "one layer's recurrence not copied": (
        signs(Kind.COLD, parted=parted(), changed={"convolution": NONE, "recurrent": ONE_LAYER}),
        FaultClass.NOT_CARRIED,
    ),
    "a model with one part has no other to compare with": (
        signs(parted=parted(), changed={"convolution": ALL}),
        FaultClass.NOT_CARRIED,
    ),
    "rounded at edges": (
        signs(parted=parted(), changed={"convolution": ROUNDED, "recurrent": ROUNDED}),
        FaultClass.ARITHMETIC,
    ),
    "one part rounded, one lost": (
        signs(parted=parted(), changed={"convolution": ROUNDED, "recurrent": ALL}),
        FaultClass.NOT_CARRIED,
    ),
    "restored another": (
        signs(Kind.WARM, parted=parted("not restored", edge=0), changed={"convolution": ALL}),
        FaultClass.RESTORE,
    ),
    "restored and then misread": (
        signs(Kind.WARM, parted=parted("differs", edge=1), broken=LATER),
        FaultClass.RESTORE,
    ),
    "found and not used": (
        signs(parted=parted("differs", position=128, edge=2), broken=LATER),
        FaultClass.NOT_CARRIED,
    ),
    "wrong after the first chunk": (
        signs(parted=parted("differs"), broken=LATER | {"prompt.first"}),
        FaultClass.UNWRITTEN,
    ),
    "wrong after decoding": (
        signs(parted=parted("differs", position=215, edge=18), broken=frozenset({"decode.later"})),
        FaultClass.DECODE,
    ),
    "states drift, outputs hold": (
        signs(parted=parted("differs", position=128, edge=2)),
        FaultClass.ARITHMETIC,
    ),
    "filled memory shows": (
        signs(Kind.FULL, memory="NaN first at position 3"),
        FaultClass.UNWRITTEN,
    ),
    "first steps of one token": (signs(one_token=True, broken=LATER), FaultClass.SCHEDULING),
    "right states, wrong output": (
        signs(states_right=True, output_from=1, broken=frozenset({"decode.all"})),
        FaultClass.SCHEDULING,
    ),
    "unknown states, output wrong from the first token": (
        signs(output_from=0, broken=frozenset({"decode.all"})),
        FaultClass.SCHEDULING,
    ),
    "unknown states, output wrong after two tokens": (
        signs(output_from=2, broken=frozenset({"decode.all"})),
        FaultClass.DECODE,
    ),
    "unknown states, first chunks wrong": (
        signs(broken=LATER | {"prompt.first"}),
        FaultClass.UNWRITTEN,
    ),
    "unknown states, wrong from the edge on": (signs(broken=LATER), FaultClass.NOT_CARRIED),
    "unknown states, wrong at the edge alone": (
        signs(broken=frozenset({"prompt.edge+0", "prompt.edge+1..3"})),
        FaultClass.CONVOLUTION,
    ),
    "unknown states, wrong after a hit": (
        signs(Kind.WARM, broken=frozenset({"cut.all"})),
        FaultClass.RESTORE,
    ),
    "nothing explains it": (
        signs(states_right=True, broken=frozenset({"prompt.later"})),
        FaultClass.ARITHMETIC,
    ),
}


@pytest.mark.parametrize(("given", "expected"), CASES.values(), ids=CASES)
def test_the_class_and_a_sentence_for_it(given: Signs, expected: FaultClass) -> None:
    found = classify(given)
    assert found.fault_class is expected
    assert len(found.because) > 20


def test_the_sentence_names_the_place() -> None:
    found = classify(signs(parted=parted(), changed={"convolution": ALL}))
    assert "state not carried at token 64" in found.because


def test_every_class_has_a_case() -> None:
    assert {expected for _, expected in CASES.values()} == set(FaultClass)
