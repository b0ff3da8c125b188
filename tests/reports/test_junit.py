"""JUnit XML: valid, counted as the run ended, and whole whatever a model prints."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from lxml import etree

from linattn_verify.checks.result import Verdict
from linattn_verify.reports.document import Report
from linattn_verify.reports.junit import to_junit
from tests.reports.conftest import comparison, lone
from tests.reports.hostile import hostile_report
from tests.reports.test_repro import localised
from tests.reports.test_sensitivity_section import shown

Make = Callable[..., Report]
SCHEMA = etree.XMLSchema(etree.parse(str(Path(__file__).with_name("junit.xsd"))))


def parsed(report: Report) -> JUnitXml:
    return JUnitXml.fromstring(to_junit(report).encode("utf-8"))


def test_every_report_is_valid(any_report: Report) -> None:
    SCHEMA.assertValid(etree.fromstring(to_junit(any_report).encode("utf-8")))


def test_a_case_for_every_check_and_scenario_and_one_for_every_scenario(any_report: Report) -> None:
    found = [(case.classname, case.name) for suite in parsed(any_report) for case in suite]
    asked = [(check.name, check.scenario) for check in any_report.checks]
    asked += [("scenarios", scenario.name) for scenario in any_report.scenarios]
    assert set(found) - {("run", "verdict")} == set(asked)
    assert len(found) == len(set(found))


def test_a_report_is_green_exactly_where_its_exit_code_is(any_report: Report) -> None:
    counts = parsed(any_report)
    assert (counts.failures + counts.errors == 0) == (any_report.exit_code == 0)


def test_the_counts_are_those_of_the_cases(any_report: Report) -> None:
    written = parsed(any_report)
    before = [(s.tests, s.failures, s.errors, s.skipped) for s in written]
    total = written.tests, written.failures, written.errors
    written.update_statistics()
    assert [(s.tests, s.failures, s.errors, s.skipped) for s in written] == before
    assert (written.tests, written.failures, written.errors) == total


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        (Verdict.FAIL, Failure),
        (Verdict.ERROR, Error),
        (Verdict.VACUOUS, Error),
        (Verdict.INCONCLUSIVE, Error),
        (Verdict.UNSUPPORTED, Skipped),
    ],
)
def test_a_verdict_is_what_ci_knows(made: Make, verdict: Verdict, kind: Any) -> None:
    report = made("pass", results=(lone("prefix-cache", "warm", verdict, "Because of it."),))
    (case,) = [case for suite in parsed(report) for case in suite if case.name == "warm"][:1]
    ending: Any = case.result[0]
    assert type(ending) is kind
    assert (ending.type, ending.message, ending.text) == (verdict, "Because of it.", ending.message)


def test_a_crash_that_no_check_speaks_of_is_a_failure(made: Make) -> None:
    ends = made("crash")
    report = made("crash", results=(lone("prefix-cache", "warm", Verdict.PASS, "Fine."),))
    assert report.exit_code == ends.exit_code == 1
    red = [case for suite in parsed(report) for case in suite if case.result]
    assert [(case.classname, case.name) for case in red] == [("scenarios", "chunked@256")]
    assert "line 13 of the engine's log" in red[0].system_out


@pytest.mark.parametrize("broken", [False, True], ids=["of a PASS", "of a FAIL"])
def test_an_answer_that_the_verdict_leaves_out_is_skipped(made: Make, broken: bool) -> None:
    blind = lone("logprobs-close", "warm", Verdict.VACUOUS, "Blind, and a finer check was not.")
    one = shown("logprobs-close", "warm", 0.0, outweighed_by="prefix-cache")
    finer = comparison("warm", 31.0 if broken else 0.5)
    written = parsed(made("pass", results=(blind, finer), sensitivity=(one,)))
    assert (written.failures, written.errors) == (int(broken), 0)
    (ending,) = [c.result[0] for s in written for c in s if c.classname == "logprobs-close"]
    assert (type(ending), ending.type) == (Skipped, "VACUOUS")


def test_a_failure_says_where_the_fault_is(made: Make) -> None:
    report = made("fail").model_copy(update={"localised": localised(scenario="chunked@256")})
    told = [c for s in parsed(report) for c in s if "where the fault is" in (c.system_out or "")]
    assert {c.name for c in told} == {"chunked@256"}
    assert all(type(c.result[0]) is Failure for c in told)
    assert "first bad edge after 64 tokens" in told[0].system_out


def test_a_run_that_judged_nothing_is_not_green(made: Make) -> None:
    (red,) = [case for suite in parsed(made("nothing judged")) for case in suite if case.result]
    assert (red.classname, red.name, red.result[0].type) == ("run", "verdict", "VACUOUS")


def test_a_case_tells_limits_counts_proofs_and_the_worst_token(made: Make) -> None:
    report = made("fail")
    suites = {suite.name: suite for suite in parsed(report)}
    (case,) = [c for c in suites["chunked-prefill"] if c.name == "chunked@256"]
    check = next(c for c in report.checks if c.name == "chunked-prefill")
    for metric, limit in check.limits.items():
        state = "holds" if limit.holds else "BROKEN"
        assert f"{state}: {metric} " in case.system_out
    assert "count: prompt.compared 9,823" in case.system_out
    assert "worst: ledger prompt position 515 ' harbour' difference 0.0625" in case.system_out
    assert "proven: at least 3 chunks a request (expected ≥ 3" in case.system_out


def test_a_suite_says_what_was_run_and_what_was_tightest(made: Make) -> None:
    report = made("pass")
    (suite,) = [suite for suite in parsed(report) if suite.name == "prefix-cache"]
    facts = {prop.name: prop.value for prop in suite.properties()}
    assert facts["model.dtype"] == "bfloat16"
    assert facts["version.vllm"] == "0.32.0"
    assert facts["exit_code"] == "0"
    assert facts["warm.tightest"].startswith(f"{report.checks[2].tightest}: ")


def test_what_a_model_prints_is_text_and_xml_can_hold_it() -> None:
    document = to_junit(hostile_report())
    SCHEMA.assertValid(etree.fromstring(document.encode("utf-8")))
    assert "<script" not in document
    (case,) = [c for s in JUnitXml.fromstring(document.encode()) for c in s if c.result]
    (said,) = [ending.text for ending in case.result]
    assert r"\x1b[31m\x00\x0b\ufffe" in said
    assert "</script><script>alert(1)</script>" in said
    assert "\\r\n::warning::second line\u2028\x85漢字" in said
