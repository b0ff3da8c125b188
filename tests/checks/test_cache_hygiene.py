"""The same on NaN as on zeros, bit for bit, and the proof that it was NaN."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from linattn_verify.checks.cache_hygiene import cache_hygiene
from linattn_verify.checks.registry import checks_named
from linattn_verify.checks.result import CheckResult, Verdict
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Memory
from linattn_verify.traces.outcome import Status
from linattn_verify.traces.schema import Filled
from linattn_verify.traces.states import Part
from tests.checks.aside_world import TENSORS, AsideWorld

if TYPE_CHECKING:
    from tests.checks.world import World

# Prompts of 17, 23 and 15 tokens: 16 + 22 + 14 predicted tokens, and 5 decoded ones each.
ROWS = 52 + 15
UP = float(np.nextafter(np.float32(-1.0), np.float32(0)))
"""-1 with its last bit changed."""


def judged(world: AsideWorld, scenario: str) -> CheckResult:
    return world.judge("cache_hygiene", scenario)


def test_the_same_rows_on_nan_pass_and_are_counted(whole: AsideWorld) -> None:
    result = judged(whole, "chunked@7-nan")
    assert (result.verdict, result.reference) == (Verdict.PASS, "chunked@7")
    assert result.message == "67 rows the same, bit for bit"
    assert result.metrics == {"rows_differing": 0.0, "non_finite": 0.0}
    assert {n: (o.limit, o.holds) for n, o in result.limits.items()} == dict.fromkeys(
        result.metrics, (0.0, True)
    )
    assert result.counts == {
        "rows_compared": ROWS,
        "blocks_in_the_pool": 64,
        "blocks_handed_out": 9,
    }


def test_every_leg_of_the_reference_is_compared(whole: AsideWorld) -> None:
    """Its twin repeats its one pass, whose output is two legs."""
    assert judged(whole, "full-nan").counts["rows_compared"] == ROWS + 15


def test_a_small_pool_says_how_often_its_blocks_were_handed_out(whole: AsideWorld) -> None:
    result = judged(whole, "cold-tight-nan")
    assert result.verdict is Verdict.PASS
    assert result.message.endswith("; 13 blocks handed out from 11")


def test_nan_fails_and_names_the_first_place_and_the_kind_of_block(whole: AsideWorld) -> None:
    for request, position in ((1, 16), (1, 20), (2, 9)):
        whole.row("chunked@7-nan", Leg.PROMPT, request, position)["logprob"] = math.nan
    whole.settings["chunked@7-nan"]["suspects"] = (Part.CONVOLUTION,)
    result = judged(whole, "chunked@7-nan")
    assert result.verdict is Verdict.FAIL
    # Position 16 is computed from token 15, in the chunk of tokens 14 to 20.
    assert result.message == (
        "NaN first at prompt leg, beta position 16 (chunk 2); 3 of 67 rows differ, 3 hold NaN; "
        "convolution blocks are read before they are written"
    )
    assert result.metrics == {"rows_differing": 3.0, "non_finite": 3.0}
    assert [o.holds for o in result.limits.values()] == [False, False]


def test_one_bit_fails_and_shows(whole: AsideWorld) -> None:
    whole.row("full-nan", Leg.DECODE, 0, 18)["logprob"] = UP
    result = judged(whole, "full-nan")
    assert result.verdict is Verdict.FAIL
    assert result.message == (
        "-0.99999994 in place of -1 first at decode leg, alpha position 18 (chunk 1); 1 of 82 rows "
        "differ, 0 hold NaN; no kind of block alone is read before it is written"
    )


@pytest.mark.parametrize(
    ("twin", "asked"),
    [("full-nan", "full-nan"), ("warm-nan", "cold-nan"), ("warm-nan", "warm-nan")],
)
def test_an_engine_that_never_repeats_itself_is_not_to_blame(
    whole: AsideWorld, twin: str, asked: str
) -> None:
    whole.shift(twin, Leg.PROMPT, 1, 22, 0.5)
    whole.settings[asked]["repeats"] = False
    result = judged(whole, twin)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "does not repeat itself" in result.message


def test_nan_is_to_blame_whether_or_not_the_engine_repeats_itself(whole: AsideWorld) -> None:
    whole.row("full-nan", Leg.PROMPT, 1, 11)["logprob"] = math.nan
    whole.settings["full-nan"]["repeats"] = False
    assert judged(whole, "full-nan").verdict is Verdict.FAIL


@pytest.mark.parametrize("repeats", [True, None])
def test_an_engine_that_repeats_itself_fails(whole: AsideWorld, repeats: bool | None) -> None:
    whole.shift("full-nan", Leg.PROMPT, 1, 11, 0.5)
    whole.settings["full-nan"]["repeats"] = repeats
    assert judged(whole, "full-nan").verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("linear_attention", "shows", "verdict"),
    [
        (False, False, Verdict.PASS),
        (False, True, Verdict.FAIL),
        (True, False, Verdict.FAIL),
        (None, False, Verdict.FAIL),
        (False, None, Verdict.FAIL),
    ],
)
@pytest.mark.parametrize(("twin", "asked"), [("full-nan", "full-nan"), ("warm-nan", "cold-nan")])
def test_nan_without_weight_is_excused_only_where_no_state_shares_the_blocks(
    whole: AsideWorld,
    twin: str,
    asked: str,
    linear_attention: bool | None,
    shows: bool | None,
    verdict: Verdict,
) -> None:
    """A block of a hybrid may hold a state's bytes, of which some read as NaN."""
    whole.row(twin, Leg.PROMPT, 1, 22)["logprob"] = math.nan
    whole.settings[asked]["finite_shows"] = shows
    evidence = replace(whole.evidence(), linear_attention=linear_attention)
    (result,) = [r for r in cache_hygiene(evidence) if r.scenario == twin]
    assert result.verdict is verdict
    assert ("finite numbers in none" in result.message) is (verdict is Verdict.PASS)


