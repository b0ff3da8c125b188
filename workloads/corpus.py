"""The embedded texts: ten kinds of writing, the same on every machine."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from linattn_verify.workloads import prose, records
from linattn_verify.workloads.draw import Draw
from linattn_verify.workloads.words import WORDS

SEED = 20_260_117
CHARACTERS_PER_TOKEN = 5.5
"""No tokenizer we know gets more characters of these texts into a token, on average."""

PREFIX_CHARACTERS = 2_250
"""At 4.5 characters a token, 500 tokens."""
LEXICON = {**WORDS, **prose.PROSE, **records.RECORDS}

Writer = Callable[[Draw], Iterator[str]]


@dataclass(frozen=True)
class Text:
    """A text and the number of tokens that a prompt takes of it."""

    id: str
    text: str
    max_tokens: int


@dataclass(frozen=True)
class _Plan:
    id: str
    writer: Writer
    max_tokens: int
    prefix: Writer | None = None


# Above 1,024 a budget of 512 cuts a prompt in three; 768 is a multiple of the usual block
# sizes and 769 is one past it; the others are odd, so that edges fall off every grid. Together
# they are 8,171, so that a budget of 8,192 takes all of them in one step.
PLANS = (
    _Plan("ledger", records.ledger, 1153, prefix=prose.briefing),
    _Plan("dialogue", prose.dialogue, 1091, prefix=prose.briefing),
    _Plan("code", records.code, 1061, prefix=prose.briefing),
    _Plan("agreement", prose.amendment, 1033, prefix=prose.agreement),
    _Plan("problems", records.problems, 907, prefix=prose.agreement),
    _Plan("table", records.table, 769),
    _Plan("log", records.log, 768),
    _Plan("story", prose.story, 547),
    _Plan("languages", prose.languages, 433),
    _Plan("recipe", prose.recipe, 409),
)


def embedded_texts() -> list[Text]:
    """The ten texts; those with the same prefix share it to the letter."""
    return [
        Text(plan.id, _text(plan, SEED + number), plan.max_tokens)
        for number, plan in enumerate(PLANS, start=1)
    ]


def _text(plan: _Plan, seed: int) -> str:
    prefix = "" if plan.prefix is None else _write(plan.prefix, SEED, PREFIX_CHARACTERS) + "\n"
    wanted = int(plan.max_tokens * CHARACTERS_PER_TOKEN) + 1 - len(prefix)
    return prefix + _write(plan.writer, seed, wanted)


def _write(writer: Writer, seed: int, characters: int) -> str:
    """What the writer says, until it has said at least so many characters or falls silent."""
    text = ""
    for piece in writer(Draw(seed, LEXICON)):
        text += piece
        if len(text) >= characters:
            break
    return text
