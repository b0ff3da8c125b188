"""What kind of fault it is, in the words of those who mend engines, and what says so.

Rules, not statistics: each rests on where states part (`checks.parted`), on which part of a state
is hit, and on which log-probabilities are beyond their limits. The first rule that fits decides.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from linattn_verify.checks.result import Parted
from linattn_verify.configs.plan import Kind
from linattn_verify.traces.states import Part

_OUTPUT = ("prompt", "decode", "cut")


class FaultClass(StrEnum):
    """Where in an engine to look."""

    NOT_CARRIED = "state not carried at chunk edges"
    CONVOLUTION = "convolution state only"
    RECURRENT = "recurrent state only"
    RESTORE = "restore"
    DECODE = "decode state"
    UNWRITTEN = "unwritten block"
    SCHEDULING = "scheduling"
    ARITHMETIC = "arithmetic"


@dataclass(frozen=True)
class Changed:
    """States of one part that a step did not find as they had been left."""

    wrong: int
    of: int
    every_layer: bool
    """Whether, where any is wrong, all layers are."""
    rounded: bool
    """Whether all that are wrong have about the norm that they had."""


@dataclass(frozen=True)
class Signs:
    """What is known of a scenario that fails."""

    kind: Kind
    memory: str = ""
    """What cache_hygiene says, where the scenario repeats another on memory that nobody wrote."""
    parted: Parted | None = None
    """The first place where states are wrong."""
    states_right: bool = False
    """Whether states were compared, and all are right."""
    prompt_tokens: int | None = None
    """Of the request that `parted` is about."""
    changed: Mapping[str, Changed] = field(default_factory=dict)
    """By part."""
    broken: frozenset[str] = frozenset()
    """`<leg>.<segment>` of every statistic beyond its limit."""
    one_token: bool = False
    """Whether the requests that are wrong are those whose first step has a single token."""
    output_from: int | None = None
    """Index of the first generated token whose log-probability is wrong; None: none is."""


@dataclass(frozen=True)
class Classified:
    """The class, and the sentence that it rests on."""

    fault_class: FaultClass
    because: str


def classify(signs: Signs) -> Classified:
    """The class of the fault behind the `signs`. What no rule knows is arithmetic."""
    if signs.memory:
        return Classified(
            FaultClass.UNWRITTEN,
            f"the same requests give another trace once memory is filled: {signs.memory}",
        )
    if signs.one_token:
        return Classified(
            FaultClass.SCHEDULING,
            "only requests whose first step has a single token are wrong: that step is taken for "
            "what it is not, such as a decode step",
        )
    if signs.parted is not None:
        found = _by_carried(signs) if signs.parted.how != "differs" else _by_error(signs)
        return Classified(found.fault_class, f"{found.because}: {signs.parted.detail}")
    return _by_output(signs)


def _by_carried(signs: Signs) -> Classified:
    """A step found another state than had been left or saved."""
    hit = {part: one for part, one in signs.changed.items() if one.wrong}
    if signs.parted is not None and signs.parted.how == "not restored":
        return Classified(FaultClass.RESTORE, "a restored state is not the one that was saved")
    if hit and all(one.rounded for one in hit.values()):
        because = "states are carried, but in fewer bits: their norms stay, their bits do not"
        return Classified(FaultClass.ARITHMETIC, because)
    others = [part for part, one in signs.changed.items() if not one.wrong and one.of]
    for part, found in (
        (Part.CONVOLUTION, FaultClass.CONVOLUTION),
        (Part.RECURRENT, FaultClass.RECURRENT),
    ):
        if set(hit) == {part} and others and hit[part].every_layer:
            return Classified(found, f"{' and '.join(others)} states are carried, these are not")
    return Classified(FaultClass.NOT_CARRIED, "a step found another state than had been left")


def _by_error(signs: Signs) -> Classified:
    """Steps found what had been left, and left what is wrong."""
    parted = signs.parted
    assert parted is not None
    if signs.prompt_tokens is not None and parted.position > signs.prompt_tokens:
        return Classified(
            FaultClass.DECODE, "every state of the prefill is right, that after decoding is not"
        )
    if signs.kind is Kind.WARM:
        return Classified(FaultClass.RESTORE, "the state was restored as saved, and then misread")
    if not _broken(signs, *_OUTPUT):
        return Classified(
            FaultClass.ARITHMETIC, "states drift beyond rounding, the output stays within limits"
        )
    if parted.edge <= 1:
        return Classified(
            FaultClass.UNWRITTEN,
            "wrong after a request's first step, which continues nothing: it went on from what "
            "its block held before",
        )
    return Classified(
        FaultClass.NOT_CARRIED, "the state was there where the step began, which did not use it"
    )


def _by_output(signs: Signs) -> Classified:
    """Nothing is known of states, or all of them are right."""
    if signs.output_from is not None and not _broken(signs, "prompt", "cut"):
        if signs.states_right or signs.output_from == 0:
            return Classified(
                FaultClass.SCHEDULING,
                "prompts and states are right, and yet generated tokens are not, from number "
                f"{signs.output_from} on: a request gets what belongs to another",
            )
        return Classified(
            FaultClass.DECODE,
            f"prompts are right, and so is the output up to token {signs.output_from}: decoding "
            "does not go on from its own state",
        )
    if "prompt.first" in signs.broken:
        return Classified(
            FaultClass.UNWRITTEN,
            "even first chunks are wrong, which continue nothing: they went on from what their "
            "block held before",
        )
    if signs.kind is Kind.WARM and _broken(signs, "prompt", "cut", "decode"):
        return Classified(FaultClass.RESTORE, "what follows a restored prefix is wrong")
    near = {"prompt.edge+0", "prompt.edge+1..3"} & signs.broken
    far = {"prompt.edge+16..63", "prompt.edge+64.."} & signs.broken
    if near and far and not signs.states_right:
        return Classified(
            FaultClass.NOT_CARRIED, "first chunks are right, later ones wrong from their edge on"
        )
    if near and not signs.states_right:
        return Classified(
            FaultClass.CONVOLUTION, "only the few tokens after a chunk's edge are wrong"
        )
    return Classified(
        FaultClass.ARITHMETIC, "no edge, restored prefix, step or memory explains the difference"
    )


def _broken(signs: Signs, *legs: str) -> bool:
    return any(name.partition(".")[0] in legs for name in signs.broken)
