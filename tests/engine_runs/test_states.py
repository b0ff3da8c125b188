"""States and memory of the real engine: green where it is healthy, red by name where it is not."""

import re
from pathlib import Path

import pytest

from linattn_verify.traces.store import read_states, read_trace
from tests.conftest import Invocation, invoke
from tests.engine_runs.injected import MEMORY, STATES
from tests.families import make_checkpoint

pytestmark = pytest.mark.engine
CHUNKED = ("chunked@512", "chunked@256", "chunked@128", "chunked@100")
STATE_CHECKS = ("--only", "state_equivalence", "--only", "cache_hygiene")


def parted(run: Invocation, scenario: str) -> dict[str, object]:
    """Where the states of a scenario part."""
    check = run.check("state_equivalence", scenario)
    assert check["verdict"] == "FAIL", check["message"]
    found: dict[str, object] = check["parted"]
    assert found["detail"] == check["message"]
    return found


@pytest.mark.parametrize("scenario", CHUNKED)
def test_states_were_read_at_chunk_edges_of_every_layer(
    clean_run: Invocation, scenario: str
) -> None:
    states = read_states(clean_run.folder / f"states/{scenario}.parquet")
    record = read_trace(clean_run.folder / f"traces/{scenario}.parquet").record
    edges = {(r.request, s.start) for r in record.requests for s in r.prefill() if s.start}
    left = states[states["moment"] == "left"]
    at_edges = left[[p in edges for p in zip(left["request"], left["position"], strict=True)]]
    assert set(left["request"]) == {0, 1, 9}
    assert len(at_edges) >= 2 * 3 * 3  # two parts, three layers, three prompts
    assert set(left["part"]) == {"convolution", "recurrent"} and left["index"].nunique() == 3
    assert set(left["dtype"]) <= {"bfloat16", "float32"} and left["data"].notna().all()


def test_chunking_moves_states_by_rounding_and_no_more(clean_run: Invocation) -> None:
    for scenario in CHUNKED:
        check = clean_run.check("state_equivalence", scenario)
        assert 0 < check["metrics"]["recurrent.error"] < 0.08
        assert check["counts"]["states_found_by_a_step"] > 30
        first = [e for e in check["states"] if e["edge"] == 1]
        # What has continued nothing is the prefix, bit for bit.
        assert first and all(v == 0 for e in first for v in e["by_layer"].values())


def test_restored_states_are_the_saved_ones_bit_for_bit(clean_run: Invocation) -> None:
    for scenario in ("warm", "warm-2"):
        states = read_states(clean_run.folder / f"states/{scenario}.parquet")
        restored = states[(states["moment"] == "found") & (states["edge"] == 0)]
        assert len(restored) == 2 * 3 * 3
        assert "as they were saved" in clean_run.check("state_equivalence", scenario)["message"]


def test_memory_was_poisoned_and_the_pool_used_over_and_over(clean_run: Invocation) -> None:
    for scenario in ("full-nan", "cold-nan", "chunked@100-tight-nan", "cold-tight-nan"):
        record = read_trace(clean_run.folder / f"traces/{scenario}.parquet").record
        assert record.filled is not None and record.filled.bytes == 2**31
        assert record.filled.poisoned == {"attention": 1, "convolution": 3, "recurrent": 3}
        assert record.suspects == ()
        if "tight" in scenario:
            assert record.allocated_blocks > record.pool_blocks > 0


@pytest.mark.parametrize(
    ("scenario", "part"), [("chunked@512", "convolution"), ("chunked@256", "recurrent")]
)
def test_a_lost_state_is_found_at_the_first_edge_in_the_first_layer(
    faulty_run: Invocation, scenario: str, part: str
) -> None:
    found = parted(faulty_run, scenario)
    assert (found["how"], found["edge"], found["index"]) == ("not carried", 1, 0)
    other = "recurrent" if part == "convolution" else "convolution"
    assert found["part"] == part and "found zeros" in str(found["detail"])
    assert re.search(rf"\b0 of \d+ {other}", str(found["detail"]))


