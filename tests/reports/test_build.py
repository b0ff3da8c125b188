"""The verdict, its sentence and the settings of a report follow from results and evidence."""

from collections.abc import Callable

import pytest

from linattn_verify.checks.evidence import EngineSettings
from linattn_verify.checks.limits import points
from linattn_verify.checks.result import CheckResult, LimitOutcome, Verdict
from linattn_verify.reports.document import Report
from linattn_verify.reports.numbers import (
    against_limit,
    duration,
    limit_text,
    margin_text,
    number,
    percent,
    questions,
    span,
)
from linattn_verify.reports.settings import engine_section, plain
from linattn_verify.traces.outcome import Outcome, Status
from tests.reports.task_results import BETTER, STEADY, score_of, scored

Make = Callable[..., Report]


def result(verdict: Verdict, message: str = "As seen.") -> CheckResult:
    return CheckResult(
        name="some-check", scenario="warm", reference="full", verdict=verdict, message=message
    )


@pytest.mark.parametrize(
    ("kind", "verdict", "exit_code"),
    [
        ("pass", Verdict.PASS, 0),
        ("fail", Verdict.FAIL, 1),
        ("crash", Verdict.FAIL, 1),
        ("vacuous", Verdict.VACUOUS, 3),
        ("nothing judged", Verdict.VACUOUS, 3),
    ],
)
def test_verdict_and_exit_code(made: Make, kind: str, verdict: Verdict, exit_code: int) -> None:
    report = made(kind)
    assert (report.verdict, report.exit_code) == (verdict, exit_code)


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (Status.CRASHED, Verdict.FAIL),
        (Status.TIMED_OUT, Verdict.FAIL),
        (Status.ERROR, Verdict.ERROR),
        (Status.UNSUPPORTED, Verdict.UNSUPPORTED),
        (Status.NOT_RUN, Verdict.INCONCLUSIVE),
    ],
)
def test_a_scenario_that_no_check_speaks_of_still_counts(
    made: Make, status: Status, verdict: Verdict
) -> None:
    outcomes = {
        name: Outcome(scenario=name, engine="plain", status=Status.DONE)
        for name in ("full", "chunked@256")
    }
    outcomes["warm"] = Outcome(
        scenario="warm", engine="cached", status=status, message="It went away"
    )
    report = made("pass", outcomes=outcomes)
    assert report.verdict is verdict
    assert "scenario warm" in report.headline and "It went away." in report.headline


def test_a_planned_scenario_without_outcome_was_not_run(made: Make) -> None:
    report = made("pass", outcomes={})
    assert {s.status for s in report.scenarios} == {Status.NOT_RUN}
    assert report.verdict is Verdict.INCONCLUSIVE


def test_a_pass_names_checks_positions_and_smallest_margin(made: Make) -> None:
    assert made("pass").headline == (
        "chunked-prefill, logprobs-close and prefix-cache hold in 2 scenarios over 19,749 "
        "positions compared in 6 requests judged; the smallest margin is ×3.6 "
        "(prompt.edge+0.kl_k3 of chunked@256: 2.8e-4, limit 0.001)."
    )


def test_a_pass_says_what_tasks_score(made: Make) -> None:
    """55 and 56 of 64; the interval leaves room for a drop of 5.66 points, a limit of 10."""
    headline = made("tasks").headline
    assert headline.endswith(
        "; gsm8k 85.9 % to 87.5 % over 64 questions (reference 85.9 %); the smallest margin is "
        "×1.7 (strict-match.drop of gsm8k/warm: up to 5.66 points, limit 10 points)."
    )


def test_filters_that_score_otherwise_are_named_by_the_one_that_comes_off_worst(
    made: Make,
) -> None:
    scores = (score_of("strict-match", BETTER), score_of("flexible-extract", STEADY))
    both = scored("warm", STEADY, scores=scores)
    assert (
        "; gsm8k (flexible-extract) 85.9 % over 64 questions (reference 85.9 %); "
        in made("pass", results=(scored("full"), both)).headline
    )
    useless = score_of("strict-match", verdict=Verdict.VACUOUS, reference_score=0.0, score=0.0)
    one = scored("warm", STEADY, scores=(useless, scores[1]))
    assert "; gsm8k (flexible-extract) 85.9 %" in made("pass", results=(one,)).headline


def test_a_reference_alone_is_a_score_too(made: Make) -> None:
    headline = made("pass", results=(scored("full"),)).headline
    assert headline == "task_score holds; gsm8k 85.9 % over 64 questions."


def test_engines_that_were_judged_are_no_scenarios(made: Make) -> None:
    settings = result(Verdict.PASS).model_copy(update={"scenario": "plain"})
    assert "hold" in made("pass", results=(settings,)).headline
    assert made("pass", results=(settings, result(Verdict.PASS))).headline == (
        "some-check holds in 1 scenario."
    )