def test_several_kinds_of_block_are_named(whole: AsideWorld) -> None:
    whole.shift("full-nan", Leg.PROMPT, 0, 3, 0.5)
    whole.settings["full-nan"]["suspects"] = (Part.ATTENTION, Part.RECURRENT)
    message = judged(whole, "full-nan").message
    assert message.endswith("; attention and recurrent blocks are read before they are written")


def test_other_alternatives_beside_the_same_number_are_told(whole: AsideWorld) -> None:
    whole.row("full-nan", Leg.PROMPT, 2, 3)["top_logprobs"] = [-1.0, -2.0, -3.5]
    result = judged(whole, "full-nan")
    assert result.verdict is Verdict.FAIL
    assert result.message.startswith(
        "another token, rank or alternative first at prompt leg, gamma"
    )


def test_a_missing_row_is_no_nan(whole: AsideWorld) -> None:
    whole.drop("full-nan", Leg.PROMPT, 2, 3)
    result = judged(whole, "full-nan")
    assert result.verdict is Verdict.FAIL
    assert result.message.startswith("nothing first at prompt leg, gamma position 3")


def test_a_row_that_the_reference_has_not_is_told(whole: AsideWorld) -> None:
    whole.drop("full", Leg.FREE, 1, 24)
    assert "-1 in place of nothing first at free leg" in judged(whole, "full-nan").message


def test_what_goes_on_in_a_cache_made_on_nan_says_so(whole: AsideWorld) -> None:
    whole.shift("warm-nan", Leg.PROMPT, 1, 22, 0.5)
    assert judged(whole, "warm-nan").message.endswith(
        "; the states saved by cold-nan were made on NaN"
    )


@pytest.mark.parametrize("value", [math.nan, -math.inf], ids=["nan", "infinity"])
def test_nan_on_both_sides_fails(whole: AsideWorld, value: float) -> None:
    for name in ("full", "full-nan"):
        whole.row(name, Leg.PROMPT, 1, 11)["logprob"] = value
    result = judged(whole, "full-nan")
    assert result.verdict is Verdict.FAIL
    assert result.message == "NaN or infinity at 1 positions, on zeroed memory too"


def filled(content: Memory = Memory.NAN, bytes: int = 99, **poisoned: int) -> Filled:
    return Filled(content=content, bytes=bytes, tensors=TENSORS, poisoned={**TENSORS, **poisoned})


ZEROS = dict.fromkeys(TENSORS, 0)
UNPROVEN: dict[str, tuple[str, str, Filled | None, str]] = {
    "zeros": ("full-nan", "full-nan", filled(Memory.ZERO, **ZEROS), "NaN in none in tensors"),
    "not-every-tensor": (
        *("full-nan", "full-nan", filled(recurrent=1)),
        "NaN in {'attention': 1, 'convolution': 2, 'recurrent': 1} in tensors: 1 attention, "
        "2 convolution, 2 recurrent",
    ),
    "no-byte": ("full-nan", "full-nan", filled(bytes=0), "0 MiB"),
    "said-to-be-zeros": ("full-nan", "full-nan", filled(Memory.ZERO), "NaN in {'attention'"),
    "nothing-filled": ("full-nan", "full-nan", None, "nothing filled"),
    "the-reference-on-nan": ("full-nan", "full", filled(), "expected zeros in every cache tensor"),
    "the-reference-on-anything": ("full-nan", "full", None, "nothing filled"),
    "the-cold-twin": ("warm-nan", "cold-nan", None, "nothing filled"),
}


@pytest.mark.parametrize(("judge", "bent", "what", "part"), UNPROVEN.values(), ids=UNPROVEN.keys())
def test_memory_that_is_not_proven_is_vacuous(
    whole: AsideWorld, judge: str, bent: str, what: Filled | None, part: str
) -> None:
    whole.settings[bent]["filled"] = what
    result = judged(whole, judge)
    assert result.verdict is Verdict.VACUOUS
    assert result.message.startswith(f"{bent}: proof memory does not hold: ")
    assert part in result.message


