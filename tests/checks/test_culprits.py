"""Which log-probabilities of a failing scenario are looked at."""

from linattn_verify.checks.culprits import deltas
from linattn_verify.configs.legs import Leg
from tests.checks.world import World


def test_short_prompts_count_too_and_gaps_are_those_put_in(world: World) -> None:
    world.shift("chunked@7", Leg.PROMPT, 1, 15, -2.0)
    world.profile = world.profile.model_copy(update={"min_chunks": 4})  # no prompt is judged
    evidence = world.evidence()
    found = deltas(evidence, evidence.scenario("chunked@7"), Leg.PROMPT)
    assert set(found) == {0, 1, 2}
    assert {at: gap for at, gap in found[1].items() if gap} == {15: 2.0}


def test_in_a_warm_scenario_only_what_was_computed_counts(world: World) -> None:
    evidence = world.evidence()
    found = deltas(evidence, evidence.scenario("warm"), Leg.PROMPT)
    # alpha and beta have 16 tokens from the cache, gamma 8; the last position is length - 1.
    assert {request: sorted(gaps) for request, gaps in found.items()} == {
        1: [17, 18, 19, 20, 21, 22],
        2: [9, 10, 11, 12, 13, 14],
    }


def test_a_scenario_that_is_compared_with_nothing_has_no_gaps(world: World) -> None:
    """States of full prefill may be wrong where nothing else is."""
    evidence = world.evidence()
    assert deltas(evidence, evidence.scenario("full"), Leg.PROMPT, Leg.DECODE) == {}