def test_a_fail_names_the_first_failing_check_and_counts_the_others(made: Make) -> None:
    results = (result(Verdict.PASS), result(Verdict.FAIL, "It differs"), result(Verdict.FAIL))
    headline = made("pass", results=results).headline
    assert headline == "some-check in warm against full: It differs. 1 more like it below."


def test_a_vacuous_run_names_the_missing_proof_and_what_to_do(made: Make) -> None:
    headline = made("vacuous").headline
    assert "a prefix came from the cache (expected > 0 cached tokens, observed 0)" in headline
    assert "run again" in headline


def test_a_model_without_linear_attention_is_said_to_be_one(made: Make) -> None:
    first, second = made("dense").notes
    assert "no linear-attention layer" in first
    assert second == "A note of the run."


def test_the_tightest_metric_is_the_one_nearest_to_its_limit(made: Make) -> None:
    def outcome(value: float | None, margin: float | None) -> LimitOutcome:
        holds = value is not None and value <= 1
        return LimitOutcome(value=value, limit=1, origin="made", holds=holds, margin=margin)

    limits = {"a": outcome(0.0, None), "b": outcome(0.5, 2.0), "c": outcome(0.25, 4.0)}
    base = result(Verdict.PASS)
    report = made("pass", results=(base.model_copy(update={"limits": limits}),))
    assert report.checks[0].tightest == "b"
    limits["d"] = outcome(None, None)
    report = made("pass", results=(base.model_copy(update={"limits": limits}),))
    assert report.checks[0].tightest == "d"


def test_settings_that_came_out_otherwise() -> None:
    requested = {"dtype": "bfloat16", "seed": 0, "mode": "all", "flag": True, "left": "auto"}
    resolved = {"dtype": "torch.bfloat16", "mode": "align", "flag": False, "left": 5, "own": 128}
    engines = engine_section({"plain": EngineSettings(requested=requested, resolved=resolved)})
    assert [(d.setting, d.verdict) for d in engines.differences] == [
        ("mode", "changed"),
        ("flag", "changed"),
        ("seed", "not reported"),
    ]


def test_of_a_mapping_only_the_requested_keys_are_compared() -> None:
    settings = EngineSettings(
        requested={"compilation": {"level": 0}}, resolved={"compilation": {"level": 0, "x": 1}}
    )
    assert engine_section({"plain": settings}).differences == ()


def test_settings_are_made_plain() -> None:
    assert plain({"a": (1, float("nan")), 2: Status.DONE, "c": 1 + 2j}) == {
        "a": [1, "nan"],
        "2": "done",
        "c": "(1+2j)",
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (3.0, "3"),
        (0.0313, "0.0313"),
        (0.00312, "0.0031"),
        (0.000431, "4.3e-4"),
        (0.4312, "0.431"),
        (4.312, "4.31"),
        (43.12, "43.1"),
        (431.2, "431"),
        (-2.5, "-2.50"),
        (None, "n/a"),
        (float("nan"), "n/a"),
    ],
)
def test_number(value: float | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "margin", "text"),
    [
        (1.001, 0.999, "×0.99"),
        (0.31, 3.29, "×3.2"),
        (0.01, 99.9, "×99"),
        (1e-9, 1e9, "×999+"),
        (0.0, None, "×∞"),
        (None, None, ""),
    ],
)
def test_a_margin_is_rounded_down(value: float | None, margin: float | None, text: str) -> None:
    holds = value is not None and value <= 1
    outcome = LimitOutcome(value=value, limit=1, origin="made", holds=holds, margin=margin)
    assert margin_text(outcome) == text


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("strict-match.drop", 0.0566, "up to 5.66 points, limit 10 points"),
        ("strict-match.acc.drop", 0.0, "up to 0 points, limit 10 points"),
        ("strict-match.drop", None, "up to n/a points, limit 10 points"),
        ("min_score", 0.875, "87.5 %, at least 10 %"),
        ("prompt.all.mean", 0.0566, "0.0566, limit 0.1"),
    ],
)
def test_a_value_and_its_limit_in_their_unit(metric: str, value: float | None, text: str) -> None:
    outcome = LimitOutcome(value=value, limit=0.1, origin="made", holds=True, margin=None)
    assert against_limit(metric, outcome) == text


def test_shares_and_spans() -> None:
    assert [percent(55 / 64), points(1 / 64), points(-0.05)] == ["85.9 %", "+1.6", "-5.0"]
    assert [questions([64, 64]), questions([50, 1319])] == ["64 questions", "50 to 1,319 questions"]
    assert span([0.875, 0.859, 0.8592], percent) == "85.9 % to 87.5 %"


def test_limits_and_durations() -> None:
    assert [limit_text(x) for x in (0.15, 1.2, 0.00001, 0.0)] == ["0.15", "1.2", "1e-5", "0"]
    texts = [duration(s) for s in (0.44, 42.4, 187, 3725)]
    assert texts == ["0.4 s", "42 s", "3 min 07 s", "1 h 02 min"]
