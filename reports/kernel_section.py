"""The engine's operators: what was computed on which path, and what cannot run here."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from linattn_verify.checks.kernel_paths import judge_error
from linattn_verify.checks.result import KernelPath, Verdict
from linattn_verify.reports.document import Kernels, KernelsReport, Report
from linattn_verify.reports.ink import VERDICT_STYLES, Ink
from linattn_verify.reports.numbers import duration, limit_text, margin_mark, number

CHOSEN = "*"
_LEGEND = (
    "* the path that the engine chooses on this machine. Error: the largest relative error of a "
    "row of outputs or states against a float64 recurrence, or between one call and two, where it "
    "is nearest to its limit."
)


def kernel_summary(report: Report | KernelsReport, ink: Ink) -> Iterator[RenderableType]:
    """A row for each operator and path that ran; what cannot run here by name."""
    if report.kernels is None:
        return
    yield from _section(report.kernels, ink)


def kernel_section(report: Report | KernelsReport, ink: Ink) -> Iterator[RenderableType]:
    """The same, and where every limit comes from."""
    if report.kernels is None:
        return
    yield from _section(report.kernels, ink)
    for path in report.kernels.paths:
        if path.origin:
            yield ink.text(f"{path.name}: {path.origin}", "dim")


def _section(kernels: Kernels, ink: Ink) -> Iterator[RenderableType]:
    ran = [path for path in kernels.paths if path.counts]
    yield ink.heading(f"Operators, called one by one ({duration(kernels.seconds)})")
    if ran:
        yield _table(ran, ink)
    yield ink.text(f"{_LEGEND} Earned on: {'; '.join(kernels.kernel_path) or 'unknown'}.", "dim")
    for path in ran:
        if path.verdict is not Verdict.PASS:
            yield ink.text(f"{path.name} · {path.verdict.value}: {path.message}")
    yield from (ink.text(line) for line in _throughput(ran))
    yield from (ink.text(line) for line in _uncalled(ran))
    yield from (ink.text(line, "dim") for line in _unsupported(kernels.paths))


def _table(paths: Sequence[KernelPath], ink: Ink) -> RenderableType:
    right = ("Cases", "Error", "Limit", "Margin")
    table = ink.table("", "Operator", "Path", *right, right=right, gap=1)
    for path in paths:
        found = judge_error(path)
        table.add_row(
            ink.text(path.verdict.value, VERDICT_STYLES[path.verdict]),
            ink.text(path.operator),
            ink.text(path.path + (f" {CHOSEN}" if path.engine_uses else "")),
            ink.text(str(path.cases)),
            ink.text(number(path.error)),
            ink.text("–" if path.limit is None else limit_text(path.limit)),
            ink.text(margin_mark(found) if found else "–"),
        )
    return table


def _throughput(paths: Sequence[KernelPath]) -> Iterator[str]:
    for path in paths:
        if path.gb_per_s is not None:
            yield f"{path.name}: {path.gb_per_s:.1f} GB/s in the slower of its timed cases."


def _uncalled(paths: Sequence[KernelPath]) -> Iterator[str]:
    """Failures of calls that nothing in the engine makes: told, not counted."""
    for path in paths:
        for failure in path.uncalled:
            yield (
                f"FAIL, not counted (no layer of this engine makes this call; --strict counts it): "
                f"{path.name}: {failure}."
            )


def _unsupported(paths: Sequence[KernelPath]) -> Iterator[str]:
    """What cannot run here: whole paths by their reason, then combinations of dtypes."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for path in paths:
        if not path.counts:
            reasons.setdefault((path.path, path.message), []).append(path.operator)
    for (path_name, reason), operators in reasons.items():
        yield f"UNSUPPORTED: {', '.join(operators)} ({path_name}): {reason}."
    for path in paths:
        if path.counts and path.verdict is not Verdict.UNSUPPORTED and path.unsupported:
            yield f"UNSUPPORTED: {path.name}: {'; '.join(path.unsupported)}."
