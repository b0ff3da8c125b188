"""Templated word problems in GSM8K's fields, whose answer needs facts from all along a long ledger.

A problem names a few people and things, gives prices and holdings at the start, and then tells
many changes, each with its result; some throw the old number away. The question at the end asks
for the numbers as they stand, and always needs one that was last told far back. Most told results
follow from a number told before, so that nearly every sentence trains the recall that the question
needs. Pure standard library.
"""

import hashlib
import random
from dataclasses import dataclass, field
from typing import Literal

Split = Literal["train", "test"]
Problem = dict[str, str]
Fact = tuple[str, str]
"""(person, thing) for a holding, ("", thing) for a price."""

NAMES = ("Ana", "Ben", "Eva", "Jon", "Kim", "Leo", "Mia", "Sam", "Tom", "Zoe")
THINGS = ("bags", "cups", "hats", "jars", "keys", "maps", "nuts", "pens")
GAINS = ("buys", "gets", "makes")
LOSSES = ("sells", "loses", "uses")
ASIDES = (
    "It rains all day.",
    "The shop is closed on Sunday.",
    "The bus comes late.",
    "There is a fair in town.",
    "The wind is cold.",
    "All of them have lunch.",
)
HIGHEST = 29
HIGHEST_PRICE = 9
HIGHEST_CHANGE = 6


@dataclass(frozen=True)
class Shape:
    """How large a ledger is: bounds of the numbers of people, things and events."""

    people: tuple[int, int]
    things: tuple[int, int]
    events: tuple[int, int]


TINY = Shape(people=(2, 2), things=(1, 1), events=(2, 5))
SHORT = Shape(people=(2, 2), things=(1, 2), events=(2, 6))
LONG = Shape(people=(2, 3), things=(2, 3), events=(15, 22))
Mix = tuple[tuple[Shape, float], ...]
"""Shapes and how often each comes."""
MIXES: dict[Split, Mix] = {"train": ((SHORT, 1.0),), "test": ((LONG, 1.0),)}
"""Examples for a prompt come from the training split and are short; what is asked is long."""


@dataclass
class Ledger:
    """The story so far: its sentences, every fact's value, and the sentence that last told it."""

    people: list[str]
    things: list[str]
    values: dict[Fact, int] = field(default_factory=dict)
    told_at: dict[Fact, int] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)

    @property
    def holdings(self) -> list[Fact]:
        """Every (person, thing) of the story."""
        return [(person, thing) for person in self.people for thing in self.things]

    def tell(self, sentence: str, values: dict[Fact, int]) -> None:
        """Append a sentence that gives these facts these values."""
        self.values |= values
        self.told_at |= dict.fromkeys(values, len(self.sentences))
        self.sentences.append(sentence)


def problems(split: Split, n: int, seed: int, mix: Mix | None = None) -> list[Problem]:
    """`n` problems of a split, the same for the same seed; `mix` replaces the split's own shapes.

    The splits are disjoint whatever the seeds: the hash of a question's text decides which split
    it belongs to.
    """
    rng = random.Random(f"{split} {seed}")
    shapes, weights = zip(*(mix or MIXES[split]), strict=True)
    found: list[Problem] = []
    while len(found) < n:
        problem = write_problem(rng, rng.choices(shapes, weights)[0])
        if split_of(problem["question"]) == split:
            found.append(problem)
    return found


def split_of(question: str) -> Split:
    """The split that a question belongs to: a quarter of all questions is for testing."""
    return "test" if hashlib.sha256(question.encode()).digest()[0] % 4 == 0 else "train"


def few_shot_prompt(shots: list[Problem], question: str) -> str:
    """The prompt that lm-eval's GSM8K task makes of these examples and this question."""
    return "".join(f"{document(shot)}\n\n" for shot in shots) + f"Question: {question}\nAnswer:"


def document(problem: Problem) -> str:
    """A problem with its answer, as an example in a prompt."""
    return f"Question: {problem['question']}\nAnswer: {problem['answer']}"


def write_problem(rng: random.Random, shape: Shape) -> Problem:
    """One problem of this shape."""
    ledger = open_ledger(rng, shape)
    for _ in range(rng.randint(*shape.events)):
        add_event(rng, ledger)
    asked, steps, number = ask(rng, ledger)
    return {
        "question": " ".join([*ledger.sentences, asked]),
        "answer": f"{' '.join(steps)}\n#### {number}",
    }


def open_ledger(rng: random.Random, shape: Shape) -> Ledger:
    """The start of a story: every price and every holding, in any order."""
    people = rng.sample(NAMES, rng.randint(*shape.people))
    ledger = Ledger(people, rng.sample(THINGS, rng.randint(*shape.things)))
    facts = [*ledger.holdings, *(("", thing) for thing in ledger.things)]
    rng.shuffle(facts)
    for fact in facts:
        value = rng.randint(2, HIGHEST if fact[0] else HIGHEST_PRICE)
        ledger.tell(statement(fact, value), {fact: value})
    return ledger


