"""Writers of structured text: ledger, code, log, table, word problems."""

import json
from collections.abc import Iterator

from linattn_verify.workloads.draw import Draw

RECORDS: dict[str, tuple[str, ...]] = {
    "doc": (
        "Return the {noun_code}s whose {metric} exceeds {d2}.",
        "Drop each {adjective} {noun_code} older than {d3} seconds.",
        "Every {noun_code} of the {service}, {colour} ones first.",
        "Sum the {metric} of one {noun_code}, in units of {d2}.",
        "Raise where the {service} has no {adjective} {noun_code}.",
        "Pair a {noun_code} with its {adjective} {noun_code}.",
    ),
    "problem": (
        "{name} packs {d2} {plural} into each of {d1} crates and sells {d2}. How many are left?",
        "A {trade} walks {d2} miles to {place} and {d1} miles further. How many yards is that?",
        "If {d1} {plural} cost {d2} crowns, what must {name} pay for {d2} {adjective} {plural}?",
        "At {place}, {d3} {plural} are shared among {d1} children; {name} gets the rest. Find it.",
        "The {material} {thing} weighs {d2} grams more than {d1} {plural} of {d2} grams. Weigh it.",
        "{name} reads {d2} pages {when} and {d1} fewer each day after. When are {d3} pages done?",
        "A tank at {place} holds {d4} litres and loses {d2} an hour. The {trade} returns when it"
        " is at half. After how long?",
        "Of {d3} {colour} {plural}, every {d1}th is {adjective}. How many may the {trade} keep?",
        "{name} is {d1} years older than {name}; together they are {d2}. How old is the {trade}'s"
        " {adjective} friend?",
        "A rectangle of {material} is {d2} by {d2} inches. {name} cuts {d1} squares off. What area"
        " remains for the {thing}?",
    ),
    "incoming": (
        "{name} unloads a cart at {place}",
        "the {trade} buys at {d2} crowns",
        "found {when}",
        "{d1} boats land {when}",
    ),
    "outgoing": (
        "sold to the {trade} from {place}",
        "{name} drops a crate",
        "sent {when} for a {thing}",
        "spoilt, for {weather}",
    ),
    "event": (
        "{noun_code} {d4} rejected near {place}",
        "{metric} back below {d2}",
        "retry {d1} of {noun_code} after {d3} ms",
        "{adjective} checksum on {noun_code} {d3}",
        "{verb_code} finished, {d3} {noun_code}s",
        "waiting for {service}, {metric} {d2}",
        "{name} opened {noun_code} {d2}",
        "no {colour} {noun_code} left for {service}",
    ),
}


def ledger(draw: Draw) -> Iterator[str]:
    """A stock book, entry by entry, with quantities that add up."""
    stock: dict[str, int] = {}
    entry = 0
    while True:
        entry += 1
        goods = draw.deal("plural")
        held = stock.get(goods, 0)
        if held > 20 and draw.number(0, 2):
            change, cause = -draw.number(3, held - 1), draw.deal("outgoing")
        else:
            change, cause = draw.number(11, 240), draw.deal("incoming")
        stock[goods] = held + change
        total = sum(stock.values())
        yield f"Step {entry}: {cause}: {held} {change:+d} = {stock[goods]} {goods}; all {total}.\n"


def code(draw: Draw) -> Iterator[str]:
    """Python functions, no two alike."""
    while True:
        verb, noun, other = (draw.deal(s) for s in ("verb_code", "noun_code", "noun_code"))
        yield f"\ndef {verb}_{noun}s({noun}s: list[int], {other}: int = {draw.number(2, 97)}):\n"
        yield f'    """{draw.deal("doc")}"""\n'
        bodies = (_loop, _comprehension, _guard)
        for body in range(draw.number(1, 2)):
            yield bodies[(draw.number(0, 1) + body) % 3](draw, noun, other)
        yield f"    return sorted({noun}s)[: {draw.number(2, 60)}] + [{other}]\n"


def _loop(draw: Draw, noun: str, other: str) -> str:
    tally = draw.deal("metric").replace(" ", "_")
    low, step = draw.number(2, 99), draw.number(2, 13)
    return (
        f"    {tally} = {draw.number(0, 500)}\n"
        f"    for index, {noun} in enumerate({noun}s, start={low}):\n"
        f"        if {noun} % {step} == index or {other} > {draw.number(100, 999)}:\n"
        f"            {tally} {draw.shuffled(['+=', '-=', '*=', '^='])[0]} {noun} - {step}\n"
    )


def _comprehension(draw: Draw, noun: str, other: str) -> str:
    kept = draw.deal("adjective")
    return (
        f"    {kept} = {{{noun}: {noun} // {draw.number(2, 40)} for {noun} in {noun}s"
        f" if {noun} != {other} + {draw.number(2, 80)}}}\n"
        f"    print('{draw.deal('event')}', len({kept}), max({kept}))\n"
    )


def _guard(draw: Draw, noun: str, other: str) -> str:
    return (
        f"    if not {noun}s or {other} == {draw.number(100, 999)}:\n"
        f"        raise ValueError('{draw.deal('event')}')\n"
    )


def log(draw: Draw) -> Iterator[str]:
    """JSON log lines of several services, with a clock that moves on."""
    seconds = draw.number(20_000, 40_000)
    while True:
        seconds += draw.number(1, 400)
        record = {
            "t": f"{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}",
            "level": draw.shuffled(["info", "warn", "error", "debug"])[0],
            "service": draw.deal("service"),
            "msg": draw.deal("event"),
            draw.deal("metric").replace(" ", "_"): draw.number(1, 9999) / 10,
            draw.deal("noun_code"): f"{draw.number(4096, 65535):x}-{draw.deal('colour')}",
        }
        keys = draw.shuffled(list(record))
        yield json.dumps({key: record[key] for key in keys}) + "\n"


def table(draw: Draw) -> Iterator[str]:
    """Rows of comma-separated values under a header."""
    yield "lot,goods,maker,material,colour,count,price,weight_kg,stored_at,remark\n"
    lot = draw.number(1000, 2000)
    while True:
        lot += draw.number(1, 37)
        count, cents, grams = draw.number(2, 480), draw.number(15, 9900), draw.number(40, 88000)
        remark = draw.fill("{adjective} {thing}")
        words = ",".join(draw.deal(s) for s in ("plural", "name", "material", "colour"))
        numbers = f"{count},{cents / 100:.2f},{grams / 1000:.3f}"
        yield f"{lot},{words},{numbers},{draw.deal('place')},{remark}\n"


def problems(draw: Draw) -> Iterator[str]:
    """Numbered word problems with an empty line for the answer."""
    number = 0
    while True:
        number += 1
        problem = draw.deal("problem")
        yield f"Problem {number}. {problem[:1].upper()}{problem[1:]}\nAnswer:\n\n"
