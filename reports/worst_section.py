"""The tokens on which candidate and reference differ most."""

from collections.abc import Iterator, Sequence
from math import inf

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from linattn_verify.checks.result import Verdict, WorstToken
from linattn_verify.reports.check_section import worst_first
from linattn_verify.reports.document import Check, Report
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.json_report import REPORT
from linattn_verify.reports.numbers import number

_SHOWN = {True: 10, False: 5}
"""Rows of a check that did not pass, and of one that did; report.json has all."""
_SUMMARY_OF_FAILED = 5
_SUMMARY_OF_ALL = 8

_COLUMNS = ("Prompt", "Leg", "Pos", "Chunk", "Edge+", "Ref", "Cand", "Δ", "Token")
_RIGHT = ("Pos", "Chunk", "Edge+", "Ref", "Cand", "Δ")
_LONGEST_NAME = 12
_TOKEN = 28
"""Cells of a token's text that are shown at 80 columns, over two lines if need be."""


def worst_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """The worst tokens of every check that names some, whatever did not pass first."""
    checks = worst_first([check for check in report.checks if check.worst])
    if not checks:
        return
    yield from _heading(ink)
    for check in checks:
        yield from _of_check(check, _SHOWN[check.verdict is not Verdict.PASS], ink)


def worst_summary(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """The worst tokens of what failed; where nothing did, the worst of the run."""
    checks = [check for check in report.checks if check.worst]
    if not checks:
        return
    yield from _heading(ink)
    failed = [check for check in checks if check.verdict is Verdict.FAIL]
    for check in failed:
        yield from _of_check(check, _SUMMARY_OF_FAILED, ink)
    if not failed:
        yield _of_run(checks, ink)


def _heading(ink: Ink) -> Iterator[RenderableType]:
    yield ink.heading("Worst tokens")
    yield ink.text(
        "Log-probabilities of reference and candidate in nats. Edge+: tokens from the start of its "
        "chunk, – in a first chunk. Invisible characters are escaped.",
        "dim",
    )


def _of_check(check: Check, most: int, ink: Ink) -> Iterator[RenderableType]:
    yield Text("")
    versus = f" vs {check.reference}" if check.reference else ""
    yield ink.text(f"{check.scenario}{versus} · {check.name}", "bold")
    table = _table(_COLUMNS, ink)
    for worst in check.worst[:most]:
        table.add_row(*_row(worst, ink))
    yield table
    if len(check.worst) > most:
        yield ink.text(f"… {len(check.worst) - most} more in {REPORT}", "dim")


def _of_run(checks: Sequence[Check], ink: Ink) -> RenderableType:
    """What has no finite difference first, then by its size."""
    found = [(check.scenario, worst) for check in checks for worst in check.worst]
    found.sort(key=lambda pair: inf if pair[1].delta is None else abs(pair[1].delta), reverse=True)
    table = _table(("Scenario", *_COLUMNS), ink)
    for scenario, worst in found[:_SUMMARY_OF_ALL]:
        table.add_row(ink.text(scenario), *_row(worst, ink))
    return table


def _table(columns: Sequence[str], ink: Ink) -> Table:
    table = ink.table(*columns, right=_RIGHT, gap=2 if ink.wide else 1)
    names = columns.index("Prompt") + 1
    for column in table.columns[:names]:
        column.max_width = _LONGEST_NAME
    for column in table.columns[names:-1]:
        column.no_wrap = True
    return table


def _row(worst: WorstToken, ink: Ink) -> list[Text]:
    token = ink.token(worst.text, cells=max(_TOKEN, ink.width - 80))
    if worst.note:
        token.append(f" {ink.plain(worst.note)}")
    return [
        ink.text(worst.prompt),
        ink.text(worst.leg),
        Text(str(worst.position)),
        ink.text("–" if worst.chunk is None else str(worst.chunk)),
        ink.text("–" if worst.edge_distance is None else str(worst.edge_distance)),
        Text(_signed(worst.reference_logprob)),
        Text(_signed(worst.candidate_logprob)),
        Text(number(worst.delta), style="bold"),
        token,
    ]


def _signed(logprob: float | None) -> str:
    return number(None) if logprob is None else f"{logprob:.4f}"
