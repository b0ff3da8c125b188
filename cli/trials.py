"""Reduced cases served on real engines, each of which is started once."""

import time
from contextlib import ExitStack
from dataclasses import replace

from linattn_verify.checks.culprits import deltas
from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.proofs import prove
from linattn_verify.checks.reduction import Case, OutOfTime
from linattn_verify.checks.registry import checks_named
from linattn_verify.checks.result import Verdict
from linattn_verify.cli.commands import Tokens, Work, generated, prefixes, run_command
from linattn_verify.cli.files import RunFiles
from linattn_verify.cli.pipeline import engine_environment
from linattn_verify.cli.progress import Display
from linattn_verify.cli.suspect import Suspect
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import EnginePlan, Kind, Plan, Scenario
from linattn_verify.configs.reducing import reduced_plan
from linattn_verify.engine.messages import Load, Loaded, Progress
from linattn_verify.engine.process import EngineFailure, EngineProcess
from linattn_verify.engine.repro_script import judged
from linattn_verify.traces.outcome import Outcome, Status
from linattn_verify.traces.store import read_states, read_trace
from linattn_verify.workloads.folder import remove

FOLDER = "localise"
_LEAST = 1.0  # second in which nothing new is begun


def shown(found: dict[int, dict[int, float]], limits: dict[str, float] | None) -> bool:
    """Whether log-probabilities alone show the fault, as a script without this tool judges them."""
    return limits is not None and any(judged(gaps, **limits)[1] for gaps in found.values())


class Trials:
    """Tells of a case whether it fails. Engines stay loaded; each trial's traces replace the last
    one's. `legs`: those whose log-probabilities are looked at, against `limits`. `check`: asked in
    their place, where they do not show the fault."""

    def __init__(
        self,
        suspect: Suspect,
        scenario: Scenario,
        legs: tuple[Leg, ...],
        limits: dict[str, float] | None,
        check: str | None,
        deadline: float,
        display: Display,
    ) -> None:
        self.suspect, self.scenario = suspect, scenario
        self.legs, self.limits, self.check = legs, limits, check
        self.deadline, self.display = deadline, display
        self.files = RunFiles(suspect.files.path / FOLDER)
        self._engines: dict[str, EngineProcess] = {}
        self._blocks: dict[str, int] = {}
        self._open = ExitStack()
        profile = suspect.evidence.profile
        self.profile = profile.model_copy(update={"min_chunks": 2})

    def close(self) -> None:
        """End every engine."""
        self._open.close()

    def fails(self, case: Case) -> bool:
        """Serve the case; raises OutOfTime where there is no time for it."""
        plan = reduced_plan(
            self.suspect.evidence.plan, self.scenario.name, case.budget, bool(self.check)
        )
        prompts = tuple(self.suspect.prompts[p][: case.length] for p in case.prompts)
        for earlier in ("states", "traces"):  # other prompts have the same numbers there
            remove(self.files.path / earlier)
        evidence = self._evidence(plan, case, self._serve(plan, case, prompts))
        if evidence is None:
            return False
        scenario = evidence.scenario(self.scenario.name)
        if self.check is None:
            return shown(deltas(evidence, scenario, *self.legs), self.limits)
        (spec,) = checks_named([self.check])
        proven = replace(evidence, proofs=prove(evidence))
        answers = [r for r in spec.run(proven) if r.scenario == scenario.name]
        return any(r.verdict is Verdict.FAIL for r in answers)

    def _serve(self, plan: Plan, case: Case, prompts: Tokens) -> list[Outcome] | None:
        """Outcomes of every scenario; None where the engine broke down."""
        outcomes = []
        # Where the trial has no reference of its own to follow, any path does.
        output = self.profile.decode_tokens
        forced: Tokens | None = tuple(
            self.suspect.continued(p, len(ids))[:output]
            for p, ids in zip(case.prompts, prompts, strict=True)
        )
        work = Work(prompts, {})
        for engine in plan.engines:
            process = self._engine(engine)
            if process is None:
                return None
            for scenario in engine.scenarios:
                if not self._run(process, engine, scenario, work, forced):
                    return None
                outcomes.append(self._outcome(engine, scenario))
                if scenario.kind is Kind.FULL and not scenario.aside:
                    forced = generated(read_trace(self.files.trace(scenario.name)), len(prompts))
        return outcomes

    def _run(
        self,
        process: EngineProcess,
        engine: EnginePlan,
        scenario: Scenario,
        work: Work,
        forced: Tokens | None,
    ) -> bool:
        path = None if scenario.kind is Kind.FULL else forced
        command = run_command(scenario, self.profile, work, self.files, path)
        if scenario.kind is Kind.PREFIX:
            read = [read_states(p) for p in sorted((self.files.path / "states").glob("*"))]
            places = prefixes(read, work, self.profile, self._blocks[engine.name])
            command = command.model_copy(update={"prefixes": places})
        timeout = min(self._left(), self.profile.scenario_timeout)
        try:
            process.ask(command, timeout, self._show)
        except EngineFailure as error:
            self._engines.pop(engine.name).kill()
            if error.failure.status is Status.TIMED_OUT:
                raise OutOfTime from error
            return False
        return True

    def _engine(self, engine: EnginePlan) -> EngineProcess | None:
        """The engine, loaded; None where it does not load."""
        if engine.name in self._engines:
            return self._engines[engine.name]
        timeout = min(self._left(), self.profile.start_timeout)
        log = self.files.log(engine.name)
        process = EngineProcess(log, engine_environment(self.suspect.model))
        self._open.callback(process.kill)
        ask = Load(engine=engine.name, model=self.suspect.model, engine_args=engine.requested)
        try:
            reply = process.ask(ask, timeout)
        except EngineFailure as error:
            if error.failure.status is Status.TIMED_OUT:
                raise OutOfTime from error
            return None
        assert isinstance(reply, Loaded)
        self._blocks[engine.name] = reply.facts.block_size
        self._engines[engine.name] = process
        return process

    def _left(self) -> float:
        left = self.deadline - time.monotonic()
        if left < _LEAST:
            raise OutOfTime
        return left

    def _outcome(self, engine: EnginePlan, scenario: Scenario) -> Outcome:
        path = self.files.trace(scenario.name).relative_to(self.files.path)
        done = Status.DONE
        return Outcome(scenario=scenario.name, engine=engine.name, status=done, trace=str(path))

    def _evidence(self, plan: Plan, case: Case, outcomes: list[Outcome] | None) -> Evidence | None:
        """What the trial has shown, in the terms of the run."""
        if outcomes is None:
            return None
        names = [one.scenario for one in outcomes]
        states = {n: self.files.states(n) for n in names if self.files.states(n).exists()}
        return replace(
            self.suspect.evidence,
            plan=plan,
            profile=self.profile,
            prompt_names=tuple(self.suspect.evidence.prompt_names[p] for p in case.prompts),
            outcomes={one.scenario: one for one in outcomes},
            traces={name: read_trace(self.files.trace(name)) for name in names},
            states={name: read_states(path) for name, path in states.items()},
            task_requests={},
            scores={},
            proofs={},
        )

    def _show(self, progress: Progress) -> None:
        self.display.tokens(progress.done, progress.total)
