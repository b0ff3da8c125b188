"""What must be proven of prefixes, of filled memory and of small pools."""

import pytest

from linattn_verify.checks.proofs import prove
from linattn_verify.checks.result import Proof
from linattn_verify.traces.schema import Slice
from tests.checks.aside_world import AsideWorld


def proofs(world: AsideWorld, scenario: str) -> dict[str, Proof]:
    return {p.name: p for p in prove(world.evidence())[scenario]}


def test_every_proof_of_a_clean_run_holds(whole: AsideWorld) -> None:
    found = prove(whole.evidence())
    assert set(found) == {s.name for s in whole.plan.scenarios()}
    assert [p for some in found.values() for p in some if not p.holds] == []


def test_what_memory_held_is_said_with_its_size(whole: AsideWorld) -> None:
    zeros, nan = (proofs(whole, name)["memory"] for name in ("full", "full-nan"))
    tensors = "in tensors: 1 attention, 2 convolution, 2 recurrent; 3 MiB"
    assert (zeros.expected, zeros.observed) == ("zeros in every cache tensor", f"zeros {tensors}")
    assert (nan.expected, nan.observed) == ("NaN in every cache tensor", f"NaN {tensors}")


def test_memory_is_proven_where_it_was_filled_and_reuse_where_the_pool_is_small(
    whole: AsideWorld,
) -> None:
    found = {name: {p.name for p in some} for name, some in prove(whole.evidence()).items()}
    assert {n for n, some in found.items() if "memory" not in some} == {
        *("warm", "warm-2", "warm-nan"),
    }
    tight = {"chunked@7-tight", "chunked@7-tight-nan", "cold-tight", "cold-tight-nan"}
    assert {n for n, some in found.items() if "blocks_reused" in some} == tight
    assert {n for n, some in found.items() if "blocks_filled" in some} == {
        *tight,
        *("full-nan", "chunked@7-nan", "cold-nan"),
    }


@pytest.mark.parametrize(("filled", "of"), [(12, 13), (0, 13), (14, 13), (0, 0)])
def test_a_block_handed_out_as_it_was_left_proves_nothing(
    whole: AsideWorld, filled: int, of: int
) -> None:
    whole.settings["full-nan"].update(handed_out_blocks=filled, allocated_blocks=of)
    proof = proofs(whole, "full-nan")["blocks_filled"]
    assert (proof.expected, proof.observed, proof.holds) == (
        "NaN in every block as it is handed out",
        f"{filled} of {of} blocks",
        False,
    )


def test_of_prefixes_one_step_each_is_proven_and_not_every_prompt_once(
    whole: AsideWorld,
) -> None:
    assert set(proofs(whole, "prefixes")) == {
        *("one_prefill_step", "prefix_caching", "cached_tokens", "memory", "legs_served"),
        "prompt_covered",
    }


def test_a_prefix_in_two_steps_is_none_to_compare_with(whole: AsideWorld) -> None:
    # The first prefix is of 7 tokens, where a chunk of 7 ends.
    parts = (Slice(step=0, start=0, tokens=4), Slice(step=1, start=4, tokens=3))
    whole.change_record("prefixes", 0, slices=parts)
    proof = proofs(whole, "prefixes")["one_prefill_step"]
    assert not proof.holds
    assert "alpha (7 tokens, prefix pass): 2 steps [4, 3]" in proof.observed


def test_prefixes_that_were_not_served_prove_nothing(whole: AsideWorld) -> None:
    whole.requests["prefixes"] = []
    held = {name for name, proof in proofs(whole, "prefixes").items() if proof.holds}
    assert held == {"prefix_caching", "memory"}


def test_a_twin_that_was_not_served_whole_is_not_proven(whole: AsideWorld) -> None:
    del whole.requests["chunked@7-tight-nan"][2]
    proof = proofs(whole, "chunked@7-tight-nan")["requests_served"]
    assert (proof.holds, proof.observed) == (
        False,
        "2 of 3 requests; gamma 0 times in the decode pass",
    )
