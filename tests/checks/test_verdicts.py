"""Proofs that fail are VACUOUS; crashes and hangs are FAIL; nothing compared never passes."""

from typing import TYPE_CHECKING, Any

import pytest

from linattn_verify.checks.proofs import prove
from linattn_verify.checks.result import Proof, Verdict
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.profile import Profile
from linattn_verify.traces.outcome import Status
from linattn_verify.traces.schema import Slice

if TYPE_CHECKING:
    from tests.checks.world import World


def proof(world: "World", scenario: str, name: str) -> Proof:
    (found,) = [p for p in prove(world.evidence())[scenario] if p.name == name]
    return found


def slices(*parts: tuple[int, int, int]) -> tuple[Slice, ...]:
    return tuple(Slice(step=s, start=a, tokens=n) for s, a, n in parts)


def test_every_proof_of_a_clean_run_holds(world: "World") -> None:
    proofs = prove(world.evidence())
    assert [p for some in proofs.values() for p in some if not p.holds] == []
    observed = {name: {p.name: p.observed for p in some} for name, some in proofs.items()}
    assert observed["full"]["one_prefill_step"] == "3 of 3 prompts in one step"
    assert observed["chunked@7"]["prefill_steps"] == "6 of 6 such prompts in at least 3 steps"
    assert observed["cold"]["cached_tokens"] == "6 of 6 requests with 0 cached tokens"
    assert observed["warm"]["cached_tokens"] == "9 of 9 requests as the block size predicts"


POOL = "; if the pool of 64 blocks is too small for all requests, raise kv_cache_gib in a profile"
CASES: list[tuple[str, str, str, int, dict[str, Any], str]] = [
    (
        *("full", "chunked@7", "one_prefill_step", 1),
        {"slices": slices((5, 0, 16), (6, 16, 7), (7, 23, 1))},
        "2 of 3; beta (23 tokens, free pass): 2 steps [16, 7]",
    ),
    (
        *("cold", "cold", "cached_tokens", 1),
        {"cached_tokens": 8, "slices": slices((5, 8, 15))},
        "5 of 6; beta (23 tokens, decode pass): 8 cached, expected 0",
    ),
    (
        *("warm", "warm", "cached_tokens", 1),
        {"cached_tokens": 8, "slices": slices((5, 8, 15))},
        f"8 of 9; beta (23 tokens, decode pass): 8 cached, expected 16{POOL}",
    ),
    (
        *("warm", "warm", "cached_tokens", 0),
        {"cached_tokens": 0, "slices": slices((0, 0, 17))},
        f"8 of 9; alpha (17 tokens, decode pass): 0 cached, expected 16{POOL}",
    ),
    (
        *("cold", "warm", "cached_tokens", 5),
        {"cached_tokens": 8, "slices": slices((5, 8, 7))},
        "5 of 6; gamma (15 tokens, free pass): 8 cached, expected 0",
    ),
    (
        *("chunked@7", "chunked@7", "step_tokens", 2),
        {"slices": slices((40, 0, 7), (41, 7, 8))},
        "8 tokens in the largest step",
    ),
    (
        *("chunked@7", "chunked@7", "prefill_steps", 2),
        {"slices": slices((40, 0, 7), (41, 7, 8))},
        "5 of 6; gamma (15 tokens, decode pass): 2 prefill steps",
    ),
    (
        *("chunked@7", "chunked@7", "prompt_covered", 2),
        {"slices": slices((40, 0, 7), (41, 7, 7), (50, 0, 7), (51, 7, 7), (52, 14, 1))},
        "5 of 6; gamma (15 tokens, decode pass): preempted: computed up to 14, then again from 0"
        + POOL,
    ),
    (
        *("chunked@7", "chunked@7", "prompt_covered", 2),
        {"slices": slices((40, 0, 5), (41, 7, 7), (42, 14, 1))},
        "5 of 6; gamma (15 tokens, decode pass): tokens 5 to 7 in no step",
    ),
    (
        *("chunked@7", "chunked@7", "prompt_covered", 2),
        {"slices": slices((40, 0, 7), (41, 7, 3), (42, 10, 4))},
        "5 of 6; gamma (15 tokens, decode pass): computed up to 14",
    ),
]


@pytest.mark.parametrize(
    ("bent", "judged", "name", "index", "fields", "observed"),
    CASES,
    ids=[
        *("full in two steps", "cold with a hit", "warm with the wrong hit", "warm without a hit"),
        *("hit in the reference", "step above the budget", "too few chunks", "preemption"),
        *("gap", "short of the end"),
    ],
)
@pytest.mark.parametrize("check", ["numeric", "logprobs_close"])
def test_a_failing_proof_is_vacuous(
    world: "World",
    check: str,
    bent: str,
    judged: str,
    name: str,
    index: int,
    fields: dict[str, Any],
    observed: str,
) -> None:
    world.change_record(bent, index, **fields)
    found = proof(world, bent, name)
    assert not found.holds
    assert found.observed == observed
    numeric = "chunked_prefill" if judged.startswith("chunked") else "prefix_cache"
    result = world.judge(numeric if check == "numeric" else check, judged)
    assert result.verdict is Verdict.VACUOUS
    assert result.message.startswith(f"{bent}: proof ")


