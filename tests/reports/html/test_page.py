"""The page as a file."""

from collections.abc import Iterator
from pathlib import Path

import lxml.html
import pytest

from linattn_verify.checks.result import StateErrors
from linattn_verify.reports.document import Report
from linattn_verify.reports.html.page import to_html
from linattn_verify.reports.json_report import read_json, write_json
from tests.reports.conftest import with_states
from tests.reports.hostile import TEXT
from tests.reports.html.conftest import full_report, hostile_page
from tests.reports.state_results import errors, states_of
from tests.reports.test_repro import localised


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


def test_where_the_fault_is_stands_behind_the_checks() -> None:
    report = full_report()
    assert 'id="localised"' not in to_html(report)
    page = to_html(report.model_copy(update={"localised": localised(because=TEXT)}))
    document = lxml.html.document_fromstring(page)
    section = document.get_element_by_id("localised")
    assert section.getprevious().get("id") == "checks"
    told = section.text_content()
    assert "convolution state only (chunked@16 against full)" in told
    assert "first bad edge after 64 tokens" in told
    assert "</script><script>alert(1)</script>" in told


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


def test_a_page_of_a_large_model_is_not_too_large_to_mail() -> None:
    """48 layers, 20 places a scenario and part, 8 scenarios that all differ."""
    layers: dict[str, float | None] = {
        f"language_model.model.layers.{n}.linear_attn": n / 1000 for n in range(48)
    }
    checks = tuple(
        states_of(f"chunked@{budget}", measured=tuple(_places(layers, budget)))
        for budget in range(100, 900, 100)
    )
    report = with_states(*checks).report()
    assert sum(len(e.by_layer) for c in report.checks for e in c.states) == 15_360
    assert len(to_html(report).encode()) < 3_000_000


def _places(layers: dict[str, float | None], budget: int) -> Iterator[StateErrors]:
    for part in ("convolution", "recurrent"):
        for edge in range(1, 21):
            made = errors(part, (0.0, 0.0, 0.0), position=edge * budget, edge=edge)
            yield made.model_copy(update={"by_layer": layers})
