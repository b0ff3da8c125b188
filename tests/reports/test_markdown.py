"""Markdown: what a reviewer needs, and nothing of what a model prints is markup."""

from collections.abc import Callable

import pytest
from lxml import html
from markdown_it import MarkdownIt

from linattn_verify.checks.result import Verdict
from linattn_verify.reports.document import Report
from linattn_verify.reports.markdown import MOST_MESSAGES, to_markdown
from tests.reports.conftest import lone
from tests.reports.hostile import hostile_report
from tests.reports.test_repro import localised

Make = Callable[..., Report]


def rendered(report: Report) -> html.HtmlElement:
    """As a browser would have it."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return html.fromstring(f"<div>{parser.render(to_markdown(report))}</div>")


def rows(page: html.HtmlElement, table: int = 0) -> list[list[str]]:
    found = page.findall(".//table")[table].findall(".//tr")
    return [[cell.text_content() for cell in row] for row in found]


def test_the_verdict_and_what_it_rests_on_come_first(any_report: Report) -> None:
    title, headline = list(rendered(any_report))[:2]
    assert title.text_content() == f"{any_report.verdict}: tiny-qwen3.5, profile ci"
    assert headline.text_content() == " ".join(any_report.headline.split())


def test_every_answer_has_a_row_and_what_did_not_pass_comes_first(any_report: Report) -> None:
    header, *table = rows(rendered(any_report))
    assert header[:4] == ["Verdict", "Check", "Scenario", "Against"]
    asked = {(c.verdict.value, c.name, c.scenario, c.reference or "") for c in any_report.checks}
    assert asked <= {(row[0], row[1], row[2], row[3]) for row in table}
    passed = [row[0] == "PASS" for row in table]
    assert passed == sorted(passed)


def test_messages_of_what_did_not_pass_are_told(made: Make) -> None:
    report = made("fail")
    told = [item.text_content() for item in rendered(report).iter("li")]
    assert told == [
        f"{check.verdict} {check.name} in {check.scenario}: {check.message}"
        for check in report.checks
        if check.verdict is not Verdict.PASS
    ]


def test_where_the_fault_is_has_a_part_of_its_own(made: Make) -> None:
    page = rendered(made("fail").model_copy(update={"localised": localised()}))
    (title,) = [h for h in page.iter("h3") if "Where the fault is" in h.text_content()]
    assert "convolution state only (chunked@16 against full)" in title.text_content()
    said = [item.text_content() for item in title.getnext()]
    assert said[0] == "as seen" and "first bad edge after 64 tokens" in said[1]


def test_scores_have_a_table(made: Make) -> None:
    report = made("tasks that fail")
    header, *table = rows(rendered(report), table=1)
    assert header[3:] == ["Score", "Reference", "Points, 95 %", "Lost, gained"]
    assert len(table) == sum(len(check.scores) for check in report.checks)


def test_what_a_model_prints_is_text() -> None:
    page = rendered(hostile_report())
    assert {e.tag for e in page.iter()} <= {
        "div", "h2", "h3", "p", "ul", "li", "strong", "details", "summary",
        "table", "thead", "tbody", "tr", "th", "td",
    }  # fmt: skip
    (told,) = [e.text_content() for e in page.iter("li") if e.find("strong") is not None]
    for part in ("a|b ]]> </script><script>alert(1)</script>", "`code` [link](http://evil.example)",
                 "www.evil.example ![i](//e) <b>&amp;</b> *s* _u_ ~~d~~ $x$\\ ::warning::",
                 r"\x1b[31m\x00", "漢字"):  # fmt: skip
        assert part in told
    assert all(len(row) == 6 for row in rows(page))


def test_nothing_is_a_link_where_addresses_are_found_in_text() -> None:
    text = to_markdown(hostile_report())
    assert "http://" not in text
    assert "www." not in text


@pytest.mark.parametrize("more", [0, 1])
def test_a_summary_stays_small_and_says_what_it_leaves_out(made: Make, more: int) -> None:
    answers = [
        lone("prefix-cache", f"warm-{n}", Verdict.FAIL, "x" * 9000)
        for n in range(MOST_MESSAGES + more)
    ]
    text = to_markdown(made("pass", results=tuple(answers)))
    assert len(text.encode()) < 2**20
    assert ("1 more are in report.json." in text) == bool(more)
