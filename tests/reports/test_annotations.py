"""Workflow commands: one line each, whatever is in them, and no more than GitHub shows."""

from collections.abc import Callable

import pytest

from linattn_verify.checks.result import Verdict
from linattn_verify.reports.annotations import MOST, annotations
from linattn_verify.reports.document import Report
from tests.reports.conftest import lone
from tests.reports.hostile import hostile_report

Make = Callable[..., Report]


def test_a_pass_says_nothing(made: Make) -> None:
    assert annotations(made("pass")) == ()


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [("FAIL", "error"), ("ERROR", "error"), ("VACUOUS", "warning"), ("UNSUPPORTED", "notice")],
)
def test_the_headline_then_each_answer(made: Make, verdict: str, kind: str) -> None:
    report = made("pass", results=(lone("prefix-cache", "warm", Verdict(verdict), "Why."),))
    first, second = annotations(report)
    assert first.startswith(f"::{kind} title=linattn-verify::prefix-cache in warm")
    assert second == f"::{kind} title={verdict}%3A prefix-cache in warm::Why."


def test_no_text_ends_its_command_or_starts_another() -> None:
    for line in annotations(hostile_report()):
        assert line.splitlines()[0].startswith("::error title=")
        assert "\n" not in line and "\r" not in line
    assert "100%25" in line
    assert "%0D%0A::warning::second line" in line


def test_a_title_holds_no_comma_and_no_colon(made: Make) -> None:
    report = made("pass", results=(lone("a,b", "c:d%\n", Verdict.FAIL, "x,y:z"),))
    assert annotations(report)[1] == "::error title=FAIL%3A a%2Cb in c%3Ad%25%0A::x,y:z"


@pytest.mark.parametrize("answers", [1, MOST - 1, MOST, 3 * MOST])
def test_no_more_than_github_shows(made: Make, answers: int) -> None:
    results = tuple(lone("c", f"s{n}", Verdict.FAIL, "Why.") for n in range(answers))
    said = annotations(made("pass", results=results))
    assert len(said) == min(answers + 1, MOST)
    assert ("more like these" in said[-1]) == (answers + 1 > MOST)
