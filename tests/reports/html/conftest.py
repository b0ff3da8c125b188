"""A real browser, and pages for it to show."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from linattn_verify.checks.result import Verdict
from linattn_verify.reports.document import Phase, Report
from linattn_verify.reports.html.page import to_html
from tests.reports.conftest import comparison, lone, with_states, worst
from tests.reports.hostile import TEXT
from tests.reports.html.test_pictures import a_curve, drawn
from tests.reports.state_results import lost, states_of
from tests.reports.task_results import flip_of, scored

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
DESKTOP, PHONE = (1280, 900), (390, 844)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium as the system has it."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(f"needs a browser, none of {', '.join(NAMES)}: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield browser
        browser.close()


@dataclass
class Shown:
    """A page in a browser, and what it did there."""

    page: Page
    requests: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    """Console messages, errors and dialogs."""


Show = Callable[..., Shown]


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Show]:
    """`show(html, size=PHONE, scheme="dark")`."""
    contexts = []

    def shown(html: str, size: tuple[int, int] = DESKTOP, scheme: str = "light") -> Shown:
        file = tmp_path / "report.html"
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        contexts.append(context)
        found = Shown(context.new_page())
        found.page.on("request", lambda request: found.requests.append(request.url))
        found.page.on("console", lambda message: found.said.append(message.text))
        found.page.on("pageerror", lambda error: found.said.append(str(error)))
        found.page.on("dialog", lambda dialog: found.said.append(dialog.message))
        found.page.goto(file.as_uri())
        return found

    yield shown
    for context in contexts:
        context.close()


def full_report() -> Report:
    """Everything that a page can have: pictures, states, flips, operators left out."""
    flips = tuple(flip_of(question=n, parted_at=n) for n in range(9))
    answers = comparison("warm", 31.0), scored("chunked@256", flips=flips)
    made = with_states(states_of("chunked@256"), lost("warm"), *answers)
    curves = [a_curve(prompt=f"prompt {n}", largest=(n / 7,) * 10, broken=()) for n in range(12)]
    pictures = drawn("pass", *curves, a_curve("warm")).differences
    return made.report().model_copy(update={"differences": pictures})


def long_report() -> Report:
    """Names without a place to break them."""
    name = "chunked@100-tight-nan~" + "unwritten_state_read" * 8
    report = full_report()
    assert report.differences is not None
    pictures = report.differences.model_copy(
        update={"curves": (a_curve(name, prompt=name), a_curve(prompt=name))}
    )
    changes = {
        "model": report.model.model_copy(update={"name": name}),
        "differences": pictures,
        "headline": name,
        "notes": (name,),
        "phases": (Phase(name=name, seconds=2.5), Phase(name="judge", seconds=0.5)),
        "checks": tuple(
            check.model_copy(update={"scenario": name, "message": name}) for check in report.checks
        ),
    }
    return report.model_copy(update=changes)


def hostile_page() -> str:
    """A page that has a hostile text wherever text can come from a model, an engine or a user."""
    told = lone("prefix-cache", "warm", Verdict.FAIL, TEXT)
    flip = flip_of(text=TEXT, target=TEXT, reference_output=TEXT, candidate_output=f"x {TEXT}")
    answered = scored("chunked@256", flips=(flip.model_copy(update={"reference_answer": TEXT}),))
    report = with_states(
        told.model_copy(update={"worst": (worst(TEXT, 7),)}), answered, comparison("warm")
    ).report()
    pictures = drawn("pass", a_curve(prompt=TEXT)).differences
    model = report.model.model_copy(update={"name": TEXT})
    changes = {"differences": pictures, "notes": (TEXT,), "model": model, "headline": TEXT}
    return to_html(report.model_copy(update=changes))
