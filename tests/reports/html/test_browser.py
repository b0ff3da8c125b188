"""The page as a browser shows it: on a desk, on a phone, in the dark, on paper."""

import pytest

from linattn_verify.reports.html.page import to_html
from tests.reports.html.conftest import DESKTOP, PHONE, Show, full_report, hostile_page, long_report

pytestmark = pytest.mark.timeout(120)
OPEN = "document.querySelectorAll('details').forEach(d => { d.open = true })"
HIDDEN = """[...document.querySelectorAll('details:not(.long) > :not(summary)')]
  .filter(e => !e.closest('.long') && !e.checkVisibility({contentVisibilityAuto: true})).length"""
BACKGROUND = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_it_fits_loads_nothing_and_says_nothing(
    show: Show, size: tuple[int, int], scheme: str
) -> None:
    for html in (to_html(full_report()), to_html(long_report()), hostile_page()):
        shown = show(html, size, scheme)
        shown.page.evaluate(OPEN)
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= size[0]
        assert [url.partition(":")[0] for url in shown.requests] == ["file"]
        assert shown.said == []
        assert (max(shown.page.evaluate(BACKGROUND)) < 64) is (scheme == "dark")


def test_a_script_in_a_prompt_shows_as_text(show: Show) -> None:
    shown = show(hostile_page())
    shown.page.evaluate(OPEN)
    assert shown.page.evaluate("document.scripts.length") == 0
    told = shown.page.locator(".panels h4").first
    assert told.is_visible()
    assert "</script><script>alert(1)</script>" in told.inner_text()
    assert shown.said == []


def test_every_picture_has_a_size_and_stays_in_its_frame(show: Show) -> None:
    shown = show(to_html(full_report()), PHONE)
    shown.page.evaluate(OPEN)
    for place in ("#heat table", "#spread svg", "#along svg", "#states svg", ".bar"):
        boxes = [one.bounding_box() for one in shown.page.locator(place).all()]
        assert boxes and all(box and box["height"] > 0 and box["width"] > 0 for box in boxes), place
    inside = "e => [e.getBBox().x + e.getBBox().width, e.ownerSVGElement.viewBox.baseVal.width]"
    for path in shown.page.locator("#along .area").all():
        right, width = path.evaluate(inside)
        assert 0 < right <= width


def test_colours_of_margins_are_drawn(show: Show) -> None:
    shown = show(to_html(full_report()))
    colour = "e => getComputedStyle(e).backgroundColor"
    near = shown.page.locator("#heat td.over").first.evaluate(colour)
    far = shown.page.locator("#heat td.hot").first.evaluate(colour)
    assert near != far and "0, 0, 0, 0" not in (near + far)


def test_on_paper_what_is_folded_is_open_and_the_page_is_light(show: Show) -> None:
    shown = show(to_html(full_report()), scheme="dark")
    assert shown.page.evaluate(HIDDEN) > 0
    shown.page.emulate_media(media="print")
    shown.page.wait_for_function(f"{HIDDEN} === 0", timeout=5000)
    assert min(shown.page.evaluate(BACKGROUND)) == 255
    assert shown.page.pdf(prefer_css_page_size=True).startswith(b"%PDF-")
