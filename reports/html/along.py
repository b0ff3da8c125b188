"""Differences along the position: a small panel for each scenario and prompt."""

from collections.abc import Sequence
from dataclasses import dataclass

from linattn_verify.checks.result import LimitOutcome, Verdict, overall
from linattn_verify.reports.differences import Curve
from linattn_verify.reports.document import Check, Report
from linattn_verify.reports.html.scale import Linear, Logarithmic
from linattn_verify.reports.numbers import limit_text, number

_LEFT, _RIGHT, _TOP, _FOOT = 36, 316, 6, 82
"""The axes in the template's drawing."""
_LOW = 1e-4
_DRAWN = [f"{leg}.all.{name}" for name in ("max", "p99_9", "p99") for leg in ("prompt", "cut")]
"""The limit that is drawn is the first of these that there is."""


@dataclass(frozen=True)
class Panel:
    """One prompt: paths and places in the drawing's units."""

    prompt: str
    tokens: int
    largest: str
    """The largest difference, nats, in words."""
    area: str
    """Path of the differences."""
    broken: tuple[tuple[float, float], ...]
    """Place and width of what could not be compared."""
    edges: tuple[float, ...]
    blocks: tuple[float, ...]
    cached: float
    """Where the cached tokens end."""
    decoded: float
    """Where the prompt ends."""
    last: int
    """The position at the right end."""


@dataclass(frozen=True)
class Strip:
    """The panels of scenarios whose differences are the same to the last digit."""

    title: str
    reference: str
    verdict: Verdict
    """The worst of the checks that compare these scenarios position by position."""
    panels: tuple[Panel, ...]
    ticks: tuple[tuple[float, str], ...]
    limit: float | None
    """Where the limit stands."""
    limit_says: str
    left_out: int
    """Prompts without a panel."""
    open: bool
    """Whether it is shown at once: what did not pass, or the first."""


def strips(report: Report) -> list[Strip]:
    """What did not pass first."""
    if report.differences is None:
        return []
    by_scenario: dict[str, list[Curve]] = {}
    for curve in report.differences.curves:
        by_scenario.setdefault(curve.scenario, []).append(curve)
    alike: dict[tuple[object, ...], list[str]] = {}
    for name, curves in by_scenario.items():
        alike.setdefault(tuple(_but_scenario(c) for c in curves), []).append(name)
    sizes = [v for c in report.differences.curves for v in c.largest if v is not None]
    high = 10.0 if max(sizes, default=0.0) <= 10 else 100.0
    groups = sorted(alike.values(), key=lambda names: _verdict(names, report) is Verdict.PASS)
    return [_strip(names, by_scenario, high, report, not at) for at, names in enumerate(groups)]


def _but_scenario(curve: Curve) -> tuple[object, ...]:
    return tuple(curve.model_dump(exclude={"scenario"}).values())


def _strip(
    names: Sequence[str], curves: dict[str, list[Curve]], high: float, report: Report, first: bool
) -> Strip:
    shown = curves[names[0]]
    scale = Logarithmic(_LOW, high, _FOOT, _TOP)
    metric, outcome = _limit(names, report)
    verdict = _verdict(names, report)
    assert report.differences is not None
    return Strip(
        title=", ".join(names),
        reference=shown[0].reference,
        verdict=verdict,
        panels=tuple(_panel(curve, scale) for curve in shown),
        ticks=tuple((scale.at(t), limit_text(t)) for t in scale.ticks(every=2)),
        limit=None if outcome is None else scale.at(outcome.limit),
        limit_says="" if outcome is None else f"limit of {metric}: {limit_text(outcome.limit)}",
        left_out=report.differences.left_out.get(names[0], 0),
        open=first or verdict is not Verdict.PASS,
    )


def _compared(names: Sequence[str], report: Report) -> list[Check]:
    """The checks that compare these scenarios position by position."""
    legs = ("prompt.", "decode.", "cut.")
    return [
        check
        for check in report.checks
        if check.scenario in names and any(metric.startswith(legs) for metric in check.metrics)
    ]


def _verdict(names: Sequence[str], report: Report) -> Verdict:
    verdicts = [check.verdict for check in _compared(names, report)]
    return overall(verdicts or [Verdict.PASS])


def _limit(names: Sequence[str], report: Report) -> tuple[str, LimitOutcome | None]:
    limits = {k: v for check in _compared(names, report) for k, v in check.limits.items()}
    metric = next((name for name in _DRAWN if name in limits), "")
    return metric, limits.get(metric)


def _panel(curve: Curve, scale: Logarithmic) -> Panel:
    end = curve.start + curve.stride * len(curve.largest)
    along = Linear(0, end, _LEFT, _RIGHT)
    wide = curve.stride * (_RIGHT - _LEFT) / end
    sizes = [size for size in curve.largest if size is not None]
    blocks = range(curve.block_size, end, curve.block_size) if curve.block_size else ()
    return Panel(
        prompt=curve.prompt,
        tokens=curve.prompt_tokens,
        largest=number(max(sizes, default=None)),
        area=_area(curve, along, scale),
        broken=tuple(
            (along.at(curve.start + at * curve.stride), round(max(wide, 1.5), 1))
            for at in curve.broken
        ),
        edges=tuple(along.at(edge) for edge in curve.edges),
        blocks=tuple(along.at(block) for block in blocks),
        cached=along.at(curve.cached_tokens),
        decoded=along.at(curve.prompt_tokens),
        last=end - 1,
    )


def _area(curve: Curve, along: Linear, scale: Logarithmic) -> str:
    """Steps above the foot; a gap where nothing was compared."""
    path, gap = [], True
    for at, size in enumerate(curve.largest):
        left = along.at(curve.start + at * curve.stride)
        if size is None:
            path += [] if gap else [f"H{left}V{_FOOT}"]
        else:
            path.append(f"M{left} {_FOOT}" if gap else f"H{left}")
            path.append(f"V{scale.at(size)}")
        gap = size is None
    return "".join(path) + ("" if gap else f"H{_RIGHT}V{_FOOT}")