@pytest.mark.parametrize(("tokens", "holds"), [(0, False), (1, True), (7, True), (8, False)])
def test_the_largest_step_is_what_the_scheduler_wrote_down(
    world: "World", tokens: int, holds: bool
) -> None:
    """Nothing at all written down proves nothing; slices are not asked."""
    world.settings["chunked@7"]["largest_step"] = tokens
    found = proof(world, "chunked@7", "step_tokens")
    assert (found.holds, found.observed) == (holds, f"{tokens} tokens in the largest step")
    verdict = world.judge("chunked_prefill", "chunked@7").verdict
    assert verdict is (Verdict.PASS if holds else Verdict.VACUOUS)


@pytest.mark.parametrize(
    ("scenario", "setting", "value", "name"),
    [
        ("full", "prefix_caching", True, "prefix_caching"),
        ("chunked@7", "prefix_caching", True, "prefix_caching"),
        ("cold", "prefix_caching", False, "prefix_caching"),
        ("warm", "prefix_caching", False, "prefix_caching"),
        ("chunked@7", "budget", 8192, "scheduler_budget"),
        ("warm", "block_size", 0, "cached_tokens"),
    ],
)
def test_engine_settings_are_proven(
    world: "World", scenario: str, setting: str, value: Any, name: str
) -> None:
    world.settings[scenario][setting] = value
    assert not proof(world, scenario, name).holds
    candidate = "chunked@7" if scenario == "full" else scenario
    assert world.judge("logprobs_close", candidate).verdict is Verdict.VACUOUS


def test_a_request_that_was_never_served_is_named(world: "World") -> None:
    del world.requests["chunked@7"][4]
    found = proof(world, "chunked@7", "requests_served")
    assert (found.holds, found.observed) == (
        False,
        "5 of 6 requests; beta 0 times in the free pass",
    )


def test_prompts_too_short_for_the_budget_are_vacuous_with_advice(world: "World") -> None:
    world.profile = world.profile.model_copy(update={"min_chunks": 5})
    result = world.judge("chunked_prefill", "chunked@7")
    assert result.verdict is Verdict.VACUOUS
    assert "no prompt is above 28 tokens: use longer prompts or a smaller budget" in result.message


def test_short_prompts_are_left_out_and_counted(world: "World") -> None:
    world.profile = world.profile.model_copy(update={"min_chunks": 4})
    result = world.judge("chunked_prefill", "chunked@7")
    assert result.verdict is Verdict.PASS
    assert (result.counts["prompt.requests"], result.counts["prompt.compared"]) == (1, 22)
    assert result.counts["prompt.requests_left_out_short"] == 2


def test_prompts_below_a_block_are_left_out_of_warm_and_counted(world: "World") -> None:
    world.settings["warm"]["block_size"] = 16
    for index, record in enumerate(world.requests["warm"]):
        if record.prompt_tokens <= 16:  # gamma in both passes, and its and alpha's cut
            whole = slices((index, 0, record.prompt_tokens))
            world.change_record("warm", index, cached_tokens=0, slices=whole)
    world.shift("warm", Leg.DECODE, 2, 16, -9.0)
    world.shift("warm", Leg.CUT, 0, 9, -9.0)
    result = world.judge("prefix_cache", "warm")
    assert result.verdict is Verdict.PASS
    assert (result.counts["decode.requests"], result.counts["decode.compared"]) == (2, 10)
    assert result.counts["decode.requests_left_out_uncached"] == 1
    assert result.counts["cut.compared"] == 1
    assert result.counts["cut.requests_left_out_uncached"] == 2


def test_cuts_may_be_several_or_none_a_prompt(world: "World") -> None:
    del world.requests["warm"][-1]
    world.drop("warm", Leg.CUT, 2, 11)
    result = world.judge("prefix_cache", "warm")
    assert result.verdict is Verdict.PASS
    assert result.counts["cut.compared"] == 2


@pytest.mark.parametrize("scenario", ["full", "chunked@7", "cold", "warm"])
def test_a_record_without_requests_proves_nothing(world: "World", scenario: str) -> None:
    world.requests[scenario] = []
    held = {p.name for p in prove(world.evidence())[scenario] if p.holds}
    assert held <= {"prefix_caching", "scheduler_budget"}


def test_warm_without_any_hit_is_vacuous_with_advice(world: "World") -> None:
    world.settings["warm"]["block_size"] = 64
    for index, record in enumerate(world.requests["warm"]):
        whole = slices((index, 0, record.prompt_tokens))
        world.change_record("warm", index, cached_tokens=0, slices=whole)
    result = world.judge("prefix_cache", "warm")
    assert result.verdict is Verdict.VACUOUS
    assert proof(world, "warm", "cached_tokens").holds
    assert "use prompts longer than a block of 64 tokens" in result.message


