"""A run from request to evidence: engines are started, scenarios served, outcomes kept."""

import os
import time
from pathlib import Path

import pandas as pd

from linattn_verify.cli.commands import (
    Tokens,
    Work,
    generated,
    prefixes,
    run_command,
    serve_command,
)
from linattn_verify.cli.folder import RunFolder
from linattn_verify.cli.progress import Display
from linattn_verify.cli.recorded import ENGINES, OUTCOMES, each, spoilt, states_of, trace_of
from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.plan import EnginePlan, Kind, Plan, Scenario
from linattn_verify.configs.profile import Profile
from linattn_verify.engine.messages import (
    EngineFacts,
    Load,
    Loaded,
    Prepare,
    Prepared,
    Progress,
    Run,
    Serve,
)
from linattn_verify.engine.process import EngineFailure, EngineProcess
from linattn_verify.engine.tokenizer import RemoteTokenizer
from linattn_verify.traces.outcome import Outcome, Status
from linattn_verify.traces.store import Trace, read_trace


class Pipeline:
    """Runs the engines of a plan one after another and keeps what they did."""

    def __init__(self, folder: RunFolder, display: Display, model: str) -> None:
        self.folder = folder
        self.display = display
        self.model = model
        self.outcomes: dict[str, Outcome] = {}
        self.engines: dict[str, EngineFacts] = {}
        self.facts: EngineFacts | None = None
        self._process: EngineProcess | None = None
        self._forced: Tokens | None = None
        """What the run's reference generated, once it has been served."""

    def prepare(self, ask: Prepare, timeout: float) -> Prepared:
        """Tokenise in the process that becomes the first engine."""
        self._process = self._start("plain")
        with self.display.phase("start the engine process, tokenise"):
            try:
                reply = self._process.ask(ask, timeout)
            except EngineFailure as error:
                if error.failure.usage:
                    raise UsageError(error.failure.message) from error
                raise RuntimeError(_told(error)) from error
        assert isinstance(reply, Prepared)
        return reply

    def tokenizer(self, prepared: Prepared, thinking: bool) -> RemoteTokenizer:
        """The tokenizer in the process that was prepared."""
        assert self._process is not None
        return RemoteTokenizer(self._process, prepared.tokenizer, thinking)

    def run(self, plan: Plan, profile: Profile, work: Work) -> None:
        """Serve every scenario. What fails is an outcome; the rest goes on."""
        for engine in plan.engines:
            waiting = list(engine.scenarios)
            while waiting := [s for s in waiting if not self._cannot_run(engine, s)]:
                process = self._process or self._start(engine.name)
                self._process = None
                with process:
                    if not self._load(process, engine, waiting[0], profile):
                        waiting.pop(0)
                        continue
                    while waiting and self._serve(process, engine, waiting.pop(0), profile, work):
                        pass

    def close(self) -> None:
        """End a process that is still waiting for its first engine."""
        if self._process is not None:
            self._process.kill()

    def measured(self) -> bool:
        """Whether any scenario has an outcome, good or bad, or left a trace just now."""
        return bool(self.outcomes) or any((self.folder.path / "traces").glob("*.parquet"))

    def traces(self) -> dict[str, Trace]:
        """The traces written so far, by scenario. One that can no longer be read is an ERROR."""
        found = each(self.outcomes, lambda outcome: trace_of(self.folder, outcome))
        self._write_outcomes()
        return found

    def states(self) -> dict[str, pd.DataFrame]:
        """The states written so far, by scenario. Those that cannot be read are as good as none."""
        found = each(self.outcomes, lambda outcome: states_of(self.folder, outcome))
        self._write_outcomes()
        return found

    def spoil(self, scenario: str, why: str) -> None:
        """What the scenario left cannot be used: an ERROR of ours."""
        self._keep(spoilt(self.outcomes[scenario], why))

    def _start(self, name: str) -> EngineProcess:
        return EngineProcess(self.folder.log(name), engine_environment(self.model))

    def _load(
        self, process: EngineProcess, engine: EnginePlan, first: Scenario, profile: Profile
    ) -> bool:
        """Start vLLM; a failure is the outcome of the scenario that it was started for."""
        ask = Load(engine=engine.name, model=self.model, engine_args=engine.requested)
        with self.display.phase(f"load engine {engine.name}"):
            try:
                reply = process.ask(ask, profile.start_timeout)
            except EngineFailure as error:
                if error.failure.usage and first.reference is None:
                    raise UsageError(
                        f"vLLM refuses the engine arguments: {error.failure.message}\n"
                        "Change --engine-arg, --dtype, --max-model-len or the profile."
                    ) from error
                self._keep(_failure(engine, first, error))
                return False
        assert isinstance(reply, Loaded)
        self.facts = reply.facts
        self.engines[engine.name] = reply.facts
        told = {name: facts.model_dump(mode="json") for name, facts in self.engines.items()}
        self.folder.write_json(ENGINES, told)
        return True

    def _serve(
        self,
        process: EngineProcess,
        engine: EnginePlan,
        scenario: Scenario,
        profile: Profile,
        work: Work,
    ) -> bool:
        """Run one scenario; False where the engine must be started anew."""
        if self._cannot_run(engine, scenario):
            return True
        path = self.folder.trace(scenario.name)
        ask = self._command(scenario, profile, work)
        started = time.monotonic()
        with self.display.phase(scenario.name):
            try:
                process.ask(ask, profile.scenario_timeout, self._show)
            except EngineFailure as error:
                self._keep(_failure(engine, scenario, error))
                return False
        self._keep(
            Outcome(
                scenario=scenario.name,
                engine=engine.name,
                status=Status.DONE,
                trace=str(path.relative_to(self.folder.path)),
                seconds=time.monotonic() - started,
            )
        )
        if scenario.kind is Kind.FULL and not scenario.aside and scenario.task is None:
            self._forced = generated(read_trace(path), len(work.prompts))
        return True

    def _command(self, scenario: Scenario, profile: Profile, work: Work) -> Run | Serve:
        if scenario.task is not None:
            return serve_command(scenario, profile, work, self.folder)
        # The reference, and its twin, find the path that all others are forced along.
        forced = None if scenario.kind is Kind.FULL else self._forced
        command = run_command(scenario, profile, work, self.folder, forced)
        if scenario.kind is not Kind.PREFIX:
            return command
        assert self.facts is not None
        found = prefixes(self.states().values(), work, profile, self.facts.block_size)
        return command.model_copy(update={"prefixes": found})

    def _cannot_run(self, engine: EnginePlan, scenario: Scenario) -> bool:
        """Keep NOT_RUN as the outcome where what the scenario builds on did not end well."""
        if scenario.name in self.outcomes:
            return True
        if scenario.mutates and self.facts is not None and not self.facts.linear_attention:
            self._keep(
                Outcome(
                    scenario=scenario.name,
                    engine=engine.name,
                    status=Status.UNSUPPORTED,
                    message="this model keeps no state that could be lost",
                )
            )
            return True
        for needed in (scenario.reference, scenario.after):
            outcome = self.outcomes.get(needed) if needed else None
            if outcome is not None and outcome.status is not Status.DONE:
                unsupported = outcome.status is Status.UNSUPPORTED
                self._keep(
                    Outcome(
                        scenario=scenario.name,
                        engine=engine.name,
                        status=Status.UNSUPPORTED if unsupported else Status.NOT_RUN,
                        message=f"it builds on {needed}, which ended as: {outcome.status}"
                        + (f" ({outcome.message})" if unsupported else ""),
                    )
                )
                return True
        return False

    def _keep(self, outcome: Outcome) -> None:
        self.outcomes[outcome.scenario] = outcome
        self._write_outcomes()

    def _write_outcomes(self) -> None:
        document = [o.model_dump(mode="json") for o in self.outcomes.values()]
        self.folder.write_json(OUTCOMES, document)

    def _show(self, progress: Progress) -> None:
        self.display.tokens(progress.done, progress.total)


