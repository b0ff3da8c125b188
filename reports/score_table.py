"""One task's scores: a row for each scenario, in a block for each filter."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from linattn_verify.checks.limits import difference
from linattn_verify.checks.result import Paired, Score
from linattn_verify.reports.document import Check
from linattn_verify.reports.ink import VERDICT_STYLES, Ink
from linattn_verify.reports.numbers import number, percent, questions

_DISPENSABLE = ("p", "Questions", "Cut", "Invalid")
"""What a narrow console goes without, in this order."""
_LEFT = ("Scenario", "Difference", "Verdict")


@dataclass(frozen=True)
class Row:
    """One scenario's score under one filter."""

    check: Check
    score: Score

    @property
    def scenario(self) -> str:
        """The scenario's name without the task's, which stands above the table."""
        return bare(self.check.scenario, self.score.task)

    @property
    def block(self) -> tuple[str, str]:
        """Filter and metric: what the rows of a block have in common."""
        return self.score.filter, self.score.metric

    @property
    def cut(self) -> str:
        """Outputs that the length limit ended, of all questions; the reference's own in its row."""
        found = self.check.counts.get("cut_candidate")
        return "–" if found is None else f"{found:,}"

    def paired(self, text: Callable[[Paired], str]) -> str:
        """What `text` makes of the comparison, if there is one."""
        return "–" if self.score.paired is None else text(self.score.paired)


_CELLS: dict[str, Callable[[Row], str]] = {
    "Scenario": lambda row: row.scenario,
    "Questions": lambda row: f"{row.score.questions:,}",
    "Score": lambda row: percent(row.score.score),
    "Difference": lambda row: row.paired(difference),
    "Lost": lambda row: row.paired(lambda p: f"{p.lost:,}"),
    "Gained": lambda row: row.paired(lambda p: f"{p.gained:,}"),
    "p": lambda row: row.paired(lambda p: number(p.p_value)),
    "Invalid": lambda row: f"{row.score.invalid:,}",
    "Cut": lambda row: row.cut,
    "Verdict": lambda row: row.score.verdict.value,
}


@dataclass(frozen=True)
class Layout:
    """The columns that are shown, and how wide they are."""

    widths: dict[str, int]
    gap: int
    folded: bool
    """Whether an interval stands under its difference."""
    left_out: tuple[str, ...] = ()
    """Columns for which there is no room."""

    @property
    def width(self) -> int:
        """Of the table."""
        return sum(self.widths.values()) + self.gap * (len(self.widths) - 1)


def bare(scenario: str, task: str) -> str:
    """The scenario's name without the task's."""
    return scenario.removeprefix(f"{task}/")


def rows_of(task: str, checks: Sequence[Check]) -> list[Row]:
    """Every score of the task, those of a filter together."""
    rows = [Row(check, s) for check in checks for s in check.scores if s.task == task]
    blocks = list(dict.fromkeys(row.block for row in rows))
    return sorted(rows, key=lambda row: blocks.index(row.block))


def score_table(rows: Sequence[Row], layout: Layout, ink: Ink) -> Iterator[RenderableType]:
    """A block for each filter, all in columns of the same width."""
    for block in dict.fromkeys(row.block for row in rows):
        within = [row for row in rows if row.block == block]
        yield ink.text(" · ".join((*block, questions(r.score.questions for r in within))), "bold")
        right = [name for name in layout.widths if name not in _LEFT]
        table = ink.table(*layout.widths, right=right, gap=layout.gap)
        for column, width in zip(table.columns, layout.widths.values(), strict=True):
            column.width = width
        for row in within:
            table.add_row(*(_styled(row, name, layout.folded, ink) for name in layout.widths))
        yield table


def fitting(rows: Sequence[Row], ink: Ink) -> Layout:
    """What the console has room for: every column, or less space between them, or fewer columns,
    or intervals under their differences; at the last, folded names."""
    alike = len({row.score.questions for row in rows}) < 2
    names = [name for name in _CELLS if name != "Questions" or not alike]
    fewer = [[n for n in names if n not in _DISPENSABLE[:k]] for k in range(len(_DISPENSABLE) + 1)]
    layouts = [_layout(rows, kept, gap, False, ink) for kept in fewer for gap in (2, 1)]
    layouts.append(_layout(rows, fewer[-1], 1, True, ink))
    layout = next((one for one in layouts if one.width <= ink.width), layouts[-1])
    scenario = layout.widths["Scenario"] - max(layout.width - ink.width, 0)
    left_out = tuple(name for name in names if name not in layout.widths)
    return replace(layout, widths=layout.widths | {"Scenario": scenario}, left_out=left_out)


def _layout(rows: Sequence[Row], names: Iterable[str], gap: int, folded: bool, ink: Ink) -> Layout:
    def width(name: str) -> int:
        cells = (line for row in rows for line in _cell(row, name, folded).split("\n"))
        return max(len(name), *(cell_len(ink.plain(line)) for line in cells))

    return Layout({name: width(name) for name in names}, gap, folded)


def _styled(row: Row, name: str, folded: bool, ink: Ink) -> Text:
    style = VERDICT_STYLES[row.score.verdict] if name == "Verdict" else ""
    return ink.text(_cell(row, name, folded), style)


def _cell(row: Row, name: str, folded: bool) -> str:
    cell = _CELLS[name](row)
    return cell.replace(" [", "\n[") if folded and name == "Difference" else cell
