"""CSV: every metric and limit of the report, as another program reads them."""

import math
from collections.abc import Callable
from io import StringIO

import pandas as pd

from linattn_verify.checks.result import Verdict
from linattn_verify.reports.document import Report
from linattn_verify.reports.metric_csv import COLUMNS, to_csv
from tests.reports.conftest import lone

Make = Callable[..., Report]


def table(report: Report) -> pd.DataFrame:
    return pd.read_csv(StringIO(to_csv(report)))


def test_every_metric_of_every_report_is_there_with_its_limit(any_report: Report) -> None:
    found = table(any_report)
    assert tuple(found.columns) == COLUMNS
    for check in any_report.checks:
        rows = found[(found["check"] == check.name) & (found["scenario"] == check.scenario)]
        assert set(rows["verdict"]) == {check.verdict.value}
        by_metric = rows.set_index("metric")
        for name, value in check.metrics.items():
            assert _same(by_metric.loc[name, "value"], value)
        for name, limit in check.limits.items():
            assert _same(by_metric.loc[name, "limit"], limit.limit)
            assert by_metric.loc[name, "origin"] == limit.origin


def _same(found: object, expected: float | None) -> bool:
    assert isinstance(found, float | int)
    return math.isnan(found) if expected is None else found == expected


def test_scores_are_metrics(made: Make) -> None:
    report = made("tasks")
    (score, *_) = next(c for c in report.checks if c.scenario == "gsm8k/chunked@256").scores
    found = table(report).set_index(["scenario", "metric"])["value"]
    name = f"{score.metric}.{score.filter}"
    assert score.paired is not None
    assert found["gsm8k/chunked@256", f"{name}.score"] == score.score
    assert found["gsm8k/chunked@256", f"{name}.lost"] == score.paired.lost


def test_a_spreadsheet_takes_no_text_for_a_formula(made: Make) -> None:
    report = made("pass", results=(lone("=1+1", "@x", Verdict.PASS, "Fine."),))
    row = table(report).iloc[0]
    assert (row["check"], row["scenario"], row["vllm"]) == ("'=1+1", "'@x", "0.32.0")
