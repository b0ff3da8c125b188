"""Whether a check could have failed: what it says of a state lost on purpose, and of its own."""

from dataclasses import replace

import pytest

from linattn_verify.checks.as_if import as_if
from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.registry import CheckSpec, checks_named, run_checks
from linattn_verify.checks.result import LimitOutcome, Sensitivity, Verdict
from linattn_verify.checks.sensitivity import held_to, sensitivity
from linattn_verify.checks.strength import strength
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.mutations import with_mutations
from linattn_verify.traces.outcome import Status
from tests.checks.task_world import TaskWorld
from tests.checks.world import NAMES, World, plan

MUTATION = "chunked@7~state_lost_at_edges"
SPECS = checks_named(["chunked_prefill", "logprobs_close", "prefix_cache"])


class MutatedWorld(World):
    """A clean run in which every mutation struck three times and moved nothing yet."""

    def __init__(self) -> None:
        made = plan()
        engines = tuple(
            e.model_copy(update={"scenarios": tuple(with_mutations(e.scenarios))})
            for e in made.engines
        )
        super().__init__(made.model_copy(update={"engines": engines}))
        for scenario in self.plan.scenarios():
            if scenario.mutates:
                self.strike(scenario.name, scenario.faults[0], 3)

    def strike(self, mutation: str, fault: str, times: int) -> None:
        """Let a fault have struck so often."""
        self.settings[mutation]["faults"] = {fault: times} if times else {}

    def lose(self, mutation: str, by: float, requests: tuple[int, ...] = (0, 1, 2)) -> None:
        """Move every log-probability after a chunk edge, of these requests."""
        for row in self.rows[mutation]:
            if row["request"] in requests and row["chunk"]:
                row["logprob"] -= by


@pytest.fixture
def mutated() -> MutatedWorld:
    return MutatedWorld()


def found(
    evidence: Evidence, specs: tuple[CheckSpec, ...] = SPECS
) -> dict[tuple[str, str], Sensitivity]:
    shown = sensitivity(specs, evidence, run_checks(specs, evidence))
    return {(one.check, one.scenario): one for one in shown}


def verdict(world: World, check: str, scenario: str) -> Verdict:
    evidence = world.evidence()
    answers = run_checks(SPECS, evidence)
    held = held_to(answers, sensitivity(SPECS, evidence, answers))
    return next(r.verdict for r in held if (r.name, r.scenario) == (check, scenario))


def test_a_loss_far_above_the_limit_is_seen(mutated: MutatedWorld) -> None:
    mutated.lose(MUTATION, 2.0)
    one = found(mutated.evidence())["chunked_prefill", "chunked@7"]
    assert one.seen and one.fired == 3 and one.without_signal == ()
    assert one.ratio is not None and one.value is not None and one.limit is not None
    assert one.ratio == pytest.approx(one.value / one.limit) and one.ratio > 3
    assert verdict(mutated, "chunked_prefill", "chunked@7") is Verdict.PASS


@pytest.mark.parametrize(
    ("by", "seen", "ratio"), [(0.0, False, 0.0), (0.1, False, 2.0), (0.16, True, 3.2)]
)
def test_three_times_the_limit_is_asked_for(
    mutated: MutatedWorld, by: float, seen: bool, ratio: float
) -> None:
    """The made profile's mean is 0.05 at most; every other limit is further away."""
    mutated.lose(MUTATION, by)
    one = found(mutated.evidence())["chunked_prefill", "chunked@7"]
    assert one.seen is seen
    assert one.ratio == pytest.approx(ratio)
    expected = Verdict.PASS if seen else Verdict.VACUOUS
    assert verdict(mutated, "chunked_prefill", "chunked@7") is expected
    assert seen or ("blind" in one.message and "--prompts" in one.message)


def test_a_fault_that_never_struck_shows_nothing(mutated: MutatedWorld) -> None:
    mutated.lose(MUTATION, 2.0)
    mutated.strike(MUTATION, "state_lost_at_edges", 0)
    one = found(mutated.evidence())["chunked_prefill", "chunked@7"]
    assert not one.seen and one.fired == 0 and one.ratio is None
    assert verdict(mutated, "chunked_prefill", "chunked@7") is Verdict.VACUOUS