def test_a_chunked_trace_whose_rows_know_no_edge_is_vacuous(world: "World") -> None:
    for row in world.rows["chunked@7"]:
        row.update(chunk=0, edge_distance=None)
    result = world.judge("chunked_prefill", "chunked@7")
    assert result.verdict is Verdict.VACUOUS
    assert "no position after a chunk edge was compared" in result.message


def test_a_profile_whose_limits_reach_no_metric_is_vacuous(world: "World") -> None:
    limits = {"bfloat16": {"cut.max": {"limit": 1.0, "origin": "made"}}}
    world.profile = Profile.model_validate({**world.profile.model_dump(), "limits": limits})
    result = world.judge("chunked_prefill", "chunked@7")
    assert result.verdict is Verdict.VACUOUS
    assert result.message == "no limit of the profile is about any metric here"


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (Status.CRASHED, Verdict.FAIL),
        (Status.TIMED_OUT, Verdict.FAIL),
        (Status.UNSUPPORTED, Verdict.UNSUPPORTED),
        (Status.NOT_RUN, Verdict.VACUOUS),
        (Status.ERROR, Verdict.ERROR),
    ],
)
def test_the_end_of_a_scenario_is_its_verdict(
    world: "World", status: Status, verdict: Verdict
) -> None:
    world.end("chunked@7", status, "SIGSEGV in step 3")
    for check in ("chunked_prefill", "logprobs_close"):
        result = world.judge(check, "chunked@7")
        assert (result.verdict, result.message) == (
            verdict,
            f"chunked@7 {status}: SIGSEGV in step 3",
        )


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (Status.CRASHED, Verdict.ERROR),
        (Status.TIMED_OUT, Verdict.ERROR),
        (Status.UNSUPPORTED, Verdict.UNSUPPORTED),
    ],
)
def test_the_end_of_the_reference_is_no_fault_of_the_scenario(
    world: "World", status: Status, verdict: Verdict
) -> None:
    world.end("full", status, "no kernel")
    result = world.judge("chunked_prefill", "chunked@7")
    assert result.verdict is verdict
    assert "the reference full" in result.message


def test_not_run_since_the_reference_is_unsupported_is_unsupported(world: "World") -> None:
    world.end("full", Status.UNSUPPORTED)
    world.end("chunked@7", Status.NOT_RUN)
    assert world.judge("chunked_prefill", "chunked@7").verdict is Verdict.UNSUPPORTED


def test_a_scenario_without_outcome_is_vacuous(world: "World") -> None:
    del world.outcomes["warm"]
    assert world.judge("prefix_cache", "warm").verdict is Verdict.VACUOUS


def test_a_check_without_any_scenario_is_vacuous(world: "World") -> None:
    world.plan = world.plan.model_copy(update={"engines": world.plan.engines[:1]})
    result = world.judge("prefix_cache", "cold, warm")
    assert result.verdict is Verdict.VACUOUS


def test_legs_that_were_not_planned_are_vacuous(world: "World") -> None:
    engine = world.plan.engines[0]
    chunked = engine.scenarios[1].model_copy(update={"legs": (Leg.DECODE,)})
    engine = engine.model_copy(update={"scenarios": (engine.scenarios[0], chunked)})
    world.plan = world.plan.model_copy(update={"engines": (engine, world.plan.engines[1])})
    world.requests["chunked@7"] = world.requests["chunked@7"][:3]
    assert world.judge("logprobs_close", "chunked@7").verdict is Verdict.VACUOUS
    assert world.judge("chunked_prefill", "chunked@7").verdict is Verdict.PASS


def with_fault(world: "World", fired: int) -> None:
    engines = [
        engine.model_copy(
            update={
                "scenarios": tuple(
                    s.model_copy(update={"faults": ("some_fault",)}) if s.name == "chunked@7" else s
                    for s in engine.scenarios
                )
            }
        )
        for engine in world.plan.engines
    ]
    world.plan = world.plan.model_copy(update={"engines": tuple(engines)})
    world.settings["chunked@7"]["faults"] = {"some_fault": fired}


def test_a_fault_that_never_fired_is_no_pass(world: "World") -> None:
    with_fault(world, fired=0)
    result = world.judge("chunked_prefill", "chunked@7")
    assert result.verdict is Verdict.VACUOUS and "some_fault 0 times" in result.message


def test_a_fault_that_fired_and_shows_nothing_passes(world: "World") -> None:
    with_fault(world, fired=3)
    assert world.judge("chunked_prefill", "chunked@7").verdict is Verdict.PASS


def test_a_reference_without_any_number_is_an_error(world: "World") -> None:
    for row in world.rows["full"]:
        if row["leg"] == "prompt":
            row["logprob"] = float("nan")
    result = world.judge("chunked_prefill", "chunked@7")
    assert result.verdict is Verdict.ERROR and "no finite log-probability" in result.message
