"""Made rows of operators, healthy and with something wrong, and what the check says of them."""

from typing import Any

import pytest

from linattn_verify.checks.kernel_paths import by_path, kernel_path
from linattn_verify.checks.kernels import judge
from linattn_verify.checks.result import CheckResult, KernelPath, Verdict, overall
from linattn_verify.traces.kernels import CaseStatus, KernelEvidence, KernelRow, Measure

LIMIT = 0.012


def measure(error: float | None = 0.003, what: str = "output", limit: float = LIMIT) -> Measure:
    return Measure(what=what, error=error, limit=limit, origin="counted", note="row [7] of [9]")


def row(case: str = "T=9 split at 4", *measures: Measure, **more: Any) -> KernelRow:
    """A case of the convolution on the path that the engine uses, measured unless said."""
    fields: dict[str, Any] = {
        "operator": "causal_conv1d",
        "path": "C++",
        "engine_uses": True,
        "case": case,
        "status": CaseStatus.MEASURED,
        "measures": measures or (measure(),),
    }
    return KernelRow(**{**fields, **more})


def unsupported(**more: Any) -> KernelRow:
    none: dict[str, Any] = {"status": CaseStatus.UNSUPPORTED, "measures": (), "note": "no such op"}
    return row(**{**none, **more})


def crashed(**more: Any) -> KernelRow:
    note = "the process died: signal SIGSEGV"
    return row(**{"status": CaseStatus.CRASHED, "measures": (), "note": note, **more})


def answers(*rows: KernelRow, strict: bool = False) -> list[CheckResult]:
    return judge(KernelEvidence(rows=rows), strict)


def answer(*rows: KernelRow, strict: bool = False) -> CheckResult:
    (result,) = answers(*rows, strict=strict)
    return result


def path(*rows: KernelRow) -> KernelPath:
    return kernel_path(rows)


def test_cases_within_their_limits_pass_and_the_margin_is_told() -> None:
    result = answer(row(), row("T=9 split at 1", measure(0.004), measure(0.0, "state", 0.0)))
    assert (result.name, result.scenario) == ("kernels", "causal_conv1d (C++)")
    assert (result.verdict, result.message) == (Verdict.PASS, "2 cases")
    assert result.limits["output"].value == 0.004
    assert result.limits["output"].margin == pytest.approx(3.0)
    assert result.limits["state"].margin is None and result.limits["state"].holds
    assert result.counts["cases_measured"] == 2


def test_one_error_beyond_its_limit_fails_and_names_operator_and_case() -> None:
    result = answer(row(), row("T=9 split at 8", measure(0.5), measure(0.6, "split output")))
    assert result.verdict is Verdict.FAIL
    assert result.scenario == "causal_conv1d (C++)"
    assert result.message.startswith("T=9 split at 8: split output 0.6 (limit 0.012")
    assert "row [7] of [9]" in result.message and "also output" in result.message
    assert not result.limits["split output"].holds


def test_the_limit_itself_passes_and_a_little_more_does_not() -> None:
    assert answer(row("a", measure(LIMIT))).verdict is Verdict.PASS
    assert answer(row("a", measure(LIMIT * 1.001))).verdict is Verdict.FAIL


def test_one_changed_byte_fails_where_nothing_may_change() -> None:
    result = answer(row("a", measure(), measure(1, "other slots", 0)))
    assert result.verdict is Verdict.FAIL
    assert "other slots 1 (limit 0" in result.message


def test_what_is_not_finite_fails_and_is_named() -> None:
    result = answer(row(), row("b", measure(None, "state")))
    assert result.verdict is Verdict.FAIL
    assert "b: state could not be measured" in result.message
    assert (result.limits["state"].value, result.limits["state"].holds) == (None, False)


@pytest.mark.parametrize("status", [CaseStatus.CRASHED, CaseStatus.TIMED_OUT])
def test_a_case_that_kills_its_process_or_hangs_fails_beside_good_ones(status: CaseStatus) -> None:
    result = answer(row(), crashed(case="T=5", status=status), row())
    assert result.verdict is Verdict.FAIL
    assert result.message == "T=5: the process died: signal SIGSEGV"


