"""Tasks that kill their process, hang or raise, and the ones beside them."""

import os
import signal
import time
from collections.abc import Callable

import pytest

from linattn_verify.engine.death import death
from linattn_verify.engine.kernels.isolation import Event, Task, isolated

Strike = Callable[[], None]


def value(result: object) -> Task:
    return lambda strike: result


def dies(strike: Strike) -> None:
    strike()
    os.kill(os.getpid(), signal.SIGSEGV)


def hangs(strike: Strike) -> None:
    time.sleep(60)


def exits(strike: Strike) -> None:
    os._exit(3)


def raises(strike: Strike) -> None:
    raise RuntimeError("made up")


def strikes(strike: Strike) -> str:
    strike()
    strike()
    return "struck"


def run(*tasks: Task, timeout: float = 30.0) -> list[Event]:
    events: list[Event] = []
    isolated(tasks, timeout, events.append)
    assert [e.index for e in events] == list(range(len(tasks)))
    return events


def test_results_arrive_in_order_from_another_process() -> None:
    events = run(value({"a": 1}), lambda strike: os.getpid(), value(None))
    assert [events[0].result, events[2].result] == [{"a": 1}, None]
    assert events[1].result != os.getpid()
    assert not any(e.death or e.timed_out for e in events)


def test_a_task_that_dies_of_a_signal_is_named_and_the_others_are_done() -> None:
    events = run(value(1), dies, value(2), dies, value(3))
    assert [e.death for e in events] == ["", "signal SIGSEGV", "", "signal SIGSEGV", ""]
    assert [e.result for e in events] == [1, None, 2, None, 3]


def test_strikes_are_counted_by_task_even_if_it_died_of_one() -> None:
    events = run(strikes, value(1), dies, strikes)
    assert [e.strikes for e in events] == [2, 0, 1, 2]


def test_a_task_that_hangs_is_ended_and_the_next_one_is_done() -> None:
    began = time.monotonic()
    events = run(value(1), hangs, value(2), timeout=0.5)
    assert [e.timed_out for e in events] == [False, True, False]
    assert [e.result for e in events] == [1, None, 2]
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(("task", "code"), [(exits, "exit code 3"), (raises, "exit code 1")])
def test_a_task_that_ends_its_process_is_told_by_its_exit_code(task: Task, code: str) -> None:
    events = run(task, value(2))
    assert [(e.death, e.result) for e in events] == [(code, None), ("", 2)]


def test_large_results_arrive_whole() -> None:
    (event,) = run(value("x" * 1_000_001))
    assert len(event.result) == 1_000_001


def test_a_death_is_told_in_words() -> None:
    assert [death(c) for c in (2, -11, -6, -250)] == [
        *("exit code 2", "signal SIGSEGV", "signal SIGABRT", "signal 250")
    ]
