"""A run read back from its folder: everything that judging needs, without an engine."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pandas as pd
from pydantic import TypeAdapter

from linattn_verify.checks.evidence import EngineSettings, Evidence
from linattn_verify.checks.localised import Localised
from linattn_verify.cli.commands import Tokens
from linattn_verify.cli.files import RunFiles
from linattn_verify.cli.record import Planned, Record, damaged, read_record
from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.plan import EnginePlan, Plan
from linattn_verify.configs.strict import Strict
from linattn_verify.engine.messages import EngineFacts
from linattn_verify.traces.kernels import KERNELS, KernelEvidence
from linattn_verify.traces.outcome import Outcome, Status
from linattn_verify.traces.store import Trace, TraceError, read_scores, read_states, read_trace

WORKLOAD, OUTCOMES, ENGINES = "workload.json", "outcomes.json", "engines.json"
LOCALISED = "localised.json"
Outcomes = dict[str, Outcome]
T = TypeVar("T")


@dataclass(frozen=True)
class Recorded:
    """A run as its folder tells it."""

    path: Path
    record: Record
    planned: Planned
    evidence: Evidence
    facts: EngineFacts | None
    """What the last engine of the plan says of itself; None where none was loaded."""
    localised: Localised | None
    """What a search for the cause of a FAIL has found; None where there was none."""

    def tokens(self) -> Tokens:
        """The prompts, as token ids; raises UsageError where they cannot be read."""
        prompts = _read(RunFiles(self.path), WORKLOAD, list[Tokenised])
        if prompts is None:
            raise UsageError(f"{self.path}: holds no {WORKLOAD}. Measure again.")
        return tuple(prompt.token_ids for prompt in prompts)


class Tokenised(Strict):
    """A prompt as it is served."""

    id: str
    token_ids: tuple[int, ...]


def read_run(path: Path) -> Recorded:
    """The run in the folder `path`; raises UsageError where it cannot be judged. A trace that
    cannot be read is an ERROR of its scenario."""
    record = read_record(path)
    planned = record.planned
    if planned is None:
        raise UsageError(
            f"{path}: the run was killed before it had served anything, so there is nothing to "
            f"judge. Run it anew, with --out {path} --force."
        )
    files = RunFiles(path)
    outcomes = read_outcomes(files, planned.plan)
    facts = read_engines(files, planned.plan)
    last = next(reversed(facts.values()), None)
    traces = each(outcomes, lambda o: trace_of(files, o))
    states = each(outcomes, lambda o: states_of(files, o))
    scores = each(outcomes, lambda o: scores_of(files, o))
    evidence = Evidence(
        plan=planned.plan,
        profile=record.request.profile,
        prompt_names=tuple(prompt.id for prompt in planned.prompts),
        outcomes=outcomes,
        traces=traces,
        engines=_settings(planned.plan.engines, facts),
        experts=planned.model.experts,
        linear_attention=last.linear_attention if last else None,
        states=states,
        task_requests={task.name: task.requests for task in planned.tasks},
        scores=scores,
        min_score=record.request.min_score,
        kernels=_read(files, KERNELS, KernelEvidence),
    )
    return Recorded(path, record, planned, evidence, last, _read(files, LOCALISED, Localised))


def read_outcomes(files: RunFiles, plan: Plan) -> Outcomes:
    """How the scenarios of the plan ended so far, in its order."""
    found = _read(files, OUTCOMES, tuple[Outcome, ...]) or ()
    by_name = {outcome.scenario: outcome for outcome in found}
    return {s.name: by_name[s.name] for s in plan.scenarios() if s.name in by_name}


def read_engines(files: RunFiles, plan: Plan) -> dict[str, EngineFacts]:
    """What the engines that were loaded so far say of themselves, in the order of the plan."""
    found = _read(files, ENGINES, dict[str, EngineFacts]) or {}
    return {e.name: found[e.name] for e in plan.engines if e.name in found}


def settings_of(engine: EnginePlan, facts: EngineFacts) -> EngineSettings:
    """What was asked of an engine and what it resolved."""
    return EngineSettings(
        requested=engine.requested,
        resolved=facts.resolved,
        notes=facts.notes,
        guards=facts.guards,
        observed=facts.observed,
    )


def each(outcomes: Outcomes, read: Callable[[Outcome], T | None]) -> dict[str, T]:
    """By scenario, what `read` finds. Where that cannot be read, the scenario's outcome becomes
    an ERROR, in `outcomes`."""
    found = {}
    for name, outcome in list(outcomes.items()):
        try:
            read_back = read(outcome)
        except TraceError as error:
            outcomes[name] = spoilt(outcome, str(error))
        else:
            if read_back is not None:
                found[name] = read_back
    return found


def spoilt(outcome: Outcome, why: str) -> Outcome:
    """The outcome of a scenario whose files cannot be used: an ERROR of ours."""
    lost = {"status": Status.ERROR, "trace": None, "message": why}
    return outcome.model_copy(update=lost)


def trace_of(files: RunFiles, outcome: Outcome) -> Trace | None:
    """The trace that a scenario left; raises TraceError where it cannot be read."""
    return read_trace(files.inside(outcome.trace)) if outcome.trace else None


def states_of(files: RunFiles, outcome: Outcome) -> pd.DataFrame | None:
    """The states that it left; raises TraceError where they cannot be read."""
    path = files.inside(files.states(outcome.scenario).relative_to(files.path))
    return read_states(path) if outcome.status is Status.DONE and path.exists() else None


def scores_of(files: RunFiles, outcome: Outcome) -> pd.DataFrame | None:
    """What its answers scored; raises TraceError where that cannot be read."""
    path = files.inside(files.scores(outcome.scenario).relative_to(files.path))
    return read_scores(path) if outcome.status is Status.DONE and path.exists() else None


def _settings(
    engines: Iterable[EnginePlan], facts: dict[str, EngineFacts]
) -> dict[str, EngineSettings]:
    return {e.name: settings_of(e, facts[e.name]) for e in engines if e.name in facts}


def _read(files: RunFiles, name: str, kind: type[T]) -> T | None:
    """What the file of that name holds, as a `kind`; None where there is no such file."""
    file = files.inside(name)
    if not file.exists():
        return None
    try:
        return TypeAdapter(kind).validate_json(file.read_bytes())
    except (OSError, ValueError) as error:
        raise damaged(file, error) from error
