"""The page as a file."""

from pathlib import Path

import lxml.html
import pytest

from linattn_verify.reports.document import Report
from linattn_verify.reports.html.page import to_html
from linattn_verify.reports.json_report import read_json, write_json
from tests.reports.hostile import TEXT
from tests.reports.html.conftest import full_report, hostile_page


def test_the_verdict_and_what_it_rests_on_stand_first(any_report: Report) -> None:
    page = lxml.html.document_fromstring(to_html(any_report))
    (banner,) = page.find_class("banner")
    text = " ".join(banner.text_content().split())
    assert text.startswith(f"{any_report.verdict.value} exit code {any_report.exit_code}")
    assert " ".join(any_report.headline.split()) in text
    assert page.body.index(banner.getparent()) == 0


def test_every_check_and_what_it_says_is_there(any_report: Report) -> None:
    page = lxml.html.document_fromstring(to_html(any_report))
    said = [" ".join(div.text_content().split()) for div in page.find_class("check")]
    assert len(said) == len(any_report.checks)
    for check in any_report.checks:
        start = f"{check.verdict.value} {check.name} {check.scenario}"
        message = " ".join(check.message.split())
        assert any(line.startswith(start) and message in line for line in said), check.message


def test_report_json_is_all_that_a_page_is_made_from(any_report: Report, tmp_path: Path) -> None:
    again = read_json(write_json(any_report, tmp_path))
    assert to_html(again) == to_html(any_report)


@pytest.mark.parametrize("page", [hostile_page(), to_html(full_report())], ids=["hostile", "full"])
def test_nothing_runs_and_nothing_is_loaded(page: str) -> None:
    document = lxml.html.document_fromstring(page)
    kinds = {element.tag for element in document.iter() if isinstance(element.tag, str)}
    assert not kinds & {"script", "img", "iframe", "object", "embed", "form", "base"}
    links = [(tag.tag, link) for tag, _, link, _ in document.iterlinks()]
    assert {link[:1] for tag, link in links if tag == "a"} == {"#"}
    assert [link for tag, link in links if tag != "a"] == ["data:,"]
    assert not [n for e in document.iter() for n in e.attrib if n.lower().startswith("on")]
    (policy,) = document.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert policy.startswith("default-src 'none'")


def test_whatever_a_model_wrote_is_text_with_nothing_invisible() -> None:
    page = hostile_page()
    assert "</script><script>" not in page
    assert not [c for c in page if not c.isprintable() and c != "\n"]
    texts = lxml.html.document_fromstring(page).text_content()
    # prompt, note, model, headline, message, token, question, target, answer and two outputs
    assert texts.count("</script><script>alert(1)</script>") >= 11
    assert "\\x1b[31m\\x00" in texts
    assert TEXT not in page


def test_a_page_is_small() -> None:
    assert len(to_html(full_report()).encode()) < 300_000
