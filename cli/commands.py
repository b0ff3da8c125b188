"""What an engine process is told to serve."""

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from linattn_verify.cli.files import RunFiles
from linattn_verify.configs.asides import some_requests
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Scenario
from linattn_verify.configs.profile import Profile
from linattn_verify.engine.messages import Prefix, Run, Serve, States
from linattn_verify.tasks.request import TaskRequest
from linattn_verify.traces.store import Trace

Tokens = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Work:
    """What the scenarios serve: the prompts, and the requests of each task."""

    prompts: Tokens
    tasks: dict[str, tuple[TaskRequest, ...]]

    def with_states(self, profile: Profile) -> tuple[int, ...]:
        """Indices of the prompts whose states are read."""
        return some_requests(tuple(map(len, self.prompts)), profile.states.requests)


def generated(trace: Trace, prompts: int) -> Tokens:
    """The tokens generated along the decode leg of a trace, a tuple a prompt."""
    rows = trace.rows[trace.rows["leg"] == Leg.DECODE.value].sort_values(["request", "position"])
    by_request = rows.groupby("request")["token"].apply(list)
    return tuple(tuple(int(t) for t in by_request[i]) for i in range(prompts))


def serve_command(scenario: Scenario, profile: Profile, work: Work, folder: RunFiles) -> Serve:
    """Serve the requests of the scenario's task."""
    return Serve(
        scenario=scenario,
        requests=work.tasks[scenario.task or ""],
        concurrency=profile.task.concurrency,
        trace=str(folder.trace(scenario.name)),
    )


def run_command(
    scenario: Scenario, profile: Profile, work: Work, folder: RunFiles, forced: Tokens | None
) -> Run:
    """Serve the prompts, along `forced` where there is such a path."""
    states = States(
        path=str(folder.states(scenario.name)),
        requests=work.with_states(profile),
        most_bytes=int(profile.states.gib * 2**30),
    )
    return Run(
        scenario=scenario,
        prompts=work.prompts,
        forced=forced,
        decode_tokens=profile.decode_tokens,
        top_k=profile.top_k,
        cut_offsets=profile.cut_offsets,
        trace=str(folder.trace(scenario.name)),
        states=states if scenario.states else None,
        baseline=str(folder.trace(scenario.twin)) if scenario.twin else None,
    )


def prefixes(
    states: Iterable[pd.DataFrame], work: Work, profile: Profile, block: int
) -> tuple[Prefix, ...]:
    """Where states have been read so far, and where a cache with blocks of `block` tokens ends its
    last whole one: the engine that has the cache is yet to start, and may turn out to have other
    blocks."""
    places = {place for s in states for place in zip(s["request"], s["position"], strict=True)}
    for request in work.with_states(profile):
        places.add((request, (len(work.prompts[request]) - 1) // block * block))
    return tuple(Prefix(request=r, position=p) for r, p in sorted(places) if p > 0)
