"""A task's scenario that did not do what its name says is VACUOUS; questions that it did not
happen to are left out and counted."""

from typing import Any

import pytest

from linattn_verify.checks.proofs import prove
from linattn_verify.checks.result import Proof, Verdict
from linattn_verify.configs.plan import Plan
from linattn_verify.traces.schema import Slice
from tests.checks.task_world import TaskWorld


def proof(tasks: TaskWorld, scenario: str, name: str) -> Proof:
    (found,) = [p for p in prove(tasks.evidence())[f"gsm8k/{scenario}"] if p.name == name]
    return found


def whole(tokens: int, cached: int = 0) -> dict[str, Any]:
    """A prompt computed in one step from `cached` on."""
    part = Slice(step=0, start=cached, tokens=tokens - cached)
    return {"cached_tokens": cached, "slices": (part,)}


def short(tasks: TaskWorld, requests: range) -> None:
    """Prompts of 5 tokens, which no budget of 7 cuts by itself."""
    for request in requests:
        tasks.change_record("chunked@7", request, prompt_tokens=5, **whole(5))


def test_every_proof_of_a_clean_run_holds(tasks: TaskWorld) -> None:
    proofs = prove(tasks.evidence())
    assert [p for some in proofs.values() for p in some if not p.holds] == []
    observed = {name: {p.name: p.observed for p in some} for name, some in proofs.items()}
    assert observed["gsm8k/full"]["one_prefill_step"] == "41 of 41 prompts in one step"
    assert observed["gsm8k/chunked@7"]["prefill_steps"] == "41 of 41 prompts cut"
    assert observed["gsm8k/chunked@7"]["requests_served"] == "41 of 41 requests"
    assert observed["gsm8k/warm"]["some_hit"] == "41 of 41 requests"