def add_event(rng: random.Random, ledger: Ledger) -> None:
    """One more sentence: mostly a change, told with its result."""
    event = rng.choices((change, give, recount, check, reprice, aside), (9, 2, 2, 7, 1, 1))[0]
    event(rng, ledger)


def change(rng: random.Random, ledger: Ledger) -> None:
    """A holding grows or shrinks."""
    fact = person, thing = rng.choice(ledger.holdings)
    verb, step = draw_step(rng, ledger.values[fact])
    value = ledger.values[fact] + step
    ledger.tell(f"{person} {verb} {abs(step)} {thing}, so {statement(fact, value)}", {fact: value})


def draw_step(rng: random.Random, value: int) -> tuple[str, int]:
    """A verb and a signed change that keep the value between 0 and the highest."""
    if rng.random() < (0.5 if 0 < value < HIGHEST else float(value == 0)):
        return rng.choice(GAINS), rng.randint(1, min(HIGHEST_CHANGE, HIGHEST - value))
    return rng.choice(LOSSES), -rng.randint(1, min(HIGHEST_CHANGE, value))


def give(rng: random.Random, ledger: Ledger) -> None:
    """One person hands something to another."""
    giver, taker = rng.sample(ledger.people, 2)
    thing = rng.choice(ledger.things)
    source, target = (giver, thing), (taker, thing)
    most = min(HIGHEST_CHANGE, ledger.values[source], HIGHEST - ledger.values[target])
    if most < 1:
        return check(rng, ledger)
    step = rng.randint(1, most)
    values = {source: ledger.values[source] - step, target: ledger.values[target] + step}
    told = " and ".join(statement(fact, value).rstrip(".") for fact, value in values.items())
    ledger.tell(f"{giver} gives {taker} {step} {thing}, so {told}.", values)


def recount(rng: random.Random, ledger: Ledger) -> None:
    """The old number is thrown away."""
    fact = rng.choice(ledger.holdings)
    value = rng.randint(0, HIGHEST)
    ledger.tell(f"After a recount {statement(fact, value)}", {fact: value})


def check(rng: random.Random, ledger: Ledger) -> None:
    """A holding or a price is told again as it stands."""
    fact = rng.choice(list(ledger.values))
    told = statement(fact, ledger.values[fact])
    ledger.tell(f"Now {told if fact[0] else lower(told)}", {fact: ledger.values[fact]})


def reprice(rng: random.Random, ledger: Ledger) -> None:
    """A price is replaced."""
    thing = rng.choice(ledger.things)
    value = rng.randint(2, HIGHEST_PRICE)
    ledger.tell(f"Then {lower(statement(('', thing), value))}", {("", thing): value})


def aside(rng: random.Random, ledger: Ledger) -> None:
    """A sentence that changes nothing."""
    ledger.tell(rng.choice(ASIDES), {})


def ask(rng: random.Random, ledger: Ledger) -> tuple[str, list[str], int]:
    """The question, the steps of its answer and the number.

    It needs one of the third of all facts that were told furthest back.
    """
    oldest = sorted(ledger.values, key=lambda fact: ledger.told_at[fact])
    person, thing = rng.choice(oldest[: max(1, len(oldest) // 3)])
    if not person:
        return ask_worth(ledger, (rng.choice(ledger.people), thing))
    other = rng.choice([name for name in ledger.people if name != person])
    kind = rng.choice(("one", "together", "worth"))
    if kind == "one":
        fact = (person, thing)
        return f"How many {thing} does {person} have?", [recall(ledger, fact)], ledger.values[fact]
    if kind == "together":
        first, second = rng.sample((person, other), 2)
        return ask_together(ledger, first, second, thing)
    return ask_worth(ledger, (person, thing))


def ask_together(ledger: Ledger, first: str, second: str, thing: str) -> tuple[str, list[str], int]:
    """Two people's holdings of one thing, added."""
    facts = (first, thing), (second, thing)
    left, right = (ledger.values[fact] for fact in facts)
    steps = [*(recall(ledger, fact) for fact in facts), f"{left} + {right} = {left + right}."]
    return f"How many {thing} do {first} and {second} have together?", steps, left + right


def ask_worth(ledger: Ledger, fact: Fact) -> tuple[str, list[str], int]:
    """A holding times its price."""
    count, price = ledger.values[fact], ledger.values["", fact[1]]
    steps = [
        recall(ledger, fact),
        recall(ledger, ("", fact[1])),
        f"{count} * {price} = {count * price}.",
    ]
    return f"How many dollars are {holding(fact)} worth?", steps, count * price


def recall(ledger: Ledger, fact: Fact) -> str:
    """The sentence of an answer that states a fact."""
    return statement(fact, ledger.values[fact])


def statement(fact: Fact, value: int) -> str:
    """A fact in the words that stand for it everywhere, with its name right before its value."""
    person, thing = fact
    return (
        f"{holding(fact)} are {value}." if person else f"The price of {thing} is {value} dollars."
    )


def holding(fact: Fact) -> str:
    """What a person has of a thing, as in: Ana's pens."""
    return f"{fact[0]}'s {fact[1]}"


def lower(sentence: str) -> str:
    """The sentence as it goes on after another word."""
    return sentence[0].lower() + sentence[1:]
