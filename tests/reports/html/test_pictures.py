"""Where things stand in the pictures, worked out by hand."""

import pytest

from linattn_verify.configs.plan import Kind
from linattn_verify.reports.differences import BOUNDS, Curve, Differences, Distribution
from linattn_verify.reports.document import Phase, Report
from linattn_verify.reports.html.along import strips
from linattn_verify.reports.html.flips import flipped
from linattn_verify.reports.html.heat import every_segment, worst_segment
from linattn_verify.reports.html.scale import Linear, Logarithmic, heat
from linattn_verify.reports.html.spread import spreads
from linattn_verify.reports.html.states import state_maps
from linattn_verify.reports.html.timeline import timeline
from tests.reports.conftest import report_of


def a_curve(scenario: str = "chunked@256", **changes: object) -> Curve:
    """Ten windows of ten positions; the sixth differs, the eighth is broken, the last is out."""
    fields = {
        **{"scenario": scenario, "reference": "full", "prompt": "ledger", "prompt_tokens": 90},
        **{"cached_tokens": 0, "edges": (50,), "block_size": 0, "start": 0, "stride": 10},
        "largest": (*(0.0,) * 5, 0.1, 0.0, None, 0.0, None),
        "broken": (7,),
    }
    return Curve.model_validate({**fields, **changes})


def drawn(kind: str, *curves: Curve, counts: dict[int, int] | None = None) -> Report:
    """A made report with these curves and a distribution of 1,000 positions."""
    classes = [0] * (len(BOUNDS) + 1)
    for at, count in (counts or {0: 900, 21: 90, 25: 10}).items():
        classes[at] = count
    spread = Distribution(
        scenario="chunked@256",
        reference="full",
        leg="prompt",
        compared=sum(classes),
        exact=classes[0],
        counts=tuple(classes),
    )
    found = Differences(bounds=BOUNDS, distributions=(spread,), curves=curves, left_out={})
    return report_of(kind).model_copy(update={"differences": found})


def test_scales_end_where_their_axes_end() -> None:
    across, up = Linear(0, 200, 10, 110), Logarithmic(1e-4, 10, 100, 0)
    assert [across.at(v) for v in (-1, 0, 50, 200, 999)] == [10, 10, 35, 110, 110]
    assert [up.at(v) for v in (0, 1e-4, 0.1, 10, 1e9)] == [100, 100, 40, 0, 0]
    assert up.ticks(every=2) == pytest.approx([1e-4, 1e-2, 1])


@pytest.mark.parametrize(
    ("ratio", "colour"), [(0, 0), (0.001, 0), (0.01, 0), (0.1, 0.5), (1, 1), (7, 1)]
)
def test_colour_grows_from_a_hundredth_of_the_limit_to_the_limit(
    ratio: float, colour: float
) -> None:
    assert heat(ratio) == colour


def test_a_panel_has_steps_gaps_edges_and_what_is_broken() -> None:
    (strip,) = strips(drawn("pass", a_curve()))
    (panel,) = strip.panels
    assert panel.largest == "0.100"
    assert (panel.edges, panel.decoded) == ((176.0,), 288.0)  # half, and nine tenths, of 36 to 316
    assert panel.broken == ((232.0, 28.0),)
    assert panel.area.startswith("M36.0 82V82.0H64.0V82.0")
    assert "H176.0V36.4" in panel.area  # 0.1 is three of five powers of ten above the foot
    assert panel.area.endswith("H260.0V82.0H288.0V82") or "M260.0 82V82.0H288.0V82" in panel.area


def test_scenarios_with_the_same_curves_share_a_strip_and_failures_come_first() -> None:
    curves = (a_curve("warm"), a_curve("warm-2"), a_curve(largest=(9.0,) * 10, broken=()))
    found = strips(drawn("fail", *curves))
    assert [(s.title, s.verdict.value, s.open) for s in found] == [
        ("chunked@256", "FAIL", True),
        ("warm, warm-2", "PASS", False),
    ]


