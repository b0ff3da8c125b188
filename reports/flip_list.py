"""Flips for people: all of them at length, or their number and the first few."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from linattn_verify.reports.document import Check
from linattn_verify.reports.facts_section import TEXT
from linattn_verify.reports.flip import NEAR_TIE, SharedFlip, shared_flips
from linattn_verify.reports.ink import Ink, indented
from linattn_verify.reports.score_table import bare

_NONE = "No question changed sides."
_LEGEND = (
    "lost: right in the reference alone; gained: right in the candidate alone. Tokens are counted "
    f"from 0. Near-tie: a lead below {NEAR_TIE} nats, which rounding can turn. Outputs start "
    "shortly before they part; … stands for what is not shown."
)
_FEW = 3
"""Flips on the compact page."""
_LINES = 3
"""Of a question, a target or an output on the full page."""
_ANSWER = 24
"""Cells of an extracted answer."""
_LABELS = ("question", "target", "answers", "parted", "reference", "candidate")
_LABEL = max(map(len, _LABELS)) + 2


def flip_list(task: str, checks: Sequence[Check], ink: Ink) -> Iterator[RenderableType]:
    """Every question that changed sides, with both outputs from shortly before they part."""
    if not _compared(checks):
        return
    flips = shared_flips(task, checks)
    yield from _counts(task, flips, checks, ink)
    if flips:
        yield ink.text(_LEGEND, "dim")
    for flip in flips:
        yield Text("")
        yield ink.text(flip.title, "bold")
        yield indented(_at_length(flip, ink))


def flip_summary(task: str, checks: Sequence[Check], ink: Ink) -> Iterator[RenderableType]:
    """How many questions changed sides in each scenario, and the first of them in short."""
    if not _compared(checks):
        return
    flips = shared_flips(task, checks)
    yield from _counts(task, flips, checks, ink)
    for flip in flips[:_FEW]:
        yield ink.text(flip.title, "bold")
        yield from map(indented, _in_short(flip, ink))
    if flips:
        more = len(flips) - _FEW
        yield ink.text(f"{f'… {more} more; ' if more > 0 else ''}{TEXT} has all flips.", "dim")


def _compared(checks: Sequence[Check]) -> bool:
    return any(score.paired for check in checks for score in check.scores)


def _counts(
    task: str, flips: Sequence[SharedFlip], checks: Sequence[Check], ink: Ink
) -> Iterator[RenderableType]:
    yield Text("")
    if not flips:
        yield ink.text(_NONE)
        return
    scenarios = dict.fromkeys(check.scenario for check in checks if _compared([check]))
    tallies = {name: _tally([f for f in flips if f.scenario == name]) for name in scenarios}
    said = (f"{bare(name, task)} {tally}" for name, tally in tallies.items())
    title = ink.text("Questions that changed sides: ", "bold")
    yield Text.assemble(title, ink.text(" · ".join(said)))


def _tally(flips: Sequence[SharedFlip]) -> str:
    changes = [flip.first.change for flip in flips]
    counts = ((changes.count(change), change) for change in ("lost", "gained"))
    return ", ".join(f"{count} {change}" for count, change in counts if count) or "none"


def _at_length(flip: SharedFlip, ink: Ink) -> RenderableType:
    room = ink.width - 2 - _LABEL
    cells, tail = _LINES * room, room
    table = Table.grid()
    table.add_column(width=_LABEL)
    table.add_column(width=room, overflow="fold")
    reference, candidate = _outputs(flip, cells, tail, ink)
    answers = Text("\n").join(_answers(flip, room, ink))
    facts = (
        ink.line(flip.first.text, cells, tail=tail),
        ink.token(flip.first.target, cells, tail=tail),
        answers,
        ink.text(flip.parting),
        reference,
        candidate,
    )
    for label, fact in zip(_LABELS, facts, strict=True):
        table.add_row(ink.text(label, "dim"), fact)
    return table


def _in_short(flip: SharedFlip, ink: Ink) -> Iterator[Text]:
    """Target, answers and parting; then a line of each output."""
    target = ink.token(flip.first.target, _ANSWER, tail=_ANSWER // 2)
    answers = Text("; ").join(_answers(flip, _ANSWER, ink))
    yield Text.assemble("target ", target, ", ", answers)
    yield ink.text(f"parted {flip.parting}" if flip.first.parted_at is not None else flip.parting)
    cells = ink.width - 2 - _LABEL
    for label, output in zip(_LABELS[-2:], _outputs(flip, cells, 0, ink), strict=True):
        yield ink.text(label.ljust(_LABEL), "dim").append(output)


def _answers(flip: SharedFlip, cells: int, ink: Ink) -> Iterator[Text]:
    """What the filters took out of both outputs; the filter is named where they disagree."""
    several = len(flip.answers) > 1
    for (reference, candidate), filters in flip.answers.items():
        yield Text.assemble(
            "reference ",
            ink.token(reference, cells, tail=cells // 2),
            ", candidate ",
            ink.token(candidate, cells, tail=cells // 2),
            ink.text(f" ({filters})" if several else ""),
        )


def _outputs(flip: SharedFlip, cells: int, tail: int, ink: Ink) -> tuple[Text, Text]:
    cut, reference, candidate = flip.excerpts
    dots = ink.text("…" if cut else "")
    room = cells - dots.cell_len
    return (
        dots + ink.token(reference, room, tail=tail),
        dots + ink.token(candidate, room, tail=tail),
    )