def test_a_mutation_that_died_shows_nothing(mutated: MutatedWorld) -> None:
    mutated.end(MUTATION, Status.CRASHED, "SIGSEGV")
    one = found(mutated.evidence())["chunked_prefill", "chunked@7"]
    assert not one.seen and "SIGSEGV" in one.message
    assert verdict(mutated, "chunked_prefill", "chunked@7") is Verdict.VACUOUS


def test_a_fail_stays_a_fail_however_blind_the_check(mutated: MutatedWorld) -> None:
    mutated.lose("chunked@7", 2.0)
    assert verdict(mutated, "chunked_prefill", "chunked@7") is Verdict.FAIL


def test_only_a_coarse_check_is_outweighed_and_only_by_a_finer_one(mutated: MutatedWorld) -> None:
    mutated.lose(MUTATION, 2.0)
    shown = found(mutated.evidence())
    assert shown["logprobs_close", "chunked@7"].outweighed_by == "chunked_prefill"
    assert not shown["prefix_cache", "warm"].seen
    assert shown["prefix_cache", "warm"].outweighed_by is None
    assert shown["logprobs_close", "warm"].outweighed_by is None


def test_prompts_in_which_nothing_shows_are_named(mutated: MutatedWorld) -> None:
    mutated.lose(MUTATION, 2.0, requests=(1,))
    one = found(mutated.evidence())["chunked_prefill", "chunked@7"]
    assert one.seen and one.without_signal == (NAMES[0], NAMES[2])


def test_no_check_answers_for_a_mutation(mutated: MutatedWorld) -> None:
    answered = {result.scenario for result in run_checks(SPECS, mutated.evidence())}
    assert answered == {"chunked@7", "cold", "warm", "warm-2"}


def test_as_if_is_about_one_scenario_and_leaves_the_others(mutated: MutatedWorld) -> None:
    mutated.lose(MUTATION, 2.0)
    evidence = mutated.evidence()
    instead = as_if(evidence, evidence.scenario(MUTATION))
    assert [s.name for s in instead.judged()] == ["chunked@7"]
    assert instead.traces["chunked@7"] is evidence.traces[MUTATION]
    assert instead.traces["full"] is evidence.traces["full"]
    assert evidence.scenario("chunked@7").faults == ()
    mutated.end(MUTATION, Status.CRASHED)
    evidence = mutated.evidence()
    assert "chunked@7" not in as_if(evidence, evidence.scenario(MUTATION)).traces


def test_a_model_without_states_has_none_to_lose(mutated: MutatedWorld) -> None:
    assert not found(replace(mutated.evidence(), linear_attention=False))


def test_what_has_no_number_counts_as_beyond_all_limits(mutated: MutatedWorld) -> None:
    (spec,) = checks_named(["chunked_prefill"])
    (result,) = run_checks([spec], mutated.evidence())
    limit = LimitOutcome(value=None, limit=1.0, origin="made", holds=False, margin=None)
    endless = result.model_copy(update={"limits": {"max": limit}, "verdict": Verdict.FAIL})
    assert strength(endless, 0.1).ratio == float("inf")
    ruled = result.model_copy(update={"limits": {}, "verdict": Verdict.FAIL, "message": "a rule"})
    assert strength(ruled, 0.1).statistic == "a rule"


def test_a_token_of_the_wrong_leg_moves_nothing(mutated: MutatedWorld) -> None:
    mutated.shift(MUTATION, Leg.FREE, 0, 17, -2.0)
    assert not found(mutated.evidence())["chunked_prefill", "chunked@7"].seen


def test_of_a_task_the_drop_that_was_seen_counts_not_the_one_that_may_be() -> None:
    """Of 41 questions all are alike on both sides, which leaves a drop of some points possible;
    then 30 are lost, whatever the interval says."""
    tasks = TaskWorld()
    tasks.mark("full", range(41), right=True)
    tasks.mark("chunked@7", range(41), right=True)
    healthy = tasks.judge()
    assert strength(healthy, 0.1).ratio == 0.0
    assert any(outcome.value for outcome in healthy.limits.values())
    tasks.mark("chunked@7", range(30), right=False)
    assert strength(tasks.judge(), 0.1).ratio == pytest.approx(30 / 41 / 0.1)
