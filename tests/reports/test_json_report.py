"""report.json keeps to the schema beside it, and is JSON to every reader."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from linattn_verify.configs.errors import UsageError
from linattn_verify.reports.document import Report
from linattn_verify.reports.json_report import read_json, to_json, write_json
from linattn_verify.reports.schema import report_schema

Make = Callable[..., Report]


def test_every_report_is_valid_under_the_schema_written_beside_it(
    any_report: Report, tmp_path: Path
) -> None:
    path = write_json(any_report, tmp_path / "run")
    schema = json.loads((path.parent / "report.schema.json").read_text(encoding="utf-8"))
    document = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    jsonschema.Draft202012Validator(schema, format_checker=checker).validate(document)


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(report_schema())


def test_a_report_read_again_is_the_same_report(any_report: Report, tmp_path: Path) -> None:
    assert read_json(write_json(any_report, tmp_path)) == any_report


def test_nothing_but_the_two_files_is_left(any_report: Report, tmp_path: Path) -> None:
    write_json(any_report, tmp_path)
    write_json(any_report, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"report.json", "report.schema.json"}


def test_a_failed_write_leaves_the_old_report(
    made: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_json(made("pass"), tmp_path)
    before = path.read_bytes()

    def full_disk(_: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match="no space"):
        write_json(made("fail"), tmp_path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2


def test_non_finite_metrics_are_null(made: Make) -> None:
    check = json.loads(to_json(made("unmeasured")), parse_constant=_refuse)["checks"][0]
    assert check["metrics"] == {"prompt.all.mean": None, "prompt.all.max": None}
    assert check["tightest"] == "prompt.all.mean"


def test_report_json_has_the_keys_that_a_ci_job_reads(made: Make) -> None:
    report = json.loads(to_json(made("fail")))
    assert (report["schema_version"], report["verdict"], report["exit_code"]) == (4, "FAIL", 1)
    assert report["engine"]["requested"]["cached"]["mamba_cache_mode"] == "all"
    assert report["engine"]["resolved"]["cached"]["mamba_cache_mode"] == "align"
    assert {"name", "status", "proofs", "trace"} <= report["scenarios"][0].keys()
    assert report["scenarios"][0]["proofs"][0].keys() == {"name", "expected", "observed", "holds"}
    wanted = {"name", "scenario", "reference", "verdict", "metrics", "limits", "message"}
    assert wanted <= report["checks"][0].keys()


def test_every_field_of_the_schema_is_described() -> None:
    schema = report_schema()
    bare = [
        f"{title}.{name}"
        for title, part in {"Report": schema, **schema["$defs"]}.items()
        for name, field in part.get("properties", {}).items()
        if title != "JsonValue" and not field.get("description")
    ]
    assert bare == []


def test_the_schema_refuses_an_unknown_key(made: Make) -> None:
    document = json.loads(to_json(made("pass")))
    document["checks"][0]["colour"] = "green"
    with pytest.raises(jsonschema.ValidationError, match="colour"):
        jsonschema.validate(document, report_schema())


@pytest.mark.parametrize(
    ("text", "says"),
    [("{", "not a report"), ("[]", "schema version None"), ('{"schema_version": 1}', "version 1")],
)
def test_what_is_no_report_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=says):
        read_json(path)


def test_a_run_folder_that_is_no_utf_8_is_escaped(made: Make) -> None:
    assert json.loads(to_json(made("pass", run_folder="runs/\udcff")))["run_folder"].isascii()


def test_every_string_is_ascii_in_the_file(made: Make) -> None:
    text = to_json(made("fail"))
    assert text.isascii()
    assert not any(ord(c) < 32 and c != "\n" for s in _strings(json.loads(text)) for c in s)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _refuse(literal: str) -> None:
    raise AssertionError(f"{literal} is no JSON")
