"""Requests go in as they may, and come out as they end: with an engine made of a few lines."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from linattn_verify.engine import drive as module
from linattn_verify.engine.drive import Job, drive
from linattn_verify.traces.schema import Slice


@dataclass
class Running:
    """A request: a prompt, then one token a step."""

    name: str
    prompt: int
    outputs: int
    computed: int = 0
    given: int = 0

    @property
    def wanted(self) -> int:
        return self.prompt + self.given - self.computed


@dataclass
class Made:
    """Engine and scheduler in one: a step computes up to `budget` tokens, first come first served,
    and a request whose tokens are all computed gives one more."""

    budget: int
    requests: dict[str, Running] = field(default_factory=dict)
    slices: dict[str, list[Slice]] = field(default_factory=dict)
    recorded_tokens: int = 0
    steps: list[dict[str, int]] = field(default_factory=list)
    """Tokens wanted by request, as each step began."""
    forgotten: int = 0

    def forget(self) -> None:
        self.forgotten += 1

    def wanted_tokens(self) -> int:
        return sum(r.wanted for r in self.requests.values())

    def add_request(self, name: str, prompt: dict[str, Any], sampling: int) -> str:
        inside = f"{name}-of-the-engine"
        self.requests[inside] = Running(name, len(prompt["prompt_token_ids"]), sampling)
        return inside

    def has_unfinished_requests(self) -> bool:
        return bool(self.requests)

    def step(self) -> list[SimpleNamespace]:
        assert self.requests, "a step with nothing to do, and then another, for ever"
        self.steps.append({r.name: r.wanted for r in self.requests.values()})
        room, outputs = self.budget, []
        for inside, one in list(self.requests.items()):
            tokens = min(one.wanted, room)
            if not tokens:
                continue
            piece = Slice(step=len(self.steps) - 1, start=one.computed, tokens=tokens)
            self.slices.setdefault(inside, []).append(piece)
            room, one.computed = room - tokens, one.computed + tokens
            if not one.wanted:
                one.given += 1
            if one.given == one.outputs:
                del self.requests[inside]
            finished = inside not in self.requests
            outputs.append(SimpleNamespace(request_id=one.name, finished=finished))
        self.recorded_tokens += self.budget - room
        return outputs


def jobs(*sizes: tuple[int, int]) -> list[Job]:
    """Of (prompt tokens, output tokens)."""
    return [Job({"prompt_token_ids": [7] * tokens}, outputs) for tokens, outputs in sizes]


def silent(done: int, total: int) -> None:
    pass


def served(
    made: Made, work: list[Job], whole: int | None = None, concurrency: int = 99
) -> Iterator[tuple[int, tuple[Any, list[Slice]]]]:
    return drive(made, made, work, whole, concurrency, 1000, silent)


def test_what_ends_first_is_yielded_first_under_its_own_index() -> None:
    made = Made(100)
    found = list(served(made, jobs((5, 3), (7, 1), (4, 2))))
    assert [index for index, _ in found] == [1, 2, 0]
    assert [output.request_id for _, (output, _) in found] == ["1", "2", "0"]


def test_every_request_comes_with_the_scheduler_s_record_of_it() -> None:
    made = Made(6)
    found = {index: slices for index, (_, slices) in served(made, jobs((5, 2), (7, 1)))}
    assert found == {
        0: [Slice(step=0, start=0, tokens=5), Slice(step=1, start=5, tokens=1)],
        1: [Slice(step=0, start=0, tokens=1), Slice(step=1, start=1, tokens=5),
            Slice(step=2, start=6, tokens=1)],
    }  # fmt: skip
    assert made.slices == {}  # nothing piles up


def test_a_request_that_left_no_record_has_an_empty_one() -> None:
    made = Made(50)
    made.slices = SimpleNamespace(setdefault=lambda *_: [], pop=lambda _, other: other)  # type: ignore[assignment]
    ((index, (_, slices)),) = served(made, jobs((5, 1)))
    assert (index, slices) == (0, [])


def test_the_record_starts_anew_with_the_pass() -> None:
    made = Made(50)
    assert list(served(made, [])) == []
    assert (made.forgotten, made.steps) == (1, [])


@pytest.mark.parametrize("concurrency", [1, 2, 3, 5, 8])
def test_no_more_are_in_flight_than_asked_for(concurrency: int) -> None:
    made = Made(1000)
    found = list(served(made, jobs(*[(5, n) for n in (3, 1, 4, 1, 5)]), None, concurrency))
    assert sorted(index for index, _ in found) == [0, 1, 2, 3, 4]
    assert max(map(len, made.steps)) == min(concurrency, 5)


def test_the_next_goes_in_as_soon_as_one_has_ended() -> None:
    made = Made(1000)
    list(served(made, jobs((5, 3), (5, 1), (5, 2), (5, 1)), None, 2))
    assert [list(step) for step in made.steps] == [["0", "1"], ["0", "2"], ["0", "2"], ["3"]]


def test_without_whole_the_scheduler_cuts_as_it_likes() -> None:
    made = Made(10)
    list(served(made, jobs((8, 1), (8, 1), (8, 1))))
    assert made.steps[0] == {"0": 8, "1": 8, "2": 8}


def test_a_prompt_waits_until_a_step_has_room_for_all_of_it() -> None:
    made = Made(12)
    list(served(made, jobs((5, 4), (7, 1), (12, 1), (11, 2)), 12))
    assert made.steps == [
        {"0": 5, "1": 7},  # 12 fit exactly
        {"0": 1},  # 1 + 12 do not
        {"0": 1},
        {"0": 1},
        {"2": 12},
        {"3": 11},
        {"3": 1},
    ]


def test_what_others_still_want_counts() -> None:
    made = Made(12)
    list(served(made, jobs((5, 3), (5, 3), (10, 1)), 12))
    # 1 + 1 + 10 fit beside two that decode
    assert made.steps[1] == {"0": 1, "1": 1, "2": 10}


def test_the_first_that_does_not_fit_keeps_its_place() -> None:
    made = Made(12)
    order = [index for index, _ in served(made, jobs((8, 2), (9, 1), (3, 1)), 12)]
    assert made.steps[:2] == [{"0": 8}, {"0": 1, "1": 9}]
    assert order == [0, 1, 2]


def sizes() -> list[tuple[int, int]]:
    """Thirty-one odd sizes, none above 41."""
    return [(3 + (i * i * 7) % 39, 1 + (i * 5) % 9) for i in range(31)]


@pytest.mark.parametrize("budget", [41, 47, 83, 300])
def test_whole_admission_never_lets_a_step_want_more_than_it_has(budget: int) -> None:
    made = Made(budget)
    found = list(served(made, jobs(*sizes()), budget, 7))
    assert sorted(index for index, _ in found) == list(range(31))
    assert max(sum(step.values()) for step in made.steps) <= budget
    prefills = [sum(s.start < sizes()[i][0] for s in slices) for i, (_, slices) in found]
    assert set(prefills) == {1}


def test_without_it_some_of_the_same_prompts_are_cut() -> None:
    """Or else the test above would show nothing."""
    made = Made(47)
    list(served(made, jobs(*sizes()), None, 7))
    assert max(sum(step.values()) for step in made.steps) > 47


def test_a_prompt_longer_than_a_step_goes_alone() -> None:
    made = Made(12)
    list(served(made, jobs((5, 2), (30, 1), (6, 1)), 12))
    assert made.steps == [{"0": 5}, {"0": 1}, {"1": 30}, {"1": 18}, {"1": 6, "2": 6}]


def test_progress_is_told_now_and_then_and_never_beyond_its_total(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, told = Made(8), list[tuple[int, int]]()
    clock = SimpleNamespace(monotonic=lambda: 500 + 0.09 * len(made.steps))
    monkeypatch.setattr(module, "time", clock)
    # Ten steps of 8 tokens; more than 0.2 s have passed after every third one.
    list(
        drive(
            made, made, jobs((80, 1)), None, 1, 61, lambda done, total: told.append((done, total))
        )
    )
    assert len(made.steps) == 10
    assert told == [(8, 61), (32, 61), (56, 61), (61, 61)]