def test_a_fault_that_was_injected_is_told_with_its_strikes() -> None:
    fired = {"fault": "made_up", "fired": 3}
    assert "(fault made_up fired 3 times)" in answer(row("a", measure(1), **fired)).message
    assert answer(row("a", measure(1), **fired)).counts["faults_fired"] == 3


def test_a_case_of_ours_that_breaks_is_an_error() -> None:
    assert answer(row(), crashed(status=CaseStatus.ERROR)).verdict is Verdict.ERROR


def test_refused_dtypes_are_counted_beside_what_passes() -> None:
    result = answer(row(), unsupported(case="x, float16", dtypes="float16"))
    assert (result.verdict, result.counts["cases_unsupported"]) == (Verdict.PASS, 1)
    assert "1 combinations of dtypes unsupported" in result.message
    assert path(row(), unsupported(dtypes="float16")).unsupported == ("float16",)


def test_a_path_of_another_machine_is_named_and_decides_nothing() -> None:
    elsewhere = unsupported(path="CUDA", engine_uses=False)
    results = answers(row(), elsewhere)
    assert [(r.scenario, r.verdict) for r in results] == [("causal_conv1d (C++)", Verdict.PASS)]
    assert overall(r.verdict for r in results) is Verdict.PASS
    found = path(elsewhere)
    assert (found.verdict, found.counts) == (Verdict.UNSUPPORTED, False)
    assert found.message == "no such op"


def test_a_path_that_the_engine_would_choose_and_cannot_be_run_is_unsupported() -> None:
    result = answer(unsupported(path="CUDA", engine_uses=True))
    assert (result.verdict, result.message) == (Verdict.UNSUPPORTED, "no such op")


def test_a_path_that_runs_though_the_engine_chooses_another_counts() -> None:
    spare = row("a", measure(1), path="PyTorch", engine_uses=False)
    assert [r.verdict for r in answers(row(), spare)] == [Verdict.PASS, Verdict.FAIL]


def test_a_call_that_no_layer_makes_is_told_and_counts_only_where_that_is_asked_for() -> None:
    rows = (row(), crashed(case="has_initial_state absent", called=False))
    result = answer(*rows)
    assert result.verdict is Verdict.PASS
    assert "beside the verdict: has_initial_state absent: the process died" in result.message
    strict = answer(*rows, strict=True)
    assert strict.verdict is Verdict.FAIL
    assert strict.message == "has_initial_state absent: the process died: signal SIGSEGV"
    assert kernel_path(rows).uncalled and not kernel_path(rows, strict=True).uncalled


def test_a_call_that_no_layer_makes_and_that_holds_is_not_told() -> None:
    assert path(row(), row(called=False)).uncalled == ()


def test_a_path_whose_cases_measured_nothing_is_vacuous() -> None:
    bare = row().model_copy(update={"measures": ()})
    assert answer(bare).verdict is Verdict.VACUOUS


def test_no_rows_at_all_prove_nothing() -> None:
    assert answer().verdict is Verdict.VACUOUS


def test_operators_that_can_only_be_named_are_unsupported() -> None:
    found = answer(unsupported(engine_uses=False))
    assert (found.verdict, found.message) == (Verdict.UNSUPPORTED, "causal_conv1d: no such op")


def test_a_process_that_ended_early_is_an_error_beside_what_it_measured() -> None:
    results = judge(KernelEvidence(rows=(row(),), failure="it died: exit code 1"))
    assert [r.verdict for r in results] == [Verdict.PASS, Verdict.ERROR]
    assert results[1].message == "it died: exit code 1"


def test_the_throughput_told_is_that_of_the_slowest_case() -> None:
    assert path(row(gb_per_s=5.0), row(gb_per_s=2.0), row()).gb_per_s == 2.0


def test_rows_are_grouped_by_operator_and_path_in_their_order() -> None:
    rows = (row("a"), row("b", path="PyTorch"), row("c"))
    assert [[r.case for r in group] for group in by_path(rows).values()] == [["a", "c"], ["b"]]
