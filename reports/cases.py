"""What a CI system counts: a case for every check × scenario, one for every scenario served."""

from collections.abc import Iterator
from dataclasses import dataclass

from linattn_verify.checks.result import Verdict
from linattn_verify.reports.document import Check, Report, ScenarioReport
from linattn_verify.traces.outcome import Status

SERVED, RUN = "scenarios", "run"
"""Groups of the cases that belong to no check."""
_AT_BEST = {
    Status.DONE: Verdict.PASS,
    Status.CRASHED: Verdict.FAIL,
    Status.TIMED_OUT: Verdict.FAIL,
    Status.ERROR: Verdict.ERROR,
    Status.UNSUPPORTED: Verdict.UNSUPPORTED,
    Status.NOT_RUN: Verdict.INCONCLUSIVE,
}


@dataclass(frozen=True)
class Case:
    """One answer, under the name that it has in every run."""

    group: str
    """The check, `scenarios` or `run`."""
    name: str
    """The scenario, or what else was judged."""
    verdict: Verdict
    message: str
    decides: bool
    """Whether the report's verdict counts it."""
    check: Check | None = None
    scenario: ScenarioReport | None = None
    """The scenario that it is about, where it is about one."""

    @property
    def title(self) -> str:
        """Group and name in words."""
        return f"{self.group} in {self.name}" if self.check else f"{self.group}: {self.name}"


def at_best(scenario: ScenarioReport) -> Verdict:
    """A run's verdict at best where a scenario ended so, even if no check speaks of it. A reference
    that breaks down says nothing of the engine's features: ERROR, not FAIL."""
    verdict = _AT_BEST[scenario.status]
    broke_down = verdict is Verdict.FAIL and scenario.reference is None
    return Verdict.ERROR if broke_down else verdict


def cases(report: Report) -> tuple[Case, ...]:
    """Every case, checks first. The report's verdict is always the verdict of one of them."""
    found = (*_checks(report), *_scenarios(report))
    if report.verdict in {case.verdict for case in found}:
        return found
    return (*found, Case(RUN, "verdict", report.verdict, report.headline, decides=True))


def _checks(report: Report) -> Iterator[Case]:
    named = {scenario.name: scenario for scenario in report.scenarios}
    for check in report.checks:
        yield Case(
            check.name,
            check.scenario,
            check.verdict,
            check.message,
            check.decides,
            check,
            named.get(check.scenario),
        )


def _scenarios(report: Report) -> Iterator[Case]:
    for scenario in report.scenarios:
        verdict = at_best(scenario)
        message = scenario.message or f"ended as: {scenario.status}"
        yield Case(SERVED, scenario.name, verdict, message, decides=True, scenario=scenario)