def engine_environment(model: str) -> dict[str, str]:
    """What an engine process finds in its environment on top of ours."""
    offline = {"HF_HUB_OFFLINE": os.environ.get("HF_HUB_OFFLINE", "1")}
    return {
        # In one process with its core, so that the scheduler can be read.
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONUNBUFFERED": "1",
        # Idle OpenMP threads sleep instead of spinning. Measured on two cores with one of them
        # busy: 128-token chunks in 4 s instead of 72 s; on a quiet machine some 15 % slower.
        "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "passive"),
        **(offline if Path(model).is_dir() else {}),
        # What vLLM switches off it may only log, as information.
        **({"VLLM_LOGGING_LEVEL": "INFO"} if _quiet_log() else {}),
    }


def _quiet_log() -> bool:
    level = os.environ.get("VLLM_LOGGING_LEVEL", "INFO").upper()
    return level in ("WARNING", "ERROR", "CRITICAL")


def _failure(engine: EnginePlan, scenario: Scenario, error: EngineFailure) -> Outcome:
    return Outcome(
        scenario=scenario.name,
        engine=engine.name,
        status=error.failure.status,
        message=error.failure.message,
        traceback=error.failure.traceback,
        log_tail=error.log_tail,
    )


def _told(error: EngineFailure) -> str:
    return f"{error.failure.message}\n" + "\n".join(error.log_tail)
