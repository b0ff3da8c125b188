"""Other forms of the report, for CI systems and people: one option each, the same in every command
that has a report."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from linattn_verify.reports.document import Report

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class Form:
    """A form of the report. What renders it is imported once it is asked for."""

    module: str
    """Module of linattn_verify.reports."""
    function: str
    """Its function from report to text."""
    help: str


FORMS = {
    "html": Form("html.page", "to_html", "Write one HTML file there, with pictures."),
    "junit": Form("junit", "to_junit", "Write JUnit XML there: a case for every check × scenario."),
    "markdown": Form("markdown", "to_markdown", "Write Markdown there, for a pull request."),
    "csv": Form("metric_csv", "to_csv", "Write every metric there, a row each."),
}
"""By option, without its dashes."""
_SUMMARY, _ACTIONS = "GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS"


def export_options(command: Command) -> Command:
    """Give a command an option for every form; `Exports.taken` takes what they hold."""
    for name, form in reversed(FORMS.items()):
        path = click.Path(path_type=Path)
        command = click.option(f"--{name}", _key(name), type=path, metavar="FILE", help=form.help)(
            command
        )
    return command


@dataclass(frozen=True)
class Exports:
    """The files that were asked for, by form."""

    files: Mapping[str, Path]

    @classmethod
    def taken(cls, options: dict[str, Any]) -> "Exports":
        """Take them out of a command's options; raises UsageError where one cannot be written."""
        given = {name: options.pop(_key(name)) for name in FORMS}
        exports = cls({name: path for name, path in given.items() if path is not None})
        exports.check()
        return exports

    def check(self) -> None:
        """Raise UsageError for a file that cannot be written, or that two forms would share."""
        from linattn_verify.cli.folder import check_writable
        from linattn_verify.configs.errors import UsageError

        owners: dict[Path, str] = {}
        for name, path in self.files.items():
            if str(path) == "-":
                raise UsageError(f"--{name} -: give a file; only --json goes to standard output.")
            check_writable(path, f"--{name}")
            other = owners.setdefault(path.resolve(), name)
            if other != name:
                raise UsageError(f"--{name} {path}: --{other} goes there. Give another file.")

    def write(self, report: "Report") -> None:
        """Write every file, each whole or not at all."""
        from linattn_verify.traces.files import write_whole

        for name, path in self.files.items():
            write_whole(path, _rendered(name, report))


def tell_github(report: "Report") -> None:
    """Inside GitHub Actions: the step's summary, and annotations for what did not pass. They go to
    standard error, which the runner reads as well, so that standard output stays the report's."""
    from linattn_verify.reports.annotations import annotations

    if summary := os.environ.get(_SUMMARY):
        try:
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(_rendered("markdown", report))
        except OSError as error:
            click.echo(f"{_SUMMARY}={summary}: not written ({error}). Give --markdown.", err=True)
    if os.environ.get(_ACTIONS) == "true":
        for line in annotations(report):
            click.echo(line, err=True)


def _key(name: str) -> str:
    return f"{name}_to"


def _rendered(name: str, report: "Report") -> str:
    form = FORMS[name]
    module = import_module(f"linattn_verify.reports.{form.module}")
    text: str = getattr(module, form.function)(report)
    return text
