"""The report for machines: report.json, and beside it the JSON Schema that it keeps to."""

import json
from pathlib import Path
from typing import Any

from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.strict import validated
from linattn_verify.reports.document import SCHEMA_VERSION, Document, Report
from linattn_verify.reports.schema import report_schema
from linattn_verify.traces.files import write_whole

REPORT = "report.json"
SCHEMA = "report.schema.json"


def to_json(report: Document) -> str:
    """The report as strict JSON in ASCII: no NaN, no Infinity, no raw control character."""
    return _dump(report.model_dump(mode="json"))


def write_json(report: Report, folder: Path) -> Path:
    """Write the schema, then report.json, into `folder`; the path of report.json."""
    write_whole(folder / SCHEMA, _dump(report_schema()))
    write_whole(folder / REPORT, to_json(report))
    return folder / REPORT


def read_json(path: Path) -> Report:
    """The report at `path`; raises UsageError where it is none, or of another version."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: not a report ({error}). Give a run's folder.") from error
    found = data.get("schema_version") if isinstance(data, dict) else None
    if found != SCHEMA_VERSION:
        raise UsageError(f"{path}: schema version {found}, this tool reads {SCHEMA_VERSION}.")
    return validated(Report, data, where=str(path))


def _dump(data: Any) -> str:
    return json.dumps(data, indent=2, allow_nan=False) + "\n"
