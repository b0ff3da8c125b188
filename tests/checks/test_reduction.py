"""The reducer against engines that fail in known ways."""

from collections.abc import Callable

import pytest

from linattn_verify.checks.reduction import STEPS, Case, OutOfTime, Reduction, Task, reduce

LENGTHS = (203, 811, 97, 544)
WHOLE = Case(prompts=(0, 1, 2, 3), length=811, budget=128)


def task(
    suspects: tuple[int, ...] = (1,), budgets: bool = True, stride: int = 1, case: Case = WHOLE
) -> Task:
    return Task(case, LENGTHS, suspects, budgets, stride)


def last(given: Task, fails: Callable[[Case], bool]) -> Reduction:
    return list(reduce(given, fails))[-1]


def longest(case: Case) -> int:
    return min(case.length, max(LENGTHS[p] for p in case.prompts))


def lost_at_edges(case: Case) -> bool:
    return longest(case) > case.budget


def test_a_state_lost_at_every_edge_takes_one_prompt_a_token_longer_than_a_step() -> None:
    found = last(task(), lost_at_edges)
    assert found.smallest == Case(prompts=(1,), length=17, budget=16)
    assert (found.alone, found.reproduced, found.finished) == (True, True, True)
    assert (found.largest_budget, found.passing_budget) == (810, None)


def test_the_largest_failing_budget_is_bracketed() -> None:
    found = last(task(), lambda case: lost_at_edges(case) and case.budget <= 300)
    assert found.largest_budget is not None and found.passing_budget is not None
    assert found.largest_budget <= 300 < found.passing_budget
    assert found.passing_budget - found.largest_budget <= found.largest_budget // 16 + 1


def test_budgets_that_no_longer_fail_are_not_kept() -> None:
    found = last(task(), lambda case: lost_at_edges(case) and case.budget >= 100)
    assert found.smallest == Case(prompts=(1,), length=129, budget=128)


def test_steps_get_smaller_where_prompts_cannot_be_halved() -> None:
    found = last(task(), lambda case: lost_at_edges(case) and longest(case) >= 700)
    assert found.smallest == Case(prompts=(1,), length=700, budget=16)


def test_a_fault_of_batches_keeps_two_prompts() -> None:
    found = last(task(), lambda case: {0, 3} <= set(case.prompts) and lost_at_edges(case))
    assert found.smallest.prompts == (0, 3)
    assert found.alone is False


def test_a_batch_that_needs_everybody_is_kept_whole() -> None:
    found = last(task(budgets=False), lambda case: len(case.prompts) == 4)
    assert found.smallest.prompts == (0, 1, 2, 3)
    assert found.smallest.length == 1 and found.largest_budget is None


def test_another_prompt_than_the_suspect_is_found() -> None:
    found = last(task(suspects=(2,)), lambda case: 3 in case.prompts and lost_at_edges(case))
    assert found.smallest.prompts == (3,) and found.alone is True


def test_prompts_are_shortened_by_whole_blocks_so_that_what_is_left_over_stays() -> None:
    """Fails with exactly one token after a block of 128: 769 of 811, then 641, … 129."""
    case = Case(prompts=(1,), length=769, budget=2048)
    found = last(
        task(budgets=False, stride=128, case=case),
        lambda case: longest(case) % 128 == 1 and longest(case) > 128,
    )
    assert found.smallest.length == 129


def test_a_case_that_passes_by_itself_is_left_whole() -> None:
    found = last(task(), lambda case: False)
    assert found.smallest == WHOLE
    assert found.reproduced is False and found.finished and found.trials == 1


def test_what_was_found_when_time_is_up_is_kept() -> None:
    trials = 0

    def fails(case: Case) -> bool:
        nonlocal trials
        trials += 1
        if trials == 4:
            raise OutOfTime
        return lost_at_edges(case)

    found = last(task(), fails)
    assert found.smallest.prompts == (1,)
    assert found.trials == 3 and found.ended and not found.finished


def test_every_step_yields_and_no_case_is_tried_twice() -> None:
    tried: list[Case] = []

    def fails(case: Case) -> bool:
        tried.append(case)
        return lost_at_edges(case)

    every = list(reduce(task(), fails))
    assert len(every) == len(STEPS) and [r.trials for r in every] == sorted(r.trials for r in every)
    assert len(tried) == len(set(tried)) == every[-1].trials <= 15


def test_a_case_without_a_prompt_is_an_error() -> None:
    with pytest.raises(ValueError, match="prompt"):
        next(reduce(task(case=Case((), 811, 128)), lost_at_edges))
