"""How many positions differ by how much: a curve for each scenario, and what the limits allow."""

from collections.abc import Iterator
from dataclasses import dataclass

from linattn_verify.checks.result import LimitOutcome
from linattn_verify.configs.plan import Kind
from linattn_verify.reports.differences import Distribution
from linattn_verify.reports.document import Report
from linattn_verify.reports.html.scale import Logarithmic
from linattn_verify.reports.numbers import limit_text, number

_LEFT, _RIGHT, _TOP, _FOOT = 44, 470, 10, 214
"""The axes in the template's drawing."""
_SHARES = {"p50": 0.5, "p90": 0.1, "p99": 0.01, "p99_9": 0.001}
"""By percentile, the share of positions that may differ by more than its limit."""


@dataclass(frozen=True)
class Line:
    """One scenario's curve."""

    name: str
    path: str
    says: str
    floor: bool
    """Whether nothing is tested in it: what it shows is rounding."""


@dataclass(frozen=True)
class Mark:
    """A limit: the curve has to pass below and to the left of it."""

    x: float
    y: float
    says: str
    holds: bool


@dataclass(frozen=True)
class Spread:
    """One leg."""

    leg: str
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...]
    across: tuple[tuple[float, str], ...]
    """Ticks below, nats."""
    up: tuple[tuple[float, str], ...]
    """Ticks at the side, share of positions."""

    @property
    def floor(self) -> bool:
        """Whether a floor was measured."""
        return any(line.floor for line in self.lines)


def spreads(report: Report) -> list[Spread]:
    """A drawing for each leg in which anything was compared and differs."""
    if report.differences is None:
        return []
    found = report.differences.distributions
    legs = dict.fromkeys(d.leg for d in found if d.exact < d.compared)
    return [_spread(leg, [d for d in found if d.leg == leg], report) for leg in legs]


def _spread(leg: str, found: list[Distribution], report: Report) -> Spread:
    assert report.differences is not None
    bounds = report.differences.bounds
    largest = max(d.compared for d in found)
    sizes = Logarithmic(1e-4, 10.0 if _largest(found, bounds) <= 10 else 100.0, _LEFT, _RIGHT)
    shares = Logarithmic(min(0.5 / largest, 1e-3), 1.0, _FOOT, _TOP)
    floors = {s.name for s in report.scenarios if s.kind is Kind.AGAIN}
    return Spread(
        leg=leg,
        lines=tuple(_line(d, bounds, sizes, shares, d.scenario in floors) for d in found),
        marks=tuple(_marks(leg, report, sizes, shares)),
        across=tuple((sizes.at(t), limit_text(t)) for t in sizes.ticks()),
        up=tuple((shares.at(t), f"{100 * t:.4g} %") for t in shares.ticks()),
    )


def _largest(found: list[Distribution], bounds: tuple[float, ...]) -> float:
    """The upper bound of the last class that anything is in."""
    last = max(at for d in found for at, count in enumerate(d.counts) if count)
    return bounds[min(last, len(bounds) - 1)]


def _line(
    one: Distribution,
    bounds: tuple[float, ...],
    sizes: Logarithmic,
    shares: Logarithmic,
    floor: bool,
) -> Line:
    """The share of positions that differ by at least each bound."""
    left = [sum(one.counts[at:]) for at in range(1, len(one.counts))]
    points = [
        f"{sizes.at(bound)} {shares.at(count / one.compared)}"
        for bound, count in zip(bounds, left, strict=True)
        if bound >= sizes.low and count
    ]
    says = f"{one.compared:,} positions, {100 * one.exact / one.compared:.0f} % exactly the same"
    return Line(one.scenario, "M" + "L".join(points) if points else "", says, floor)


def _marks(leg: str, report: Report, sizes: Logarithmic, shares: Logarithmic) -> Iterator[Mark]:
    """Each limit once, held where it holds in every scenario."""
    for statistic, share in _SHARES.items():
        metric = f"{leg}.all.{statistic}"
        by_limit: dict[float, list[LimitOutcome]] = {}
        for check in report.checks:
            if metric in check.limits:
                outcome = check.limits[metric]
                by_limit.setdefault(outcome.limit, []).append(outcome)
        for limit, outcomes in by_limit.items():
            worst = max((o.value for o in outcomes if o.value is not None), default=None)
            yield Mark(
                x=sizes.at(limit),
                y=shares.at(share),
                says=f"{metric}: limit {limit_text(limit)}, largest {number(worst)}",
                holds=all(o.holds for o in outcomes),
            )
