"""Which limit governs a metric."""

import pytest

from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.metrics import (
    CONTRASTS,
    DISTANCE_BINS,
    Segment,
    check_key,
    most_specific,
)

METRIC = "prompt.edge+1..3.max"
LIMITS = [METRIC, "prompt.max", "edge+1..3.max", "max"]
STRANGERS = ["decode.max", "edge+0.max", "mean", "decode.edge+1..3.max", "prompt.later.max"]


@pytest.mark.parametrize("left", range(len(LIMITS)), ids=LIMITS)
def test_the_most_specific_limit_that_is_there_governs(left: int) -> None:
    limits = dict.fromkeys([*STRANGERS, *reversed(LIMITS[left:])])
    assert most_specific(limits, METRIC) == LIMITS[left]


def test_a_limit_of_another_leg_segment_or_statistic_does_not_govern() -> None:
    assert most_specific(dict.fromkeys(STRANGERS), METRIC) is None


def test_a_segment_without_dots() -> None:
    assert most_specific({"later.mean": 1, "mean": 2}, "cut.later.mean") == "later.mean"
    assert most_specific({"later.mean": 1, "mean": 2}, "cut.first.mean") == "mean"


def test_the_distance_bins_leave_no_gap_and_do_not_overlap() -> None:
    bounds = list(DISTANCE_BINS.values())
    assert bounds[0][0] == 0
    assert bounds[-1][1] is None
    assert [end for _, end in bounds[:-1]] == [start for start, _ in bounds[1:]]


def test_every_edge_segment_has_a_bin() -> None:
    assert set(DISTANCE_BINS) == {s for s in Segment if s.value.startswith("edge")}


@pytest.mark.parametrize("metric", CONTRASTS)
def test_a_contrast_is_governed_by_its_own_name_alone(metric: str) -> None:
    check_key(metric)
    assert most_specific({metric: 1, "mean": 2, "first": 3}, metric) == metric
    assert most_specific({"mean": 2, "first": 3}, metric) is None


def test_a_contrast_that_is_none_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"contrast\.later"):
        check_key("contrast.latter")
