"""The tokens on which candidate and reference differ most."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from linattn_verify.checks.result import Verdict, WorstToken
from linattn_verify.reports.document import Check, Report
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.json_report import REPORT
from linattn_verify.reports.numbers import number

_SHOWN = {True: 10, False: 5}
"""Rows of a check that did not pass, and of one that did; report.json has all."""

_COLUMNS = ("Prompt", "Leg", "Pos", "Chunk", "Edge+", "Reference", "Candidate", "Δ", "Token")
_RIGHT = ("Pos", "Chunk", "Edge+", "Reference", "Candidate", "Δ")
_LONGEST_PROMPT = 12
_TOKEN = 28
"""Cells of a token's text that are shown at 80 columns, over two lines if need be."""


def worst_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """The worst tokens of every check that names some, whatever did not pass first."""
    checks = [check for check in report.checks if check.worst]
    if not checks:
        return
    yield ink.heading("Worst tokens")
    yield ink.text(
        "Log-probabilities in nats. Edge+ = tokens from the start of the chunk that computed it; "
        "– = first chunk, no edge before it. Token text is quoted, with invisible characters as "
        "escapes.",
        "dim",
    )
    for check in sorted(checks, key=lambda c: c.verdict is Verdict.PASS):
        yield Text("")
        versus = f" vs {check.reference}" if check.reference else ""
        yield ink.text(f"{check.scenario}{versus} · {check.name}", "bold")
        yield from _table(check, ink)


def _table(check: Check, ink: Ink) -> Iterator[RenderableType]:
    shown = check.worst[: _SHOWN[check.verdict is not Verdict.PASS]]
    table = ink.table(*_COLUMNS, right=_RIGHT, gap=2 if ink.width >= 100 else 1)
    table.columns[0].max_width = _LONGEST_PROMPT
    for column in table.columns[1:-1]:
        column.no_wrap = True
    for worst in shown:
        table.add_row(*_row(worst, ink))
    yield table
    if len(check.worst) > len(shown):
        yield ink.text(f"… {len(check.worst) - len(shown)} more in {REPORT}", "dim")


def _row(worst: WorstToken, ink: Ink) -> list[Text]:
    token = ink.token(worst.text, cells=max(_TOKEN, ink.width - 80))
    if worst.note:
        token.append(f" {ink.plain(worst.note)}")
    return [
        ink.text(worst.prompt),
        ink.text(worst.leg),
        Text(str(worst.position)),
        Text(str(worst.chunk)),
        ink.text("–" if worst.edge_distance is None else str(worst.edge_distance)),
        Text(_signed(worst.reference_logprob)),
        Text(_signed(worst.candidate_logprob)),
        Text(number(worst.delta), style="bold"),
        token,
    ]


def _signed(logprob: float | None) -> str:
    return number(None) if logprob is None else f"{logprob:.4f}"
