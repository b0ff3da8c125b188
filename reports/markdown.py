"""The report as GitHub-flavoured Markdown: for a step's summary, or a pull request."""

import re
from collections.abc import Iterable, Iterator, Sequence

from linattn_verify.checks.limits import difference
from linattn_verify.checks.result import Verdict
from linattn_verify.reports.cases import RUN, SERVED, Case, cases
from linattn_verify.reports.document import Report
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.localised_section import localised_sentences, localised_title
from linattn_verify.reports.numbers import against_limit, duration, margin_text, percent

MOST_MESSAGES = 50
"""Messages that are told in full: a step's summary holds 1 MiB."""
LONGEST = 2000
"""Characters of a message."""
_MARKUP = re.compile(r"([\\`*_\[\]<>&|~$#!])")
_LINK = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)


def to_markdown(report: Report) -> str:
    """The verdict and what it rests on first; the environment last, folded away."""
    parts = [
        _head(report),
        _checks(report),
        *_messages(report),
        *_located(report),
        *_scores(report),
        _about(report),
    ]
    return "\n\n".join(parts) + "\n"


def _head(report: Report) -> str:
    title = f"## {report.verdict}: {_text(report.model.name)}, profile {_text(report.profile.name)}"
    notes = [f"- {_text(note)}" for note in report.notes]
    return "\n\n".join([title, _text(report.headline), *(["\n".join(notes)] if notes else [])])


def _checks(report: Report) -> str:
    shown = [case for case in cases(report) if case.check or case.verdict is not Verdict.PASS]
    shown.sort(key=lambda case: case.verdict is Verdict.PASS)
    header = ("Verdict", "Check", "Scenario", "Against", "Tightest metric", "Margin")
    return _table(header, (_row(case) for case in shown))


def _row(case: Case) -> Iterator[str]:
    said, margin, check = "", "", case.check
    if check and check.tightest:
        limit = check.limits[check.tightest]
        said = f"{check.tightest}: {against_limit(check.tightest, limit)}"
        margin = margin_text(limit)
    verdict = case.verdict.value
    yield verdict if case.verdict is Verdict.PASS else f"**{verdict}**"
    reference = (check.reference if check else None) or ""
    yield from map(_text, (case.group, case.name, reference, said, margin))


def _messages(report: Report) -> Iterator[str]:
    """What the verdicts rest on that are no PASS."""
    found = [case for case in cases(report) if case.verdict is not Verdict.PASS]
    found = [case for case in found if case.group != RUN]  # the headline, told already
    if not found:
        return
    lines = [
        f"- **{case.verdict}** {_text(case.title)}: {_text(case.message)}"
        for case in found[:MOST_MESSAGES]
    ]
    if len(found) > MOST_MESSAGES:
        lines.append(f"- {len(found) - MOST_MESSAGES} more are in report.json.")
    yield "### What did not pass"
    yield "\n".join(lines)


def _located(report: Report) -> Iterator[str]:
    if found := report.localised:
        yield f"### Where the fault is: {_text(localised_title(found))}"
        yield "\n".join(f"- {_text(sentence)}" for sentence in localised_sentences(found))


def _scores(report: Report) -> Iterator[str]:
    scores = [(check.scenario, score) for check in report.checks for score in check.scores]
    if not scores:
        return
    header = ("Verdict", "Scenario", "Metric", "Score", "Reference", "Points, 95 %", "Lost, gained")
    yield "### Task scores"
    yield _table(
        header,
        (
            (
                score.verdict.value,
                _text(scenario),
                _text(f"{score.metric}, {score.filter}"),
                percent(score.score),
                "" if score.reference_score is None else percent(score.reference_score),
                difference(score.paired) if score.paired else "",
                f"{score.paired.lost}, {score.paired.gained}" if score.paired else "",
            )
            for scenario, score in scores
        ),
    )


def _about(report: Report) -> str:
    environment, model = report.environment, report.model
    facts = {
        "exit code": str(report.exit_code),
        "written by": f"{report.tool.name} {report.tool.version}, {report.created.isoformat()}",
        "model": f"{model.path}, {model.architecture}, {model.dtype}",
        "weights digest": model.weights_digest or "not taken",
        "versions": ", ".join(f"{k} {v}" for k, v in environment.versions.items()),
        "processor": f"{environment.cpu.model}, {environment.cpu.threads} threads",
        "kernels": "; ".join(environment.kernel_path),
        SERVED: ", ".join(scenario.name for scenario in report.scenarios),
        "time": duration(sum(phase.seconds for phase in report.phases)),
        "run folder": report.run_folder,
    }
    table = _table(("Run", ""), ((key, _text(value)) for key, value in facts.items()))
    return f"<details><summary>Environment</summary>\n\n{table}\n\n</details>"


def _table(header: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _text(text: str) -> str:
    """`text` in one line, as data: nothing in it is markup or a link."""
    shown = Ink(width=LONGEST).plain(" ".join(text.split()))
    cut = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"
    return _LINK.sub(r"\\", _MARKUP.sub(r"\\\1", cut))
