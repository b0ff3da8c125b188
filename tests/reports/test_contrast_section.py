"""The floor and the contrasts on the terminal: in a section of their own, and nowhere else."""

from collections.abc import Callable

import pytest

from linattn_verify.checks.limits import judge_limit
from linattn_verify.reports.document import Check, Report

Make = Callable[..., Report]
Page = Callable[..., str]
CONTRASTS = {"contrast.noise": 0.0156, "contrast.first": 0.0, "contrast.later": 2.9}
FLOOR = {"prompt.all.mean": 0.0013, "prompt.all.p99": 0.0371, "decode.all.max": 0.0297}


def with_contrasts(report: Report, later: float = 2.9) -> Report:
    """Those of chunked@256, of which `later` has a limit of 12, and a floor."""
    chunked = next(c for c in report.checks if c.scenario == "chunked@256")
    limits = {"contrast.later": judge_limit(later, 12.0, "twice what a healthy engine showed")}
    more: dict[str, object] = {
        "metrics": {**chunked.metrics, **CONTRASTS, "contrast.later": later},
        "limits": {**chunked.limits, **limits},
    }
    floor: dict[str, object] = {
        **{"name": "numeric_floor", "scenario": "full-again", "reference": "full"},
        **{"metrics": FLOOR, "limits": {}, "tightest": None},
    }
    checks = [c.model_copy(update=more) if c is chunked else c for c in report.checks]
    return report.model_copy(update={"checks": (*checks, chunked.model_copy(update=floor))})


def section(text: str) -> str:
    return text.split("\nNoise and contrasts ──")[1].split("\nWorst")[0]


def test_without_contrasts_and_floor_there_is_no_section(page: Page, made: Make) -> None:
    assert "Noise and contrasts" not in page(made("pass"))


def test_the_floor_is_said_by_leg(page: Page, made: Make) -> None:
    said = " ".join(section(page(with_contrasts(made("pass")))).split())
    assert "Floor, full-again against full: prompt mean 0.0013, p99 0.0371; decode max" in said


def test_a_scenario_has_a_row_of_ratios_under_their_limits(page: Page, made: Make) -> None:
    lines = [line.split() for line in section(page(with_contrasts(made("pass")))).splitlines()]
    assert ["Scenario", "requests", "noise", "first", "later"] in lines
    assert ["limit", "≤", "–", "–", "12"] in lines
    assert ["chunked@256", "–", "0.0156", "0", "2.90", "×4.1"] in lines


@pytest.mark.parametrize(("later", "mark"), [(8.0, "×1.5"), (13.0, "✗")])
def test_a_ratio_beyond_its_limit_is_marked(
    page: Page, made: Make, later: float, mark: str
) -> None:
    assert mark in section(page(with_contrasts(made("pass"), later)))


def test_contrasts_are_no_leg_among_the_metrics(page: Page, made: Make) -> None:
    before, after = page(with_contrasts(made("pass"))).split("\nNoise and contrasts ──")
    assert "contrast" not in before.split("Metrics")[-1].split("Where the limits come from")[0]
    assert "contrast.later ≤ 12" in before + after


def test_a_floor_without_contrasts_is_told(page: Page, made: Make) -> None:
    report = with_contrasts(made("pass"))
    floors: tuple[Check, ...] = report.checks[-1:]
    assert "full-again" in section(page(report.model_copy(update={"checks": floors})))
