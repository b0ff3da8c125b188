"""`linattn-verify judge` and `linattn-verify report`: a recorded run, without an engine."""

from pathlib import Path
from typing import Any

from linattn_verify.checks.registry import checks_named
from linattn_verify.checks.result import Verdict
from linattn_verify.cli.assembly import assemble
from linattn_verify.cli.exports import tell_github
from linattn_verify.cli.output import Output
from linattn_verify.cli.record import read_record
from linattn_verify.cli.recorded import read_run
from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.profile import load_profile
from linattn_verify.reports.json_report import REPORT, read_json


def judge_command(folder: Path, options: dict[str, Any]) -> int:
    """Judge the run's evidence again; returns the exit code of the verdict. Raises UsageError for
    a folder that cannot be judged."""
    output = Output(options)
    profile, only, skip = (options[name] for name in ("profile", "only", "skip"))
    limits = load_profile(profile) if profile else None
    request = read_record(folder).request
    chosen = (only, skip) if only or skip else (request.only, request.skip)
    specs = checks_named(*chosen)
    run = read_run(folder)
    report = assemble(run, specs, limits)
    if report.verdict is Verdict.FAIL and limits is None:
        report = report.model_copy(update={"localised": run.localised})
    output.show(report)
    tell_github(report)
    return report.exit_code


def report_command(folder: Path, options: dict[str, Any]) -> None:
    """Show the report that the run wrote; raises UsageError where there is none."""
    output = Output(options)
    read_record(folder)
    if not (folder / REPORT).exists():
        raise UsageError(
            f"{folder}: the run was interrupted before its report. `linattn-verify judge {folder}` "
            "judges what it has measured."
        )
    output.show(read_json(folder / REPORT))
