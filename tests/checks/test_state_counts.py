"""A report need not take a message apart to say how many states were found as they were left."""

import pandas as pd
import pytest

from linattn_verify.checks.state_equivalence import state_counts
from linattn_verify.checks.states import Carried, Equivalence


def counts(*found: tuple[bool, bool]) -> dict[str, int]:
    """Of states found by a step: whether it was restored, and whether it is the same."""
    between = pd.DataFrame(found, columns=["restored", "same"])
    compared = Equivalence(rows=pd.DataFrame({"error": [0.0] * 5}), unmatched=3, without_numbers=2)
    return state_counts(compared, Carried(rows=between, unmatched=1))


def test_states_are_counted_by_where_they_come_from_and_whether_they_changed() -> None:
    carried, restored = [(False, True)] * 4 + [(False, False)], [(True, True)] + [(True, False)] * 2
    assert counts(*carried, *restored) == {
        "states_compared": 5,
        "states_left_out_no_prefix": 3,
        "states_left_out_digest_only": 2,
        "states_found_by_a_step": 8,
        "states_found_unknown": 1,
        "states_carried": 5,
        "states_carried_changed": 1,
        "states_restored": 3,
        "states_restored_changed": 2,
    }


@pytest.mark.parametrize("found", [(), ((False, True),)])
def test_what_was_not_found_is_counted_as_none(found: tuple[tuple[bool, bool], ...]) -> None:
    made = counts(*found)
    assert made["states_carried"] == len(found)
    assert [made["states_restored"], made["states_restored_changed"]] == [0, 0]
