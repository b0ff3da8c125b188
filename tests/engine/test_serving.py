"""How an engine is made ready for a scenario, and what is asked of it afterwards; no engine."""

from pathlib import Path
from typing import Any

import pytest

from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Memory, Scenario
from linattn_verify.engine.messages import Run, States
from linattn_verify.engine.passes import Ask
from linattn_verify.traces.schema import Filled
from linattn_verify.traces.states import Part
from linattn_verify.traces.store import read_states, write_trace
from tests.traces.test_difference import rows
from tests.traces.test_store import record


class Made:
    """Engine, scheduler and workers in one: writes down what is asked of it."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.allocated_blocks = self.pool_blocks = 0
        self.max_num_scheduled_tokens = 0
        self.answers: dict[str, list[Any]] = {}

    def whole_pool(self) -> None:
        self.log.append("whole pool")

    def shrink_pool(self, requests: int, tokens: int) -> None:
        self.allocated_blocks += 99  # as withholding counts too
        self.log.append(("shrink", requests, tokens))

    def reset_prefix_cache(self) -> None:
        self.log.append("reset")

    def begin(self) -> None:
        self.allocated_blocks = 0
        self.log.append("begin")

    def collective_rpc(self, method: str, args: tuple[Any, ...]) -> list[Any]:
        self.log.append((method.removeprefix("linattn_"), *args))
        return self.answers.get(method, [{}])


def worker(bytes: int, **poisoned: int) -> dict[str, Any]:
    tensors = {"attention": 1, "convolution": 1, "recurrent": 2}
    return {
        "bytes": bytes,
        "tensors": tensors,
        "poisoned": {**dict.fromkeys(tensors, 0), **poisoned},
    }


@pytest.fixture
def made() -> Made:
    made = Made()
    made.answers["linattn_fill"] = [worker(30, attention=1, recurrent=2), worker(7, attention=1)]
    return made


@pytest.fixture
def server(parts: Any, made: Made) -> Any:
    server = object.__new__(parts.serving.Server)
    server.llm = server.scheduler = made
    return server


def run(baseline: Path | None = None, states: States | None = None, **fields: Any) -> Run:
    scenario = {"name": "s", "kind": Kind.COLD, "reference": "full", "budget": 37, "legs": ()}
    return Run(
        scenario=Scenario.model_validate({**scenario, **fields}),
        prompts=((1, 2, 3), (4,) * 13, (5, 6)),
        forced=None,
        decode_tokens=4,
        top_k=2,
        cut_offsets=(1,),
        trace="unused",
        states=states,
        baseline=str(baseline) if baseline else None,
    )


def test_a_scenario_finds_an_empty_cache_and_whatever_memory_holds(server: Any, made: Made) -> None:
    server._make_ready(run(), None)
    assert made.log == ["whole pool", "reset", ("hand_out", None, []), "begin"]
    assert server.filled is None


def test_what_goes_on_in_a_cache_does_not_empty_it(server: Any, made: Made) -> None:
    server._make_ready(run(after="cold"), None)
    assert made.log == ["whole pool", ("hand_out", None, []), "begin"]


def test_memory_is_filled_in_an_empty_cache_and_the_pool_shrunk_last(
    server: Any, made: Made
) -> None:
    server._make_ready(run(tight=True), Memory.NAN)
    # two of the longest prompt and its output: 13 + 4 tokens
    filled: list[Any] = [("fill", "nan"), ("hand_out", "nan", []), ("shrink", 2, 17)]
    assert made.log == ["whole pool", "reset", *filled, "begin"]
    # as both workers say
    assert server.filled == Filled(
        content=Memory.NAN,
        bytes=37,
        tensors={"attention": 2, "convolution": 2, "recurrent": 4},
        poisoned={"attention": 2, "convolution": 0, "recurrent": 2},
    )


def test_blocks_withheld_are_not_counted_as_handed_out(server: Any, made: Made) -> None:
    server._begin(run(tight=True, faults=("logits_swapped",)))
    assert (made.allocated_blocks, made.max_num_scheduled_tokens) == (0, 37)
    assert ("inject", ["logits_swapped"]) in made.log


def test_the_states_of_every_worker_are_written(server: Any, made: Made, tmp_path: Path) -> None:
    row = {
        **{"request": 0, "position": 7, "edge": 1, "moment": "left", "rank": 0, "layer": "a"},
        **{"index": 0, "kind": "k", "part": "recurrent", "dtype": "float32", "norm": 1.0},
        **{"digest": "0", "data": None},
    }
    made.answers["linattn_take_states"] = [[row, row], [{**row, "rank": 1}]]
    path = tmp_path / "states" / "s.parquet"
    wanted = States(path=str(path), requests=(0,), most_bytes=9)
    assert server._write_states(wanted) == 3
    assert read_states(path)["rank"].tolist() == [0, 0, 1]
    assert server._write_states(None) == 0


@pytest.mark.parametrize(
    ("tight", "each", "rounds"),
    [(False, 3, [0]), (True, 11, [0]), (True, 4, [0, 1, 2]), (True, 0, list(range(64)))],
    ids=["large pool", "reused at once", "after three", "never"],
)
def test_a_small_pool_is_served_until_blocks_are_used_again(
    server: Any, made: Made, tight: bool, each: int, rounds: list[int]
) -> None:
    served: list[int] = []
    made.pool_blocks = 10

    def prompts(command: Run, report: Any, number: int = 0) -> tuple[list[int], list[int]]:
        served.append(number)
        made.allocated_blocks += each
        return [number], [number]

    server._prompts = prompts
    assert server._rounds(run(tight=tight), None) == ([rounds[-1]], [rounds[-1]])
    assert served == rounds


def test_only_marked_requests_carry_the_label(parts: Any) -> None:
    label = parts.steps.LABEL
    for request in (0, 5):
        ask = Ask(request, Leg.FREE, (1, 2), 3, states=True)
        assert parts.submission.sampling(ask, 2).extra_args[label] == request
    assert label not in parts.submission.sampling(Ask(0, Leg.FREE, (1, 2), 3), 2).extra_args


def suspects(
    server: Any,
    made: Made,
    folder: Path,
    guilty: set[Part],
    memory: Memory = Memory.NAN,
    harmless: bool = False,
) -> dict[str, Any]:
    """What is found where NaN shows as long as a block of a guilty kind is not cleaned; harmless:
    finite numbers do not."""
    path = folder / "baseline.parquet"
    write_trace(path, record(), rows())
    broken = [{**row, "logprob": float("nan")} for row in rows()]

    def prompts(command: Run, report: Any) -> tuple[list[Any], list[dict[str, Any]]]:
        cleaned: list[str] = next((e[2] for e in reversed(made.log) if e[0] == "hand_out"), [])
        if harmless and ("fill", "finite") == next(
            (e for e in reversed(made.log) if "fill" in e), None
        ):
            return [], rows()
        return [], broken if guilty - {Part(kind) for kind in cleaned} else rows()

    server._prompts = prompts
    server.filled = server._fill(memory)
    made.log.clear()
    first = prompts(run(), None)[1]
    found: dict[str, Any] = server._suspects(run(path, memory=memory), first, None)
    return found


@pytest.mark.parametrize("part", [Part.ATTENTION, Part.CONVOLUTION, Part.RECURRENT])
def test_the_kind_of_block_that_is_read_unwritten_is_found(
    server: Any, made: Made, tmp_path: Path, part: Part
) -> None:
    found = suspects(server, made, tmp_path, {part})
    assert found == {"repeats": True, "finite_shows": True, "suspects": (part,)}
    # each time from the start: every kind cleaned, none but finite, then every kind but one cleaned
    assert made.log.count("reset") == 5
    assert made.log.count(("fill", "nan")) == 4 and ("fill", "finite") in made.log


def test_every_kind_that_is_read_unwritten_is_found(
    server: Any, made: Made, tmp_path: Path
) -> None:
    both = {Part.CONVOLUTION, Part.RECURRENT}
    found = suspects(server, made, tmp_path, both)["suspects"]
    assert found == (Part.CONVOLUTION, Part.RECURRENT)


def test_finite_numbers_that_do_not_show_are_told(server: Any, made: Made, tmp_path: Path) -> None:
    found = suspects(server, made, tmp_path, {Part.ATTENTION}, harmless=True)
    assert found == {"repeats": True, "finite_shows": False, "suspects": (Part.ATTENTION,)}


def test_an_engine_that_does_not_repeat_itself_is_found_out(
    server: Any, made: Made, tmp_path: Path
) -> None:
    """What it gives is another even with every block of every kind cleaned."""
    assert suspects(server, made, tmp_path, {Part.OTHER})["repeats"] is False


def test_where_nothing_differs_nothing_is_repeated(server: Any, made: Made, tmp_path: Path) -> None:
    assert suspects(server, made, tmp_path, set()) == {}
    assert made.log == []


def test_what_goes_on_in_a_cache_or_is_no_twin_is_not_repeated(
    server: Any, made: Made, tmp_path: Path
) -> None:
    assert server._suspects(run(memory=Memory.NAN), rows()[:2], None) == {}
    assert suspects(server, made, tmp_path, set(Part), Memory.ZERO) == {}
    assert made.log == []
