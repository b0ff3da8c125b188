"""Faults put into the real engine: each fires, and the check that exists for it turns red."""

from pathlib import Path

import pytest

from linattn_verify.traces.store import read_trace
from tests.conftest import PROMPTS_ONLY, Invocation, invoke
from tests.engine_runs.injected import INJECTED, TASK

pytestmark = pytest.mark.engine


def test_the_run_fails_with_exit_code_1(faulty_run: Invocation) -> None:
    assert faulty_run.code == 1, faulty_run.out + faulty_run.err
    assert faulty_run.report["verdict"] == "FAIL"


@pytest.mark.parametrize(("scenario", "fault"), INJECTED.items())
def test_the_fault_fired_and_the_report_says_so(
    faulty_run: Invocation, scenario: str, fault: str
) -> None:
    file = f"traces/{scenario.replace('/', '-')}.parquet"
    fired = read_trace(faulty_run.folder / file).record.faults
    assert fired.keys() == {fault} and fired[fault] > 0
    assert any(fault in note and scenario in note for note in faulty_run.report["notes"])


@pytest.mark.parametrize("scenario", ["chunked@512", "chunked@256", "chunked@128", "chunked@100"])
def test_chunked_prefill_turns_red(faulty_run: Invocation, scenario: str) -> None:
    assert faulty_run.check("chunked_prefill", scenario)["verdict"] == "FAIL"


@pytest.mark.parametrize("scenario", ["warm", "warm-2"])
def test_prefix_cache_turns_red(faulty_run: Invocation, scenario: str) -> None:
    assert faulty_run.check("prefix_cache", scenario)["verdict"] == "FAIL"


@pytest.mark.parametrize("scenario", TASK)
def test_task_score_turns_red(faulty_run: Invocation, scenario: str) -> None:
    check = faulty_run.check("task_score", scenario)
    assert check["verdict"] == "FAIL"
    for score in check["scores"]:
        assert score["paired"]["lost"] - score["paired"]["gained"] >= 12, score  # 20 points
        assert score["paired"]["p_value"] < 1e-4
    lost = [f for f in check["flips"] if (f["filter"], f["change"]) == ("strict-match", "lost")]
    assert len(lost) == check["scores"][0]["paired"]["lost"]
    assert all(f["reference_output"] != f["candidate_output"] for f in lost)
    assert all(f["parted_at"] is not None for f in lost)


def test_the_task_is_green_where_nothing_was_done_to_it(faulty_run: Invocation) -> None:
    assert faulty_run.check("task_score", "gsm8k/full")["verdict"] == "PASS"
    for scenario in ("gsm8k/chunked@128", "gsm8k/cold", "gsm8k/warm-2"):
        assert faulty_run.check("task_score", scenario)["verdict"] == "PASS", scenario


def test_what_was_not_touched_stays_green(faulty_run: Invocation) -> None:
    assert faulty_run.check("prefix_cache", "cold")["verdict"] == "PASS"
    assert faulty_run.check("logprobs_close", "cold")["verdict"] == "PASS"


def test_logprobs_close_turns_red_where_the_output_goes_astray(faulty_run: Invocation) -> None:
    assert faulty_run.check("logprobs_close", "chunked@100")["verdict"] == "FAIL"


def test_a_lost_convolution_window_shows_right_after_the_edge(faulty_run: Invocation) -> None:
    check = faulty_run.check("chunked_prefill", "chunked@512")
    assert check["metrics"]["prompt.first.max"] == 0.0
    assert check["metrics"]["prompt.edge+0.mean"] > 5 * check["metrics"]["prompt.edge+64...mean"]
    assert not check["limits"]["prompt.edge+0.mean"]["holds"]


def test_a_contrast_sees_it_without_any_constant_of_the_model(faulty_run: Invocation) -> None:
    limits = faulty_run.check("chunked_prefill", "chunked@512")["limits"]
    assert not limits["contrast.edge"]["holds"]
    assert not limits["contrast.later"]["holds"]
    assert limits["contrast.first"]["holds"]


def test_swapped_logits_show_in_the_decode_leg_alone(faulty_run: Invocation) -> None:
    limits = faulty_run.check("chunked_prefill", "chunked@100")["limits"]
    broken = {name.split(".")[0] for name, outcome in limits.items() if not outcome["holds"]}
    assert broken == {"decode"}


def test_nan_is_named_with_its_side_and_place(faulty_run: Invocation) -> None:
    message = faulty_run.check("chunked_prefill", "chunked@128")["message"]
    assert "NaN" in message and "candidate" in message and "position" in message


BREAKDOWNS = {
    "chunked@64": ("crash_at_edges", "SIGSEGV"),
    "chunked@56": ("raise_at_edges", "RuntimeError"),
    "chunked@48": ("hang_at_edges", "no progress"),
}


@pytest.fixture(scope="session")
def broken_run(tmp_path_factory: pytest.TempPathFactory, short_prompts: Path) -> Invocation:
    """A run in which the engine dies, raises and hangs, and then serves one scenario well."""
    flags = [f for s, (fault, _) in BREAKDOWNS.items() for f in ("--inject", f"{s}={fault}")]
    return invoke(
        tmp_path_factory.mktemp("runs") / "broken",
        *(
            *PROMPTS_ONLY,
            "--prompts",
            str(short_prompts),
            "--budgets",
            "64,56,48,40",
            "--timeout",
            "30",
        ),
        *("--only", "chunked_prefill", "--decode-tokens", "4", *flags),
    )


@pytest.mark.parametrize(("scenario", "said"), [(s, said) for s, (_, said) in BREAKDOWNS.items()])
def test_an_engine_that_breaks_down_fails_its_scenario(
    broken_run: Invocation, scenario: str, said: str
) -> None:
    assert broken_run.code == 1, broken_run.out + broken_run.err
    check = broken_run.check("chunked_prefill", scenario)
    assert check["verdict"] == "FAIL" and said in check["message"]
    entry = next(s for s in broken_run.report["scenarios"] if s["name"] == scenario)
    assert entry["log_tail"] and entry["trace"] is None
    assert said in broken_run.out


def test_what_the_engine_raised_is_kept_with_its_traceback(broken_run: Invocation) -> None:
    entry = next(s for s in broken_run.report["scenarios"] if s["name"] == "chunked@56")
    assert "raise_at_edges" in entry["traceback"] and "Traceback" in entry["traceback"]


def test_the_rest_of_the_run_goes_on_after_a_breakdown(broken_run: Invocation) -> None:
    assert broken_run.check("chunked_prefill", "chunked@40")["verdict"] == "PASS"