CASES: list[tuple[str, str, dict[str, Any], str]] = [
    ("cold", "cached_tokens", whole(23, 8), "40 of 41; request 1 ({}): 8 cached, expected 0"),
    ("warm", "cached_tokens", whole(23), "40 of 41; request 1 ({}): 0 cached, expected 16; if "
        "the pool of 64 blocks is too small for all requests, raise kv_cache_gib in a profile or "
        "ask fewer (--limit)"),
    ("chunked@7", "prefill_steps", whole(23), "40 of 41 prompts cut; request 1 ({}) in one step"),
    ("chunked@7", "cached_tokens", whole(23, 8), "40 of 41; request 1 ({}): 8 cached, expected 0"),
    ("full", "one_prefill_step", {"slices": (Slice(step=0, start=0, tokens=16),
        Slice(step=1, start=16, tokens=7))}, "40 of 41; request 1 ({}): 2 steps [16, 7]"),
    ("cold", "prompt_covered", {"slices": (Slice(step=0, start=0, tokens=22),)},
        "40 of 41; request 1 ({}): computed up to 22"),
    ("warm", "requests_served", {"request": 2}, "39 of 41 requests; request 1 0 times in the "
        "answer pass"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("scenario", "name", "fields", "observed"),
    CASES,
    ids=[
        *("cold with a hit", "warm without", "not cut", "chunked with a hit", "full in two steps"),
        *("short of the end", "never served"),
    ],
)
def test_a_proof_that_does_not_hold_is_vacuous(
    tasks: TaskWorld, scenario: str, name: str, fields: dict[str, Any], observed: str
) -> None:
    tasks.change_record(scenario, 1, **fields)
    found = proof(tasks, scenario, name)
    assert (found.holds, found.observed) == (False, observed.format("23 tokens, answer pass"))
    result = tasks.judge(scenario)
    assert result.verdict is Verdict.VACUOUS
    assert result.message.startswith(f"gsm8k/{scenario}: proof ")
    assert result.scores == ()


def test_a_reference_that_is_not_proven_leaves_nothing_to_judge(tasks: TaskWorld) -> None:
    tasks.change_record("full", 1, **whole(23, 8))
    for scenario in ("full", "chunked@7", "cold", "warm"):
        result = tasks.judge(scenario)
        assert result.verdict is Verdict.VACUOUS
        assert result.message.startswith("gsm8k/full: proof cached_tokens does not hold")


@pytest.mark.parametrize(
    ("scenario", "setting", "value", "name"),
    [
        ("chunked@7", "largest_step", 8, "step_tokens"),
        ("chunked@7", "largest_step", 0, "step_tokens"),
        ("chunked@7", "budget", 64, "scheduler_budget"),
        ("chunked@7", "prefix_caching", True, "prefix_caching"),
        ("warm", "prefix_caching", False, "prefix_caching"),
        ("warm", "block_size", 5, "cached_tokens"),
    ],
)
def test_engine_settings_are_proven(
    tasks: TaskWorld, scenario: str, setting: str, value: Any, name: str
) -> None:
    tasks.settings[f"gsm8k/{scenario}"][setting] = value
    assert not proof(tasks, scenario, name).holds
    assert tasks.judge(scenario).verdict is Verdict.VACUOUS


@pytest.mark.parametrize(("fired", "verdict"), [(0, Verdict.VACUOUS), (3, Verdict.PASS)])
def test_an_injected_fault_has_to_fire(tasks: TaskWorld, fired: int, verdict: Verdict) -> None:
    plain, cache = tasks.plan.engines
    faulty = plain.scenarios[1].model_copy(update={"faults": ("some_fault",)})
    plain = plain.model_copy(update={"scenarios": (plain.scenarios[0], faulty)})
    tasks.plan = Plan(engines=(plain, cache))
    tasks.settings["gsm8k/chunked@7"]["faults"] = {"some_fault": fired}
    result = tasks.judge()
    assert result.verdict is verdict
    assert ("some_fault 0 times" in result.message) is (fired == 0)


def test_questions_whose_prompt_was_not_cut_are_left_out_and_counted(tasks: TaskWorld) -> None:
    """Wrong answers to them are none of chunked prefill's doing."""
    short(tasks, range(4))
    tasks.mark("chunked@7", range(4), right=False)
    tasks.mark("chunked@7", [7], right=False)
    result = tasks.judge()
    assert result.counts["questions_left_out_short"] == 4
    assert (result.counts["questions"], result.counts["questions_compared"]) == (41, 37)
    strict = result.scores[0]
    assert strict.questions == 37
    # of the 37 right ones 4 are left out; of the 33 others one is lost
    assert (strict.score, strict.reference_score) == pytest.approx((32 / 37, 33 / 37))
    assert strict.paired is not None and strict.paired.lost == 1
    assert [f.question for f in result.flips] == [7, 7]


def test_a_short_prompt_that_shares_its_steps_and_is_cut_counts(tasks: TaskWorld) -> None:
    short(tasks, range(4))
    parts = (Slice(step=0, start=0, tokens=2), Slice(step=1, start=2, tokens=3))
    tasks.change_record("chunked@7", 2, slices=parts)
    result = tasks.judge()
    assert proof(tasks, "chunked@7", "prefill_steps").observed == "38 of 41 prompts cut"
    assert result.counts["questions_left_out_short"] == 3


def test_questions_that_found_nothing_in_the_cache_are_left_out_and_counted(
    tasks: TaskWorld,
) -> None:
    for request in range(3):
        tasks.change_record("warm", request, prompt_tokens=8, **whole(8))  # below a block
    tasks.mark("warm", range(3), right=False)
    result = tasks.judge("warm")
    assert result.verdict is Verdict.PASS
    assert result.counts["questions_left_out_uncached"] == 3
    assert result.scores[0].questions == 38
    assert result.flips == ()


def test_prompts_that_are_all_too_short_are_vacuous_with_advice(tasks: TaskWorld) -> None:
    short(tasks, range(41))
    result = tasks.judge()
    assert result.verdict is Verdict.VACUOUS
    assert result.message == (
        "gsm8k/chunked@7: proof prefill_steps does not hold: expected every prompt above 7 tokens "
        "cut, and at least one prompt, observed 0 of 41 prompts cut: more examples "
        "(--num-fewshot) make longer prompts"
    )


def test_a_task_whose_requests_nobody_counted_is_not_proven(tasks: TaskWorld) -> None:
    evidence = tasks.evidence()
    evidence.task_requests.clear()
    held = {p.name: p.holds for p in prove(evidence)["gsm8k/full"]}
    assert not held["requests_served"]
