"""Workflow commands of GitHub Actions: what did not pass, shown beside the workflow and the pull
request (https://docs.github.com/actions/reference/workflow-commands-for-github-actions)."""

from linattn_verify.checks.result import Verdict
from linattn_verify.reports.cases import cases
from linattn_verify.reports.document import Report

MOST = 10
"""GitHub shows ten annotations of a kind for a step, and drops the rest."""
_KINDS = {
    Verdict.FAIL: "error",
    Verdict.ERROR: "error",
    Verdict.VACUOUS: "warning",
    Verdict.INCONCLUSIVE: "warning",
    Verdict.UNSUPPORTED: "notice",
}


def annotations(report: Report) -> tuple[str, ...]:
    """A command a line: the headline, then what did not pass, at most ten of a kind."""
    if report.verdict is Verdict.PASS:
        return ()
    said = [_command(_KINDS[report.verdict], report.tool.name, report.headline)]
    for kind in dict.fromkeys(_KINDS.values()):
        found = [c for c in cases(report) if c.decides and _KINDS.get(c.verdict) == kind]
        room = MOST - 1 if _KINDS[report.verdict] == kind else MOST
        shown = found if len(found) <= room else found[: room - 1]
        said += [_command(kind, f"{c.verdict}: {c.title}", c.message) for c in shown]
        if len(shown) < len(found):
            rest = f"{len(found) - len(shown)} more like these are in the job's summary."
            said.append(_command(kind, report.tool.name, rest))
    return tuple(said)


def _command(kind: str, title: str, message: str) -> str:
    return f"::{kind} title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    """GitHub's own rule for the text of a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """GitHub's own rule for a property of a command."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
