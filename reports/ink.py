"""How text gets onto a console: as data, never as markup, in glyphs the console can show."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from linattn_verify.checks.result import Verdict

VERDICT_STYLES = {
    Verdict.PASS: "bold green",
    Verdict.FAIL: "bold red",
    Verdict.ERROR: "bold red",
    Verdict.VACUOUS: "bold yellow",
    Verdict.INCONCLUSIVE: "bold yellow",
    Verdict.UNSUPPORTED: "bold yellow",
}
_ASCII = str.maketrans(
    {
        "×": "x", "∞": "inf", "Δ": "delta ", "≤": "<=", "≥": ">=", "≠": "!=", "→": "->",
        "✓": "+", "✗": "!", "·": ".", "–": "-", "—": "-", "−": "-", "…": "...", "‖": "||",
        "“": '"', "”": '"', "‘": "'", "’": "'", "±": "+-", "÷": "/", "│": "|", "■": "#",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Ink:
    """A console's width, and whether it shows more than ASCII."""

    width: int
    unicode: bool = True

    @property
    def wide(self) -> bool:
        """Whether tables have room to spare."""
        return self.width >= 100

    def plain(self, text: str) -> str:
        """`text` with control and invisible characters as escapes; newlines stay."""
        shown = "".join(c if c == "\n" else _visible(c) for c in text.expandtabs(4))
        return shown if self.unicode else _ascii(shown)

    def text(self, text: str, style: str = "") -> Text:
        """`text` as it is: nothing in it is markup."""
        return Text(self.plain(text), style=style)

    def token(self, text: str, cells: int, tail: int = 0) -> Text:
        """A token, or an output, in quotes and in one line of at most `cells`, of which `tail` are
        kept for its end; backslashes are doubled."""
        inner = "".join("\\\\" if c == "\\" else _visible(c) for c in text)
        if inner and unicodedata.category(inner[0]).startswith("M"):
            inner = _escape(inner[0]) + inner[1:]  # it would melt into the quote
        inner = inner if self.unicode else _ascii(inner)
        quote = '"' if "'" in inner and '"' not in inner else "'"
        return Text(f"{quote}{self._cut(inner, cells - 2, tail)}{quote}")

    def line(self, text: str, cells: int, style: str = "", tail: int = 0) -> Text:
        """`text` in one line of at most `cells`, of which `tail` are kept for its end."""
        return Text(self._cut(self.plain(" ".join(text.split())), cells, tail), style=style)

    def _cut(self, shown: str, cells: int, tail: int = 0) -> str:
        if cell_len(shown) <= cells:
            return shown
        dots = self.plain("…")
        end = set_cell_size(shown[::-1], tail)[::-1]
        return set_cell_size(shown, max(cells - len(dots) - tail, 1)) + dots + end

    def heading(self, title: str) -> Padding:
        """The line that opens a section."""
        return Padding(Rule(self.text(title, "bold"), align="left", style="dim"), (1, 0, 0, 0))

    def table(self, *headers: str, right: Iterable[str] = (), gap: int = 2) -> Table:
        """An open table of these columns; those in `right` are aligned to the right."""
        table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), show_header=any(headers))
        for header in headers:
            table.add_column(
                self.text(header, "bold"),
                justify="right" if header in right else "left",
                overflow="fold",
            )
        return table


def indented(text: RenderableType, by: int = 2) -> Padding:
    """`text` moved to the right."""
    return Padding(text, (0, 0, 0, by))


def _visible(character: str) -> str:
    return character if character.isprintable() else _escape(character)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _ascii(text: str) -> str:
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")