@pytest.mark.parametrize(("handed_out", "pool"), [(11, 11), (9, 11), (5, 0)])
@pytest.mark.parametrize("bent", ["cold-tight", "cold-tight-nan"])
def test_a_pool_that_was_not_exceeded_is_vacuous(
    whole: AsideWorld, bent: str, handed_out: int, pool: int
) -> None:
    whole.settings[bent].update(allocated_blocks=handed_out, pool_blocks=pool)
    result = judged(whole, "cold-tight-nan")
    assert result.verdict is Verdict.VACUOUS
    assert "more blocks handed out than the pool has" in result.message
    assert f"{handed_out} handed out, {pool} in the pool" in result.message


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
def test_the_end_of_a_twin_is_its_verdict(
    whole: AsideWorld, status: Status, verdict: Verdict
) -> None:
    whole.end("chunked@7-nan", status, "SIGSEGV")
    result = judged(whole, "chunked@7-nan")
    assert (result.verdict, result.message) == (verdict, f"chunked@7-nan {status}: SIGSEGV")


@pytest.mark.parametrize("status", [Status.CRASHED, Status.ERROR])
def test_a_warm_twin_whose_cold_twin_left_no_trace_is_vacuous_and_the_others_are_judged(
    whole: AsideWorld, status: Status
) -> None:
    whole.end("cold-nan", status, "it cannot be read")
    result = judged(whole, "warm-nan")
    assert (result.verdict, result.message) == (
        Verdict.VACUOUS,
        f"cold-nan {status}: it cannot be read",
    )
    assert judged(whole, "full-nan").verdict is Verdict.PASS


def test_a_twin_of_a_scenario_that_crashed_says_nothing(whole: AsideWorld) -> None:
    whole.end("chunked@7", Status.CRASHED, "SIGSEGV")
    whole.end("chunked@7-nan", Status.NOT_RUN)
    assert judged(whole, "chunked@7-nan").verdict is Verdict.VACUOUS


def test_a_request_that_the_twin_did_not_serve_is_vacuous(whole: AsideWorld) -> None:
    del whole.requests["cold-nan"][1]
    result = judged(whole, "cold-nan")
    assert result.verdict is Verdict.VACUOUS and "beta 0 times" in result.message


def test_no_twin_is_vacuous(world: "World") -> None:
    result = world.judge("cache_hygiene", "every scenario")
    assert (result.verdict, result.reference) == (Verdict.VACUOUS, None)


def test_a_trace_without_rows_is_vacuous(whole: AsideWorld) -> None:
    for name in ("full", "full-nan"):
        whole.rows[name] = []
    result = judged(whole, "full-nan")
    assert (result.verdict, result.message) == (
        Verdict.VACUOUS,
        "nothing was compared in: prompt, decode, free",
    )


def test_a_leg_that_the_twin_has_not_is_not_passed_over(whole: AsideWorld) -> None:
    kept = [row for row in whole.rows["chunked@7-nan"] if row["leg"] != "decode"]
    whole.rows["chunked@7-nan"] = kept
    result = judged(whole, "chunked@7-nan")
    assert (result.verdict, result.message) == (
        Verdict.VACUOUS,
        "nothing was compared in: decode",
    )


def verdicts(world: AsideWorld, check: str) -> dict[str, Verdict]:
    (spec,) = checks_named([check])
    return {r.scenario: r.verdict for r in spec.run(world.evidence())}


EXPECTED: dict[str, list[str]] = {
    "chunked_prefill": ["chunked@7"],
    "prefix_cache": ["cold", "warm", "warm-2"],
    "logprobs_close": ["chunked@7", "cold", "warm", "warm-2"],
    "state_equivalence": ["full", "chunked@7", "cold", "warm", "warm-2"],
    "cache_hygiene": [
        *("full-nan", "chunked@7-nan", "chunked@7-tight-nan"),
        *("cold-nan", "warm-nan", "cold-tight-nan"),
    ],
}


@pytest.mark.parametrize("check", EXPECTED)
def test_every_check_keeps_to_its_own_scenarios(whole: AsideWorld, check: str) -> None:
    """Whatever twins, tight ones and prefixes hold, the checks of outputs do not look at it."""
    if check not in ("state_equivalence", "cache_hygiene"):
        for scenario in whole.plan.scenarios():
            if scenario.aside:
                for row in whole.rows[scenario.name]:
                    row["logprob"] = math.nan
    assert verdicts(whole, check) == dict.fromkeys(EXPECTED[check], Verdict.PASS)


def test_without_every_there_is_no_twin_of_a_budget() -> None:
    assert list(verdicts(AsideWorld(every=False), "cache_hygiene")) == [
        *("full-nan", "chunked@7-tight-nan", "cold-nan", "warm-nan", "cold-tight-nan"),
    ]
