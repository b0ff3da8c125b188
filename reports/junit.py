"""The report as JUnit XML: a suite for every check, a case for every scenario that it judges.

What is written keeps to Jenkins' schema (xunit-plugin, junit-10.xsd), which GitLab and the usual
GitHub actions read too. It knows properties of suites, and none of cases."""

import re
from collections.abc import Iterable, Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from linattn_verify.checks.result import Verdict
from linattn_verify.reports.cases import Case, cases
from linattn_verify.reports.document import Check, Report, ScenarioReport
from linattn_verify.reports.localised_section import localised_sentences, localised_title
from linattn_verify.reports.numbers import against_limit, margin_text, number

ENDINGS = {
    Verdict.FAIL: "failure",
    Verdict.ERROR: "error",
    Verdict.VACUOUS: "error",
    Verdict.INCONCLUSIVE: "error",
    Verdict.UNSUPPORTED: "skipped",
}
"""What a case holds that did not pass. Where nothing was proven, a gate must not turn green."""
_NO_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, and the carriage return, which no reader hands on."""


def to_junit(report: Report) -> str:
    """The report as an XML document."""
    found = cases(report)
    root = Element("testsuites", {"name": report.tool.name, **_counts(found)})
    for name in dict.fromkeys(case.group for case in found):
        _suite(root, name, tuple(case for case in found if case.group == name), report)
    ElementTree.indent(root)
    document = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{document}\n'


def _suite(root: Element, name: str, members: tuple[Case, ...], report: Report) -> None:
    counts = {**_counts(members), "skipped": str(_count(members, "skipped"))}
    created = report.created.strftime("%Y-%m-%dT%H:%M:%S")
    suite = SubElement(root, "testsuite", {"name": _safe(name), "timestamp": created, **counts})
    properties = SubElement(suite, "properties")
    for key, value in (*_facts(report).items(), *_tightest(members)):
        SubElement(properties, "property", {"name": _safe(key), "value": _safe(value)})
    for case in members:
        _case(suite, case, report)


def _case(suite: Element, case: Case, report: Report) -> None:
    seconds = case.scenario.seconds if case.scenario and not case.check else 0.0
    named = {"name": _safe(case.name), "classname": _safe(case.group), "time": f"{seconds:.3f}"}
    element = SubElement(suite, "testcase", named)
    if ending := _ending(case):
        said = {"type": case.verdict.value, "message": _safe(case.message)}
        SubElement(element, ending, said).text = _safe(case.message)
    lines = [*_output(case), *_located(case, report)]
    SubElement(element, "system-out").text = _safe("\n".join(lines))


def _counts(members: Iterable[Case]) -> dict[str, str]:
    found = tuple(members)
    return {
        "tests": str(len(found)),
        "failures": str(_count(found, "failure")),
        "errors": str(_count(found, "error")),
    }


def _count(members: Iterable[Case], ending: str) -> int:
    return sum(_ending(case) == ending for case in members)


def _ending(case: Case) -> str | None:
    ending = ENDINGS.get(case.verdict)
    return ending if ending is None or case.decides else "skipped"


def _facts(report: Report) -> dict[str, str]:
    """What the run was, in every suite."""
    model, cpu = report.model, report.environment.cpu
    return {
        "verdict": report.verdict.value,
        "exit_code": str(report.exit_code),
        "headline": report.headline,
        "model": model.name,
        "model.revision": model.revision or "",
        "model.dtype": model.dtype,
        "model.weights_digest": model.weights_digest or "",
        "profile": report.profile.name,
        "cpu": cpu.model,
        "run_folder": report.run_folder,
        **{f"version.{name}": version for name, version in report.environment.versions.items()},
    }


def _tightest(members: Iterable[Case]) -> Iterator[tuple[str, str]]:
    """By scenario, the metric nearest to its limit."""
    for case in members:
        if case.check and case.check.tightest:
            limit = case.check.limits[case.check.tightest]
            said = against_limit(case.check.tightest, limit)
            yield f"{case.name}.tightest", f"{case.check.tightest}: {said} {margin_text(limit)}"


def _output(case: Case) -> Iterator[str]:
    """What the verdict rests on, a line each."""
    yield f"{case.verdict}: {case.message}"
    if case.check:
        yield from _measured(case.check)
    if case.scenario:
        yield from _proven(case.scenario)


def _measured(check: Check) -> Iterator[str]:
    if check.reference:
        yield f"compared with {check.reference}"
    for metric, limit in check.limits.items():
        kept = "holds" if limit.holds else "BROKEN"
        said = against_limit(metric, limit)
        yield f"{kept}: {metric} {said} {margin_text(limit)} ({limit.origin})"
    yield from (f"count: {name} {count:,}" for name, count in check.counts.items())
    for token in check.worst:
        yield (
            f"worst: {token.prompt} {token.leg} position {token.position} {token.text!r} "
            f"difference {number(token.delta)} {token.note}".rstrip()
        )
    if check.parted:
        yield f"first parted: {check.parted.detail}"


def _located(case: Case, report: Report) -> Iterator[str]:
    """Where the fault is, beside every failure of the scenario that shows it."""
    found = report.localised
    if found and case.verdict is Verdict.FAIL and case.name == found.scenario:
        yield f"where the fault is: {localised_title(found)}"
        yield from localised_sentences(found)


def _proven(scenario: ScenarioReport) -> Iterator[str]:
    for proof in scenario.proofs:
        kept = "proven" if proof.holds else "NOT PROVEN"
        yield f"{kept}: {proof.name} (expected {proof.expected}, observed {proof.observed})"
    if scenario.traceback:
        yield scenario.traceback
    yield from (f"log: {line}" for line in scenario.log_tail)


def _safe(text: str) -> str:
    """`text` as data that XML can hold: what it cannot is shown as an escape."""
    return _NO_XML.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
