"""What the engine is asked for each scenario, and what is read of what it left; no engine."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from linattn_verify.cli.commands import Work
from linattn_verify.cli.folder import RunFolder
from linattn_verify.cli.pipeline import Pipeline
from linattn_verify.cli.progress import Display
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import EnginePlan, Kind, Scenario
from linattn_verify.configs.profile import Profile, StateRules
from linattn_verify.engine.messages import EngineFacts, Prefix, Run, States
from linattn_verify.traces.outcome import Outcome, Status
from linattn_verify.traces.store import write_states, write_trace
from tests.traces.test_states import row
from tests.traces.test_store import record
from tests.traces.test_store import row as trace_row

PROMPTS = ((1,) * 17, (2,) * 7, (3,) * 23)
WORK = Work(PROMPTS, {})
RULES = StateRules(requests=2, gib=0.5)
PROFILE = Profile(
    name="made", description="made", budgets=(7,), decode_tokens=3, states=RULES, limits={}
)
FORCED = ((5, 6, 7), (5, 6, 8), (5, 6, 9))


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    made = Pipeline(RunFolder(tmp_path), Display(Console(file=io.StringIO())), "made")
    made.facts = EngineFacts.model_construct(block_size=8)
    made._forced = FORCED
    return made


def leave(pipeline: Pipeline, name: str, *states: dict[str, object]) -> Path:
    """A scenario that ended well, with these states."""
    write_trace(pipeline.folder.trace(name), record(scenario=name), [trace_row(1)])
    write_states(pipeline.folder.states(name), list(states))
    trace = str(pipeline.folder.trace(name).relative_to(pipeline.folder.path))
    done = Outcome(scenario=name, engine="plain", status=Status.DONE, trace=trace)
    pipeline.outcomes[name] = done
    return pipeline.folder.states(name)


def test_states_are_read_by_scenario(pipeline: Pipeline) -> None:
    leave(pipeline, "full", row(), row())
    leave(pipeline, "chunked@7", row())
    pipeline.outcomes["cold"] = Outcome(scenario="cold", engine="c", status=Status.CRASHED)
    write_states(pipeline.folder.states("cold"), [row()])
    pipeline.outcomes["full-nan"] = Outcome(scenario="full-nan", engine="p", status=Status.DONE)
    assert {name: len(s) for name, s in pipeline.states().items()} == {"full": 2, "chunked@7": 1}


def test_states_that_cannot_be_read_are_an_error_of_their_scenario_alone(
    pipeline: Pipeline,
) -> None:
    path = leave(pipeline, "full", row())
    leave(pipeline, "chunked@7", row())
    path.write_bytes(path.read_bytes()[:99])
    assert list(pipeline.states()) == ["chunked@7"]
    spoilt = pipeline.outcomes["full"]
    assert (spoilt.status, spoilt.trace) == (Status.ERROR, None)
    assert "states/full.parquet: not a whole trace" in spoilt.message
    assert pipeline.outcomes["chunked@7"].status is Status.DONE
    assert list(pipeline.traces()) == ["chunked@7"]
    written = json.loads((pipeline.folder.path / "outcomes.json").read_text())
    assert {o["scenario"]: o["status"] for o in written} == {"full": "error", "chunked@7": "done"}


def ask(pipeline: Pipeline, kind: Kind, **fields: Any) -> Run:
    made = {"name": "s", "kind": kind, "reference": "full", "budget": 7, "legs": ()}
    scenario = Scenario.model_validate({**made, **fields})
    command = pipeline._command(scenario, PROFILE, WORK)
    assert isinstance(command, Run)
    return command


def test_states_are_asked_for_where_they_are_planned(pipeline: Pipeline) -> None:
    assert ask(pipeline, Kind.COLD).states is None
    assert ask(pipeline, Kind.COLD, states=True).states == States(
        path=str(pipeline.folder.states("s")),
        requests=(0, 2),
        most_bytes=2**29,
    )


def test_only_the_reference_and_its_twin_find_their_own_way(pipeline: Pipeline) -> None:
    assert ask(pipeline, Kind.FULL, reference=None).forced is None
    assert ask(pipeline, Kind.FULL, twin="full").forced is None
    for kind in (Kind.PREFIX, Kind.CHUNKED, Kind.COLD, Kind.WARM):
        assert ask(pipeline, kind).forced == FORCED


def test_a_twin_is_told_where_the_trace_is_that_it_repeats(pipeline: Pipeline) -> None:
    assert ask(pipeline, Kind.COLD).baseline is None
    twin = ask(pipeline, Kind.COLD, twin="cold-tight")
    assert twin.baseline == str(pipeline.folder.trace("cold-tight"))


def test_prefixes_are_where_states_were_read_and_where_a_cache_ends_its_last_block(
    pipeline: Pipeline,
) -> None:
    leave(pipeline, "full", row(request=0, position=17), row(request=2, position=25))
    leave(pipeline, "chunked@7", row(request=2, position=7), row(request=0, position=17))
    command = ask(pipeline, Kind.PREFIX, legs=(Leg.PREFIX,))
    # blocks of 8: the last whole one below the last token ends at 16
    assert command.prefixes == tuple(
        Prefix(request=r, position=p) for r, p in ((0, 16), (0, 17), (2, 7), (2, 16), (2, 25))
    )
    assert ask(pipeline, Kind.FULL).prefixes == ()


def test_a_prompt_without_a_whole_block_has_no_empty_prefix(pipeline: Pipeline) -> None:
    pipeline.facts = EngineFacts.model_construct(block_size=17)
    command = ask(pipeline, Kind.PREFIX)
    assert command.prefixes == (Prefix(request=2, position=17),)


class Served:
    """A process that has served whatever it is asked."""

    def ask(self, command: Run, *_: object) -> None:
        rows = [trace_row(17 + i, request=0, leg="decode", token=41 + i) for i in range(2)]
        write_trace(Path(command.trace), record(scenario=command.scenario.name), rows)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"reference": None}, ((41, 42),)),
        ({"name": "full-nan", "twin": "full"}, FORCED),
        ({"name": "prefixes", "kind": Kind.PREFIX}, FORCED),
    ],
    ids=["reference", "twin", "prefixes"],
)
def test_the_path_of_all_is_the_references_and_not_its_twins(
    pipeline: Pipeline, fields: dict[str, Any], expected: Any
) -> None:
    made = {"name": "full", "kind": Kind.FULL, "reference": "full", "budget": 64, "legs": ()}
    scenario = Scenario.model_validate({**made, **fields})
    engine = EnginePlan(name="plain", requested={}, scenarios=(scenario,))
    process: Any = Served()
    assert pipeline._serve(process, engine, scenario, PROFILE, Work(PROMPTS[:1], {}))
    assert pipeline._forced == expected
    assert pipeline.outcomes[scenario.name].status is Status.DONE
