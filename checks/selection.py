"""Which requests of a leg a check judges, and why the others are left out."""

from dataclasses import dataclass, field

from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Scenario
from linattn_verify.configs.profile import Profile
from linattn_verify.traces.schema import RequestRecord, TraceRecord


@dataclass(frozen=True)
class Selection:
    """The records of one leg that are judged; the others are counted by reason."""

    leg: Leg
    records: tuple[RequestRecord, ...]
    left_out: dict[str, int] = field(default_factory=dict)

    @property
    def requests(self) -> frozenset[int]:
        """Indices of the judged requests."""
        return frozenset(record.request for record in self.records)


def pass_of(kind: Kind, leg: Leg) -> Leg:
    """The leg under which the requests that gave `leg` are recorded: `full` makes one pass for
    everything, the others give prompt and decode in one and the rest each in its own."""
    if leg is Leg.ANSWER:
        return leg
    if kind is Kind.FULL:
        return Leg.FREE
    return Leg.DECODE if leg is Leg.PROMPT else leg


def passes(scenario: Scenario) -> tuple[Leg, ...]:
    """The passes that the scenario's legs need, in their order."""
    return tuple(dict.fromkeys(pass_of(scenario.kind, leg) for leg in scenario.legs))


def select(scenario: Scenario, record: TraceRecord, leg: Leg, profile: Profile) -> Selection:
    """The requests in which the thing under test happened: prefills in at least
    `profile.min_chunks` steps in a chunked scenario, a prefix from the cache in a warm one."""
    recorded = _recorded(scenario, record, leg)
    if scenario.kind is Kind.CHUNKED:
        least = 2 if scenario.task is not None else profile.min_chunks
        judged = [r for r in recorded if len(r.prefill()) >= least]
        return _selection(leg, judged, recorded, "short")
    if scenario.kind is Kind.WARM:
        judged = [r for r in recorded if r.cached_tokens > 0]
        return _selection(leg, judged, recorded, "uncached")
    return Selection(leg, tuple(recorded))


def everyone(scenario: Scenario, record: TraceRecord, leg: Leg) -> Selection:
    """Every request of the leg's pass, those too short to be judged too; in a warm scenario those
    with a prefix from the cache."""
    recorded = _recorded(scenario, record, leg)
    if scenario.kind is Kind.WARM:
        recorded = [r for r in recorded if r.cached_tokens > 0]
    return Selection(leg, tuple(recorded))


def _recorded(scenario: Scenario, record: TraceRecord, leg: Leg) -> list[RequestRecord]:
    return [r for r in record.requests if r.leg is pass_of(scenario.kind, leg)]


def _selection(
    leg: Leg, judged: list[RequestRecord], recorded: list[RequestRecord], reason: str
) -> Selection:
    left_out = {f"requests_left_out_{reason}": len(recorded) - len(judged)}
    return Selection(leg, tuple(judged), left_out)
