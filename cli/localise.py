"""From a run that failed to what is wrong, the smallest case, and a script that shows it."""

import time
from contextlib import closing

from linattn_verify.checks.culprits import (
    WINDOW_FACTOR,
    classed,
    failing,
    first_edge,
    output_limits,
)
from linattn_verify.checks.localised import Localised, Smallest
from linattn_verify.checks.reduction import STEPS, Case, Reduction, Task, reduce
from linattn_verify.checks.result import Verdict
from linattn_verify.cli.progress import Display
from linattn_verify.cli.recorded import LOCALISED
from linattn_verify.cli.suspect import Suspect
from linattn_verify.cli.trials import Trials, shown
from linattn_verify.configs.errors import unknown
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Scenario
from linattn_verify.reports.repro import repro_case, repro_script
from linattn_verify.traces.files import write_whole

REPRO = "repro.py"
_WHOLE = (Leg.PROMPT, Leg.DECODE)
_MARGIN = 1.5
"""A case that only just fails here might pass where it is repeated."""
Wrong = dict[int, dict[int, float]]


def localise(
    suspect: Suspect, seconds: float, display: Display, name: str | None = None
) -> Localised | None:
    """Look into the failing scenario of that name, or the one nearest to the cause, for at most
    `seconds`; None where no scenario that serves the prompts fails and has left a trace. What is
    found is written down whenever it gets better. Raises UsageError for a name that is none."""
    there = failing(suspect.evidence, suspect.results)
    by_name = {scenario.name: scenario for scenario in there}
    if name is not None and name not in by_name:
        raise unknown("failing scenario", name, by_name, "--scenario")
    if not there:
        return None
    search = _Search(suspect, by_name[name] if name else there[0])
    found = search.told(Reduction(search.task.case))
    deadline = time.monotonic() + seconds
    legs, limits, check = search.legs, search.strict, search.check
    trials = Trials(suspect, search.scenario, legs, limits, check, deadline, display)
    with closing(trials):
        steps = reduce(search.task, trials.fails)
        for step in STEPS:
            with display.phase(f"localise {search.scenario.name}: {step}"):
                reduction = next(steps)
                found = search.told(reduction)
            if reduction.ended:
                break
    return found


class _Search:
    """One failing scenario, and what was found of it."""

    def __init__(self, suspect: Suspect, scenario: Scenario) -> None:
        self.suspect, self.scenario = suspect, scenario
        evidence, results = suspect.evidence, suspect.results
        self.classes = [classed(evidence, results, s) for s in failing(evidence, results)]
        self.limits = output_limits(evidence, scenario)
        self.failed = [
            r for r in results if r.scenario == scenario.name and r.verdict is Verdict.FAIL
        ]
        self.parted = next((r.parted for r in self.failed if r.parted), None)
        # The script's prompts are these, its outputs are its own: where prompts are wrong, a case
        # that shows it in them shows it there too.
        prompts = suspect.wrong(scenario, Leg.PROMPT)
        in_prompts = shown(prompts, self.limits)
        self.legs = (Leg.PROMPT,) if in_prompts else _WHOLE
        self.wrong = prompts if in_prompts else suspect.wrong(scenario, *_WHOLE)
        forced = in_prompts or shown(self.wrong, self.limits)
        cuts = suspect.wrong(scenario, Leg.CUT)
        self.by_cut = not forced and shown(cuts, self.limits)
        self.by_output = forced or self.by_cut
        states = "state_equivalence" if self.parted else self.failed[0].name
        self.check = None if self.by_output else states
        strict = self.limits and {k: _MARGIN * limit for k, limit in self.limits.items()}
        self.strict = strict if shown(cuts if self.by_cut else self.wrong, strict) else self.limits
        """What a reduced case has to show, where the whole one does."""
        self.task = self._cut_task(cuts) if self.by_cut else self._task()

    def _task(self) -> Task:
        lengths = tuple(map(len, self.suspect.prompts))
        worst = sorted(self.wrong, key=lambda request: -_size(self.wrong[request]))
        by_state = [self.parted.request] if self.parted and not self.by_output else []
        case = Case(tuple(range(len(lengths))), max(lengths), self.scenario.budget)
        return self._of(case, lengths, tuple(dict.fromkeys((*by_state, *worst))))

    def _cut_task(self, cuts: Wrong) -> Task:
        """Where only the token after a prefix is wrong, that prefix is the prompt."""
        request = max(cuts, key=lambda r: _size(cuts[r]))
        gaps = cuts[request]
        position = max(gaps, key=lambda p: _size({p: gaps[p]}))
        lengths = tuple(map(len, self.suspect.prompts))
        case = Case(tuple(range(len(lengths))), position, self.scenario.budget)
        return self._of(case, lengths, (request,))

    def _of(self, case: Case, lengths: tuple[int, ...], suspects: tuple[int, ...]) -> Task:
        cached = self.scenario.kind in (Kind.COLD, Kind.WARM)
        block = self.suspect.evidence.traces[self.scenario.name].record.block_size
        return Task(
            case=case,
            lengths=lengths,
            suspects=suspects,
            budgets=self.scenario.kind is Kind.CHUNKED,
            stride=block if cached else 1,
        )

    def told(self, reduction: Reduction) -> Localised:
        """What is known now, written into the run's folder with its script."""
        names, case = self.suspect.evidence.prompt_names, reduction.smallest
        prompts = [self.suspect.prompts[p][: case.length] for p in case.prompts]
        mine = next(c for c in self.classes if c.scenario == self.scenario.name)
        found = Localised(
            scenario=self.scenario.name,
            reference=self.scenario.reference,
            fault_class=mine.fault_class,
            because=mine.because,
            parted=self.parted,
            smallest=Smallest(
                reproduced=reduction.reproduced,
                prompts=tuple(names[p] for p in case.prompts),
                prompt_tokens=tuple(map(len, prompts)),
                budget=case.budget,
                alone=reduction.alone,
                largest_budget=reduction.largest_budget,
                passing_budget=reduction.passing_budget,
                first_edge=self._first_edge(),
                trials=reduction.trials,
                finished=reduction.finished,
            ),
            by_output=self.by_output,
            others=tuple(self.classes),
            repro=REPRO if self.limits else None,
        )
        if self.limits:
            case_data = repro_case(
                self.suspect.model,
                self.suspect.engine_of(self.scenario),
                self.scenario,
                case.budget,
                prompts,
                self.suspect.evidence.profile.decode_tokens,
                self.suspect.rounds(self.scenario),
                self.limits,
            )
            script = repro_script(case_data, found, self.suspect.report.environment.versions)
            write_whole(self.suspect.files.path / REPRO, script)
        self.suspect.files.write_json(LOCALISED, found.model_dump(mode="json"))
        return found

    def _first_edge(self) -> int | None:
        """The edge before the first wrong position of the worst request."""
        if self.parted is not None:
            return self.parted.position if self.parted.how != "differs" else None
        if self.limits is None or not self.wrong:
            return None
        request = max(self.wrong, key=lambda r: _size(self.wrong[r]))
        most = self.limits["mean"] / WINDOW_FACTOR
        prompt = len(self.suspect.prompts[request])
        gaps = self.wrong[request].items()
        bad = [p for p, gap in gaps if p < prompt and not gap <= 10 * most]
        if not bad:
            return None
        trace = self.suspect.evidence.traces[self.scenario.name]
        return first_edge(trace, self.scenario, request, min(bad))


def _size(gaps: dict[int, float]) -> float:
    """The largest gap; one that is no number is larger than any."""
    return max((gap if gap == gap else float("inf") for gap in gaps.values()), default=0.0)
