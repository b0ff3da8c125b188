"""`linattn-verify list`: what there is to choose, and what each can and cannot see."""

import json

from linattn_verify.checks.registry import all_checks
from linattn_verify.cli.printer import Printer
from linattn_verify.configs.catalogue import Entry, metrics, profiles, scenarios
from linattn_verify.reports.terminal import render_entries


def list_command(kind: str, as_json: bool) -> None:
    """Print what there is of this kind: a table, or JSON."""
    entries = {"checks": checks, "profiles": profiles, "scenarios": scenarios, "metrics": metrics}
    found = entries[kind]()
    if as_json:
        print(json.dumps([entry._asdict() for entry in found], indent=2))
    else:
        render_entries(found, Printer())


def checks() -> tuple[Entry, ...]:
    """Every check, with the fault that it exists for."""
    return tuple(Entry(spec.name, spec.fault, spec.blind) for spec in all_checks())
