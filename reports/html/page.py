"""From a report to an HTML page that holds all it needs."""

from collections.abc import Sequence
from functools import cache, partial
from json import dumps
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from linattn_verify.checks.kernel_paths import judge_error
from linattn_verify.checks.limits import room
from linattn_verify.checks.result import Verdict
from linattn_verify.reports.check_section import worst_first
from linattn_verify.reports.document import Check, Report
from linattn_verify.reports.html.along import strips
from linattn_verify.reports.html.flips import flipped
from linattn_verify.reports.html.heat import every_segment, worst_segment
from linattn_verify.reports.html.spread import spreads
from linattn_verify.reports.html.states import state_maps
from linattn_verify.reports.html.timeline import timeline
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.localised_section import localised_sentences, localised_title
from linattn_verify.reports.numbers import limit_text, margin_mark, number
from linattn_verify.reports.passed_table import left_out, margin
from linattn_verify.reports.sensitivity_section import LOUDEST, by_check, remarks

_TEMPLATES = Path(__file__).parent / "templates"
_INK = Ink(width=80)
_TOKENS = 10
"""Worst tokens of a check that did not pass; of one that did, half as many."""
_FLIPS = 4
"""Flips that are shown at once."""


def to_html(report: Report) -> str:
    """The page. Whatever a model, an engine or a user wrote is in it as text, never as markup, with
    invisible characters as escapes."""
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            report=report,
            checks=worst_first(report.checks),
            tally={v: n for v in Verdict if (n := sum(c.verdict is v for c in report.checks))},
            sensitivity=by_check(report.sensitivity),
            loudest=LOUDEST,
            remarks=remarks(report.sensitivity),
            heat=worst_segment(report),
            heat_by_segment=every_segment(report),
            spreads=spreads(report),
            strips=strips(report),
            state_maps=state_maps(report),
            flips=flipped(report),
            timeline=timeline(report.phases),
            origins=_origins(report),
            tokens=_TOKENS,
            few=_FLIPS,
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    environment.filters.update(
        json=partial(dumps, ensure_ascii=False),
        left_out=left_out,
        limit=limit_text,
        margin=margin,
        number=number,
        tightest=_tightest,
        token=_token,
    )
    environment.globals.update(
        judge_error=judge_error,
        margin_mark=margin_mark,
        sentences=localised_sentences,
        title=localised_title,
    )
    return environment


def _tightest(checks: Sequence[Check]) -> Check | None:
    """The check with the smallest margin, of those that have limits."""
    limited = [check for check in checks if check.tightest is not None]
    return min(limited, key=lambda c: room(c.limits[c.tightest or ""]), default=None)


def _origins(report: Report) -> dict[str, str]:
    """Where limits come from, and the checks that have any from there."""
    found: dict[str, dict[str, None]] = {}
    for check in report.checks:
        for outcome in check.limits.values():
            found.setdefault(outcome.origin, {})[check.name] = None
    return {origin: ", ".join(names) for origin, names in found.items()}


def _token(text: str) -> str:
    """A token in quotes, as the terminal shows it."""
    return _INK.token(text, _INK.width).plain


def _visible(value: Any) -> Any:
    """Text without a character that cannot be seen; what is markup already stays."""
    is_text = isinstance(value, str) and not hasattr(value, "__html__")
    return _INK.plain(value) if is_text else value