def test_a_distribution_falls_from_what_differs_to_the_largest() -> None:
    (spread,) = spreads(drawn("pass", a_curve()))
    (line,) = spread.lines
    places = [tuple(map(float, p.split())) for p in line.path.removeprefix("M").split("L")]
    up = Logarithmic(0.5 / 1000, 1.0, 214, 10)
    # 10 % of the positions are in class 21 or above it, 1 % in class 25, none beyond.
    assert {y for _, y in places} == {up.at(0.1), up.at(0.01)}
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert line.says == "1,000 positions, 90 % exactly the same"
    assert not spread.floor


def test_marks_are_the_limits_of_percentiles() -> None:
    (spread,) = spreads(drawn("fail", a_curve()))
    across, up = Logarithmic(1e-4, 10.0, 44, 470), Logarithmic(0.5 / 1000, 1.0, 214, 10)
    places = [(across.at(0.15), up.at(0.01)), (across.at(0.4), up.at(0.001))]
    assert [(mark.x, mark.y) for mark in spread.marks] == places
    assert not any(mark.holds for mark in spread.marks)
    (held,) = spreads(drawn("pass", a_curve()))
    assert all(mark.holds for mark in held.marks)
    assert held.marks[0].says == "prompt.all.p99: limit 0.15, largest 0.0230"


def test_the_reference_served_again_is_the_floor() -> None:
    report = drawn("pass", a_curve())
    again = {"kind": Kind.AGAIN, "name": "chunked@256"}
    scenarios = tuple(s.model_copy(update=again) for s in report.scenarios if s.reference)
    (spread,) = spreads(report.model_copy(update={"scenarios": scenarios}))
    assert spread.floor and spread.lines[0].floor


def test_leg_without_a_difference_has_no_drawing() -> None:
    assert spreads(drawn("pass", counts={0: 1000})) == []


def test_the_heat_map_has_the_worst_segment_of_every_statistic() -> None:
    found = worst_segment(report_of("fail"))
    assert found is not None
    assert [name for name, _ in found.columns] == ["warm", "chunked@256"]
    mean = next(row for row in found.rows if row.label == "prompt mean")
    broken = mean.cells[1]
    # 31 times 1.31 times 0.0037, behind the edge, against 0.02.
    assert (broken.over, broken.text) == (True, "0.150 ✗")
    assert "prompt.edge+0.mean" in broken.says
    assert not mean.cells[0].over
    cut = next(row for row in found.rows if row.label == "cut mean")
    assert (cut.cells[0].text != "", cut.cells[1].text) == (True, "")


def test_every_limit_has_a_cell_in_the_long_map() -> None:
    report = report_of("fail")
    found = every_segment(report)
    assert found is not None
    limits = sum(len(c.limits) for c in report.checks if "." in next(iter(c.limits), ""))
    assert sum(bool(cell.text) for row in found.rows for cell in row.cells) == limits > 100


def test_states_are_squares_of_layers_by_positions() -> None:
    found = state_maps(report_of("states that part"))
    assert found is not None
    assert found.layers[-1] == "model.layers.10.mixer"  # by number, not by letter
    assert [m.over for m in found.maps] == sorted((m.over for m in found.maps), reverse=True)
    healthy, lost = found.maps[0].fields
    assert {(s.column, s.row) for s in healthy.squares} == {
        (c, r) for c in (0, 1) for r in range(3)
    }
    assert (healthy.prompt, healthy.positions) == ("ledger", ((256, 1), (1187, 5)))
    assert [s.over for s in lost.squares] == [False, True, True]  # 0.0012, 0.75 and NaN
    assert lost.largest == "n/a"


def test_the_word_in_which_outputs_part_is_marked() -> None:
    (task,) = flipped(report_of("tasks"))
    pair = task.pairs[0]
    sides = pair.reference, pair.candidate
    assert [side.differs for side in sides] == ["24", "23"]
    assert {side.same[-2:] for side in sides} == {"= "}
    assert [side.rest for side in sides] == [" clips.\n#### 24", " clips.\n#### 23"]


def test_phases_follow_one_another() -> None:
    found = timeline([Phase(name="load", seconds=30.0), Phase(name="serve", seconds=10.0)])
    assert found is not None
    assert [(b.start, b.share, b.says) for b in found.bars] == [(0, 75, "30 s"), (75, 25, "10 s")]
    assert timeline([]) is None