def test_a_flag_that_is_ignored_leaves_states_intact_and_shows_after_the_edge(
    faulty_run: Invocation,
) -> None:
    found = parted(faulty_run, "chunked@384")
    # At the end of the first chunk that went on from a state, not before.
    assert (found["how"], found["edge"]) == ("differs", 2)
    assert float(str(found["error"])) > 0.08
    assert faulty_run.check("state_equivalence", "chunked@384")["limits"][
        "states_changed_between_steps"
    ]["holds"]


def test_one_layer_is_named(faulty_run: Invocation) -> None:
    found = parted(faulty_run, "chunked@192")
    assert (found["how"], found["index"]) == ("not carried", 2)
    assert "in 1 of 3 layers" in str(found["detail"])


def test_nan_in_a_state_is_named(faulty_run: Invocation) -> None:
    assert "found NaN" in str(parted(faulty_run, "chunked@128")["detail"])


@pytest.mark.parametrize("scenario", ["warm", "warm-2"])
def test_a_restored_state_that_is_not_the_saved_one_is_found(
    faulty_run: Invocation, scenario: str
) -> None:
    found = parted(faulty_run, scenario)
    assert (found["how"], found["edge"], found["index"]) == ("not restored", 0, 0)


def test_a_fault_outside_the_state_leaves_it_green(faulty_run: Invocation) -> None:
    assert faulty_run.check("state_equivalence", "chunked@100")["verdict"] == "PASS"
    for scenario in ("full", "cold"):
        assert faulty_run.check("state_equivalence", scenario)["verdict"] == "PASS"


@pytest.mark.parametrize(
    ("scenario", "kinds"),
    [("full-nan", "attention blocks"), ("cold-nan", "convolution and recurrent blocks")],
)
def test_memory_that_is_read_unwritten_is_named_by_kind_and_place(
    faulty_run: Invocation, scenario: str, kinds: str
) -> None:
    check = faulty_run.check("cache_hygiene", scenario)
    assert check["verdict"] == "FAIL"
    assert "NaN" in check["message"] and "position" in check["message"]
    assert f"{kinds} are read before they are written" in check["message"]
    assert check["metrics"]["non_finite"] > 0


def test_what_only_poison_shows_no_other_check_has_seen(faulty_run: Invocation) -> None:
    assert MEMORY.keys() & STATES.keys() == set()
    assert faulty_run.check("state_equivalence", "full")["verdict"] == "PASS"
    assert faulty_run.check("prefix_cache", "cold")["verdict"] == "PASS"


@pytest.mark.slow
def test_a_short_convolution_in_float32_is_green(tmp_path: Path, checkpoint: Path) -> None:
    """A layout with a convolution window alone, in the dtype that leaves no room for rounding."""
    model = make_checkpoint("lfm2", "float32", checkpoint, tmp_path / "lfm2")
    flags = ("--model", str(model), "--dtype", "float32", "--budgets", "100", *STATE_CHECKS)
    run = invoke(tmp_path / "run", *flags)
    assert run.code == 0, run.out + run.err
    assert set(run.verdicts().values()) == {"PASS"}
    for scenario in ("chunked@100", "cold", "warm"):
        metrics = run.check("state_equivalence", scenario)["metrics"]
        assert list(metrics) == ["convolution.error"] and metrics["convolution.error"] < 1e-5


@pytest.mark.slow
def test_a_mamba_2_hybrid_in_float32_is_green_without_a_cache(
    tmp_path: Path, checkpoint: Path
) -> None:
    """With one it crashes in vLLM 0.32.0 on CPU (mamba_mixer2.py), which is a FAIL of `cold`."""
    model = make_checkpoint("falcon_h1", "float32", checkpoint, tmp_path / "falcon_h1")
    flags = ("--model", str(model), "--dtype", "float32", "--budgets", "100", *STATE_CHECKS)
    run = invoke(tmp_path / "run", *flags)
    for scenario in ("full", "chunked@100"):
        check = run.check("state_equivalence", scenario)
        assert check["verdict"] == "PASS", check["message"]
        assert check["metrics"]["recurrent.error"] < 1e-5
    for scenario in ("full-nan", "chunked@100-tight-nan"):
        assert run.check("cache_hygiene", scenario)["verdict"] == "PASS"
    assert run.check("state_equivalence", "cold")["verdict"] == "FAIL"
