"""Where a report goes."""

import sys
from pathlib import Path
from typing import Any

from linattn_verify.cli.exports import Exports
from linattn_verify.cli.folder import check_writable
from linattn_verify.cli.printer import Printer
from linattn_verify.reports.document import Report
from linattn_verify.reports.json_report import to_json
from linattn_verify.reports.terminal import render
from linattn_verify.traces.files import write_whole


class Output:
    """The terminal, the file or standard output that `--json` names, and the other forms.

    Takes what says so out of a command's options; raises UsageError where a file cannot be written.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._json_to = json_to = options.pop("json_to")
        self._full = options.pop("full", False)
        self._exports = Exports.taken(options)
        if json_to and json_to != "-":
            check_writable(Path(json_to), "--json")
        # Where the JSON goes to standard output, nothing else may.
        self.console = Printer(stderr=json_to == "-")

    def show(self, report: Report) -> None:
        """Print the report, and write it where it was asked for."""
        render(report, self.console, self._full)
        if self._json_to == "-":
            sys.stdout.write(to_json(report) + "\n")
        elif self._json_to:
            write_whole(Path(self._json_to), to_json(report))
        self._exports.write(report)
