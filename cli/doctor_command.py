"""`linattn-verify doctor`: the environment, as far as it can change a result."""

import json
import os
from pathlib import Path

import psutil

from linattn_verify.cli.model import located, weight_files
from linattn_verify.cli.printer import Printer
from linattn_verify.configs.profile import load_profile
from linattn_verify.engine.diagnosis import diagnose
from linattn_verify.engine.machine import Wanted, disk, hub, memory
from linattn_verify.engine.probe import probe
from linattn_verify.reports.terminal import render_findings
from linattn_verify.traces.finding import Finding, Level


def doctor_command(model: str, profile: str, as_json: bool) -> int:
    """Carry out the command; 1 where something prevents a run. Raises UsageError for a model or
    profile that is none."""
    wanted = wanted_by(model, profile)
    environment = dict(os.environ)
    findings = (
        *diagnose(probe(), environment),
        memory(wanted, psutil.virtual_memory().available),
        disk(Path("runs")),
        hub(wanted, environment),
    )
    code = int(any(finding.level is Level.PROBLEM for finding in findings))
    if as_json:
        print(json.dumps(_document(findings, code), indent=2))
    else:
        render_findings(findings, Printer())
    return code


def wanted_by(model: str, profile: str) -> Wanted:
    """What a run with these would ask of the machine."""
    pool = load_profile(profile).kv_cache_gib
    folder = Path(located(model))
    if not folder.is_dir():
        return Wanted(model, None, None, pool)
    return Wanted(model, folder, sum(f.stat().st_size for f in weight_files(folder)), pool)


def _document(findings: tuple[Finding, ...], code: int) -> dict[str, object]:
    return {"exit_code": code, "findings": [f.model_dump(mode="json") for f in findings]}
