"""The operators in a run's report and on a page of their own."""

import json
from collections.abc import Callable
from io import StringIO

from rich.console import Console

from linattn_verify.checks.kernels import judge
from linattn_verify.reports.build import build_kernels_report
from linattn_verify.reports.document import Cpu, Environment, Kernels, KernelsReport, Report
from linattn_verify.reports.json_report import to_json
from linattn_verify.reports.terminal import render_kernels, render_text
from linattn_verify.traces.kernels import CaseStatus, KernelEvidence, KernelRow
from tests.checks.test_kernels import crashed, measure, row, unsupported

ELSEWHERE = unsupported(path="Triton on CUDA", engine_uses=False, note="no CUDA device")
REFUSED = unsupported(case="x, float16 state", dtypes="float16 state")
UNCALLED = crashed(case="T=5, has_initial_state absent", called=False)
HEALTHY = (row(gb_per_s=3.25), REFUSED, UNCALLED, ELSEWHERE)


def report(*rows: KernelRow, strict: bool = False) -> KernelsReport:
    evidence = KernelEvidence(rows=rows, kernel_path=("AVX9: yes",), seconds=12.0)
    return build_kernels_report(
        measured=evidence,
        results=judge(evidence, strict),
        environment=Environment(
            versions={"torch": "9.1"}, cpu=Cpu(model="Abacus", threads=3), platform="made"
        ),
        strict=strict,
    )


def page(made: KernelsReport, width: int = 80) -> str:
    text = StringIO()
    render_kernels(made, Console(file=text, width=width, color_system=None))
    lines = text.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    return " ".join(text.getvalue().split())


def test_a_healthy_page_says_what_was_computed_where_and_with_which_margin() -> None:
    made = report(*HEALTHY)
    assert (made.verdict, made.exit_code) == ("PASS", 0)
    text = page(made)
    assert "PASS causal_conv1d C++ * 1 0.0030 0.012 ×4.0" in text
    assert "Earned on: AVX9: yes" in text
    assert "3.2 GB/s" in text
    assert "CPU: Abacus, 3 threads" in text and "torch 9.1" in text
    assert "causal_conv1d (C++): counted" in text


def test_what_cannot_run_here_is_unsupported_by_name() -> None:
    text = page(report(*HEALTHY))
    assert "UNSUPPORTED: causal_conv1d (Triton on CUDA): no CUDA device." in text
    assert "UNSUPPORTED: causal_conv1d (C++): float16 state." in text


def test_a_call_that_no_layer_makes_is_told_as_a_failure_that_is_not_counted() -> None:
    assert "FAIL, not counted (no layer" in page(report(*HEALTHY))
    strict = report(*HEALTHY, strict=True)
    assert (strict.verdict, strict.exit_code) == ("FAIL", 1)
    text = page(strict)
    assert "not counted" not in text and "signal SIGSEGV" in text


def test_a_failure_names_operator_and_case_in_the_headline() -> None:
    made = report(row("T=9 split at 4", measure(0.5)), ELSEWHERE)
    assert "causal_conv1d (C++): T=9 split at 4: output 0.5" in made.headline
    assert "✗" in page(made)


def test_a_narrow_console_holds_the_table() -> None:
    page(report(*HEALTHY), width=60)


def test_json_has_every_path_and_no_nan() -> None:
    bad = row("T=9", measure(None), status=CaseStatus.MEASURED)
    document = json.loads(to_json(report(bad, ELSEWHERE)), parse_constant=lambda c: 1 / 0)
    assert [p["path"] for p in document["kernels"]["paths"]] == ["C++", "Triton on CUDA"]
    assert document["kernels"]["paths"][0]["error"] is None
    assert document["exit_code"] == 1


def test_a_runs_report_shows_the_operators_where_they_were_called(
    made: Callable[..., Report],
) -> None:
    plain = made("pass")
    assert "Operators, called one by one" not in render_text(plain)
    of_operators = report(*HEALTHY)
    kernels = Kernels.model_validate(of_operators.kernels.model_dump())
    checks = (*plain.checks, *of_operators.checks)
    text = render_text(plain.model_copy(update={"kernels": kernels, "checks": checks}))
    assert "Operators, called one by one (12 s)" in text
    assert "AVX9: yes" in text
    # beside the table of operators there is no second one among the metrics of scenarios
    assert text.count("■ causal_conv1d") == 0
