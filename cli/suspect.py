"""A run that failed, as far as looking for the fault needs it."""

from dataclasses import dataclass
from functools import cached_property

from linattn_verify.checks.culprits import deltas
from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.judging import is_plain
from linattn_verify.cli.commands import Tokens, generated
from linattn_verify.cli.files import RunFiles
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import EnginePlan, Kind, Scenario
from linattn_verify.reports.document import Check, Report


@dataclass(frozen=True)
class Suspect:
    """What was measured, how it was judged, and what was served."""

    evidence: Evidence
    report: Report
    """With every check's answer."""
    prompts: Tokens
    model: str
    """Folder or hub name, as the engine takes it."""
    files: RunFiles

    @property
    def results(self) -> tuple[Check, ...]:
        """Every check's answers."""
        return self.report.checks

    def engine_of(self, scenario: Scenario) -> EnginePlan:
        """The engine that the plan has for a scenario."""
        return next(e for e in self.evidence.plan.engines if scenario in e.scenarios)

    def rounds(self, scenario: Scenario) -> int:
        """How often its requests have been served once it ends."""
        after = scenario.after
        return 1 + (self.rounds(self.evidence.scenario(after)) if after else 0)

    def continued(self, prompt: int, length: int) -> tuple[int, ...]:
        """What follows the first `length` tokens of a prompt: the rest of it, then what the
        reference generated."""
        return (*self.prompts[prompt], *self._generated[prompt])[length:]

    @cached_property
    def _generated(self) -> Tokens:
        plain = (s for s in self.evidence.plan.scenarios() if is_plain(s))
        full = next(s for s in plain if s.kind is Kind.FULL)
        return generated(self.evidence.traces[full.name], len(self.prompts))

    def wrong(self, scenario: Scenario, *legs: Leg) -> dict[int, dict[int, float]]:
        """`deltas` of the run itself."""
        return deltas(self.evidence, scenario, *legs)
