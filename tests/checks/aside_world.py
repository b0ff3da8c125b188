"""The made run with what two checks add to it: states, twins on NaN, small pools."""

from collections.abc import Iterator
from dataclasses import replace

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.registry import checks_named
from linattn_verify.checks.result import CheckResult
from linattn_verify.configs.asides import with_hygiene, with_states
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Memory, Plan, Scenario
from linattn_verify.configs.profile import Limit
from linattn_verify.traces.schema import Filled, RequestRecord, Slice
from linattn_verify.traces.states import Moment, Part
from tests.checks.state_rows import LAYERS, Row, every_state, frame, rows_of
from tests.checks.world import BLOCK, World, plan

TENSORS = {"attention": 1, "convolution": len(LAYERS), "recurrent": len(LAYERS)}
READ = (0, 1)
"""Requests whose states are read."""


def whole_plan(every: bool = True) -> Plan:
    """Every scenario of the made run, and all that states and hygiene add."""
    simple = plan()
    scenarios = with_hygiene(with_states(simple.scenarios()), every)
    caching = (Kind.COLD, Kind.WARM)
    members = (
        [s for s in scenarios if s.kind not in caching],
        [s for s in scenarios if s.kind in caching],
    )
    return Plan(
        engines=tuple(
            engine.model_copy(update={"scenarios": tuple(own)})
            for engine, own in zip(simple.engines, members, strict=True)
        )
    )


class AsideWorld(World):
    """A run whose states and twins a test may bend before it is judged."""

    def __init__(self, every: bool = True, ranks: int = 1) -> None:
        super().__init__(whole_plan(every))
        limits = {"state.convolution": 0.25, "state.recurrent": 0.5}
        both = {k: Limit(limit=v, origin="made") for k, v in limits.items()}
        known = self.profile.limits["bfloat16"]
        self.profile = self.profile.model_copy(update={"limits": {"bfloat16": known | both}})
        self.linear_attention: bool | None = True
        self.ranks = ranks
        self.states: dict[str, list[Row]] = {}
        for scenario in self.plan.scenarios():
            if scenario.states and scenario.kind is not Kind.PREFIX:
                self.states[scenario.name] = self._states(scenario)
        self._prefixes()

    def evidence(self) -> Evidence:
        read = {name: frame(rows) for name, rows in self.states.items()}
        return replace(super().evidence(), states=read, linear_attention=self.linear_attention)

    def judge_states(self, scenario: str) -> CheckResult:
        """What `judge` says of a scenario's states, without the time that the others' take."""
        (spec,) = checks_named(["state_equivalence"])
        evidence = self.evidence()
        engines = [
            engine.model_copy(
                update={
                    "scenarios": tuple(
                        s.model_copy(update={"states": s.name == scenario})
                        for s in engine.scenarios
                    )
                }
            )
            for engine in self.plan.engines
        ]
        (result,) = spec.run(replace(evidence, plan=Plan(engines=tuple(engines))))
        return result

    def found(
        self, scenario: str, moment: Moment, request: int, position: int, edge: int | None = None
    ) -> list[Row]:
        """The states read at one place, to be bent in place."""
        key = (moment.value, request, position)
        rows = [
            r
            for r in self.states[scenario]
            if (r["moment"], r["request"], r["position"]) == key and edge in (None, r["edge"])
        ]
        assert rows, f"nothing was read there: {scenario} {key}"
        return rows

    def state(
        self,
        scenario: str,
        moment: Moment,
        request: int,
        position: int,
        index: int = 0,
        part: Part = Part.CONVOLUTION,
        rank: int = 0,
    ) -> Row:
        """One state, to be bent in place."""
        (row,) = [
            r
            for r in self.found(scenario, moment, request, position)
            if (r["index"], r["part"], r["rank"]) == (index, part.value, rank)
        ]
        return row

    def _serve(self, scenario: Scenario, engine: str) -> None:
        super()._serve(scenario, engine)
        settings = self.settings[scenario.name]
        if scenario.memory is not None:
            poisoned = TENSORS if scenario.memory is Memory.NAN else dict.fromkeys(TENSORS, 0)
            settings["filled"] = Filled(
                content=scenario.memory, bytes=3 * 2**20, tensors=TENSORS, poisoned=poisoned
            )
        if scenario.tight:
            settings.update(pool_blocks=11, allocated_blocks=13)
        if scenario.memory is Memory.NAN or scenario.tight:
            settings["handed_out_blocks"] = settings["allocated_blocks"]

    def _states(self, scenario: Scenario) -> list[Row]:
        first = Leg.FREE if scenario.kind is Kind.FULL else Leg.DECODE
        block = BLOCK if scenario.kind is Kind.COLD else None
        return [
            row
            for record in self.requests[scenario.name]
            if record.leg is first and record.request in READ
            for row in rows_of(record, self.ranks, block)
        ]

    def _places(self) -> Iterator[tuple[int, int]]:
        yield from sorted({(r["request"], r["position"]) for s in self.states.values() for r in s})

    def _prefixes(self) -> None:
        """Serve a prefix for every place at which a state was read."""
        scenario = next(s for s in self.plan.scenarios() if s.kind is Kind.PREFIX)
        places = list(self._places())
        self.requests[scenario.name] = [
            RequestRecord(
                request=request,
                leg=Leg.PREFIX,
                prompt_tokens=position,
                output_tokens=1,
                cached_tokens=0,
                slices=(Slice(step=step, start=0, tokens=position),),
                finish_reason="length",
            )
            for step, (request, position) in enumerate(places)
        ]
        self.states[scenario.name] = [
            row
            for request, position in places
            for row in every_state(request, position, 1, Moment.LEFT, self.ranks)
        ]
