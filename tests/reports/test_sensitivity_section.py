"""Sensitivity on the terminal: counted by check, blindness in words, mutations out of the way."""

from collections.abc import Callable

import lxml.html
import pytest

from linattn_verify.checks.result import Sensitivity, Verdict
from linattn_verify.reports.document import Phase, Report
from linattn_verify.reports.html.page import to_html
from linattn_verify.reports.terminal import render_text
from tests.reports.conftest import Made, agreement, comparison
from tests.reports.pages import compact

Make = Callable[..., Report]


def shown(check: str, scenario: str, ratio: float | None, **more: object) -> Sensitivity:
    seen = ratio is None or ratio >= 3
    values = {
        **{"check": check, "scenario": scenario, "mutation": f"{scenario}~lost", "fault": "lost"},
        **{"fired": 12, "seen": seen, "ratio": ratio, "statistic": "decode.all.max"},
        **{"value": None if ratio is None else ratio / 2, "limit": 0.5},
        **{"message": "lost is seen" if seen else "this workload is blind"},
    }
    return Sensitivity.model_validate({**values, **more})


SHOWN = (
    shown("chunked_prefill", "chunked@256", 8.0, without_signal=("ledger",)),
    shown("logprobs_close", "chunked@256", 0.0, outweighed_by="chunked_prefill"),
    shown("prefix_cache", "warm", 4.4e7),
    shown("state_equivalence", "warm", None),
)


@pytest.fixture
def report(made: Make) -> Report:
    clean = made("pass")
    again = clean.scenarios[1].model_copy(update={"name": "chunked@256~lost", "seconds": 3.0})
    phases = (*clean.phases, Phase(name="chunked@256~lost", seconds=3.0))
    update = {"sensitivity": SHOWN, "mutations": (again,), "phases": phases}
    return clean.model_copy(update=update)


def test_without_mutations_there_is_no_section(made: Make) -> None:
    assert "Could it have failed" not in compact(made("pass"))


def test_each_check_has_its_count_and_multiples(report: Report) -> None:
    text = compact(report)
    lines = [line.split() for line in text.splitlines()]
    assert ["chunked_prefill", "1", "of", "1", "×8"] in lines
    assert ["logprobs_close", "0", "of", "1", "–"] in lines
    assert ["prefix_cache", "1", "of", "1", "×999+"] in lines
    assert "1 above a limit of 0" in text


def test_blindness_is_told_with_what_sees_instead(report: Report) -> None:
    text = " ".join(compact(report).split())
    assert "✗ logprobs_close in chunked@256: this workload is blind" in text
    assert "It decides nothing: chunked_prefill sees the loss there" in text
    assert "Prompt without signal: ledger in chunked@256" in text


def test_the_full_page_has_a_row_each(report: Report) -> None:
    text = render_text(report, width=120)
    rows = [line.split() for line in text.splitlines() if "lost" in line.split()]
    assert ["✓", "chunked_prefill", "chunked@256", "lost", "12"] in [row[:5] for row in rows]
    assert ["✗", "logprobs_close", "chunked@256", "lost", "12"] in [row[:5] for row in rows]


def test_mutations_are_one_line_of_the_cost(report: Report) -> None:
    for text in (compact(report), render_text(report)):
        assert "chunked@256~lost" not in text
        assert "1 mutations" not in text and "1 mutation" in text


@pytest.mark.parametrize(
    ("outweighed", "verdict"), [(None, Verdict.VACUOUS), ("chunked_prefill", Verdict.PASS)]
)
def test_a_blind_check_decides_unless_a_finer_one_sees(
    outweighed: str | None, verdict: Verdict
) -> None:
    blind = agreement("chunked@256").model_copy(
        update={"verdict": Verdict.VACUOUS, "message": "this workload is blind"}
    )
    one = shown("logprobs-close", "chunked@256", 0.0, outweighed_by=outweighed)
    results = (comparison("chunked@256"), blind, comparison("warm", 0.5))
    report = Made(results=results, sensitivity=(one,)).report()
    assert report.verdict is verdict


def test_an_outweighed_fail_is_still_a_fail() -> None:
    one = shown("logprobs-close", "chunked@256", 0.0, outweighed_by="chunked_prefill")
    failing = agreement("chunked@256", outside=1.0).model_copy(update={"verdict": Verdict.FAIL})
    report = Made(results=(comparison("chunked@256"), failing), sensitivity=(one,)).report()
    assert report.verdict is Verdict.FAIL


def test_the_html_page_has_the_same_rows_and_remarks(report: Report, made: Make) -> None:
    page = lxml.html.document_fromstring(to_html(report))
    section = page.get_element_by_id("sensitivity")
    cells = [[td.text_content() for td in tr.findall("td")] for tr in section.iter("tr")]
    assert ["prefix_cache", "1 of 1", "×999+"] in cells
    assert "chunked_prefill sees the loss there" in section.text_content()
    assert 'id="sensitivity"' not in to_html(made("pass"))
