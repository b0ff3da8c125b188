"""What rounding allows, and how far two results are apart."""

import math

import pytest
import torch

from linattn_verify.engine.kernels.tolerance import Tolerance, compared, untouched

FINE = Tolerance(torch.bfloat16, 2)


def test_a_limit_counts_roundings_and_terms() -> None:
    assert Tolerance(torch.bfloat16, 3).limit == 3 * 2**-8
    assert Tolerance(torch.float16, 2).limit == 2 * 2**-11
    assert Tolerance(torch.float32, 1, terms=129).limit == 130 * 2**-24
    assert Tolerance(torch.bfloat16, 0).limit == 0


def test_an_origin_says_what_was_counted() -> None:
    assert Tolerance(torch.bfloat16, 1, 5, "the output").origin == (
        "1 rounding to bfloat16 (the output), 5 terms in float32"
    )
    assert Tolerance(torch.float16, 2).origin == "2 roundings to float16"
    assert Tolerance(torch.float16, 0).origin == "an exact copy"


def test_the_worst_row_is_named_and_held_against_its_own_norm() -> None:
    exact = torch.tensor([[3.0, 4.0], [30.0, 40.0]])
    got = exact + torch.tensor([[0.0, 0.0], [0.0, 5.0]])
    found = compared("output", got, exact, FINE)
    # 5 of 50
    assert found.error is not None and math.isclose(found.error, 0.1)
    assert (found.holds, found.note) == (False, "row [1] of [2]")


def test_a_row_near_zero_is_held_against_the_others() -> None:
    exact = torch.tensor([[0.0], [4.0]])
    found = compared("output", exact + torch.tensor([[0.01], [0.0]]), exact, FINE)
    # root mean square of 0 and 4
    assert found.error is not None and math.isclose(found.error, 0.01 / math.sqrt(8), rel_tol=1e-6)


def test_one_lost_token_does_not_hide_among_many() -> None:
    exact = torch.ones(1000, 8)
    got = exact.clone()
    got[731] = 0
    found = compared("output", got, exact, FINE)
    assert (found.error, found.note) == (1.0, "row [731] of [1000]")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_never_holds_and_is_counted(value: float) -> None:
    exact = torch.ones(3, 2)
    got = exact.clone()
    got[1, 0] = value
    found = compared("state", got, exact, Tolerance(torch.bfloat16, 10**6))
    assert (found.error, found.holds) == (None, False)
    assert found.note == "1 of 6 values are not finite"


def test_nothing_compared_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing to compare"):
        compared("output", torch.empty(0, 4), torch.empty(0, 4), FINE)
    with pytest.raises(ValueError, match=r"shape \[2\] against \[3\]"):
        compared("output", torch.ones(2), torch.ones(3), FINE)


def test_untouched_memory_is_compared_bit_by_bit() -> None:
    before = torch.full((3, 5), torch.nan)
    assert untouched("slots", before, before.clone()).holds
    after = before.clone()
    after[2, 4] = 1.0
    found = untouched("slots", before, after)
    assert not found.holds and found.error == 2  # 7f c0 00 00 became 3f 80 00 00
