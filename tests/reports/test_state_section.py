"""States on the terminal: where they part, every number, and nothing of them among metrics."""

from collections.abc import Callable, Sequence

import pytest
from rich.cells import cell_len

from linattn_verify.checks.result import CheckResult, StateErrors, Verdict
from linattn_verify.reports.document import Report
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.layer_names import LayerNames
from linattn_verify.reports.state_errors import shown_layers
from linattn_verify.reports.terminal import render_text
from tests.reports.pages import compact
from tests.reports.state_results import HEALTHY, LAYERS, errors, lost, parting, states_of

Make = Callable[..., Report]
Page = Callable[..., str]


def section(text: str) -> str:
    """The section on states."""
    return text.split("\nStates ──")[1].split("\nMetrics by scenario")[0]


def row(text: str, scenario: str) -> list[str]:
    """The words of a scenario's row."""
    lines = (line.split() for line in section(text).splitlines())
    return next(words for words in lines if words[:1] == [scenario] and len(words) > 4)


@pytest.mark.parametrize("kind", ["pass", "fail", "crash", "tasks", "nothing judged"])
def test_without_states_there_is_no_section(page: Page, made: Make, kind: str) -> None:
    assert "States ──" not in page(made(kind))


def test_a_row_has_errors_margins_counts_and_the_worst_place(page: Page, made: Make) -> None:
    """1/256 of 1/32 leaves a margin of 8, 1/64 of 1/16 one of 4: the recurrent state is nearer."""
    text = page(made("states"))
    numbers = ["0.0039", "×8.0", "0.0156", "×4.0", "12", "7/7"]
    assert row(text, "chunked@256") == ["chunked@256", *numbers, "–", "1", "ledger", "1187"]
    assert row(text, "warm") == ["warm", *numbers, "3/3", "1", "ledger", "1187"]
    assert "\nlimit ≤     0.03125     0.0625\n" in text


def test_without_a_restored_state_there_is_no_column_for_them(made: Make) -> None:
    text = compact(made("states", results=(states_of("chunked@256"),)))
    assert "As left" in text and "As saved" not in section(text).replace("as saved:", "")


def test_the_worst_place_is_the_one_nearest_to_its_own_limit(made: Make) -> None:
    """1/64 is half of the convolution's limit, 1/40 two fifths of the recurrent state's."""
    measured = (
        errors("convolution", (0.0, 0.0, 1 / 64), position=300),
        errors("recurrent", (1 / 40, 0.0, 0.0), position=700),
    )
    text = compact(made("states", results=(states_of("warm", measured=measured),)))
    assert row(text, "warm")[-3:] == ["2", "ledger", "300"]


def test_states_that_are_all_the_same_have_no_worst_place(made: Make) -> None:
    same = states_of("warm", measured=HEALTHY[:2])
    words = row(compact(made("states", results=(same,))), "warm")
    assert words == ["warm", "0", "×∞", "0", "×∞", "12", "7/7", "–", "all", "exactly", "0"]


def test_changed_states_and_what_is_no_number_are_marked(page: Page, made: Make) -> None:
    """3 of 5 restored states changed; the NaN is further off than any number."""
    words = row(page(made("states that part")), "warm")
    assert words[1:] == [*("0.0039", "×8.0", "n/a", "✗", "12", "7/7", "2/5✗"), "2", "story", "811"]


def test_the_mark_is_explained_where_there_is_one(page: Page, made: Make) -> None:
    said = "✗: beyond its limit, or changed."
    assert said in " ".join(page(made("states that part")).split())
    assert said not in " ".join(page(made("states")).split())


def test_where_states_part_is_said_in_words_before_the_numbers(page: Page, made: Make) -> None:
    text = section(page(made("states that part"), 100))
    assert text.split("\n", 1)[1].startswith(
        "✗ warm: a step did not find the state that was saved in the cache\n"
        "  first at  token 256 of story, restored from the cache\n"
        "  layer     2 of those that keep a state: model.layers.10.mixer (mamba2)\n"
        "  state     recurrent: the step found zeros\n"
        "  in all    0 of 6 convolution and 3 of 6 recurrent states are wrong, in 1 of 3 layers\n"
        "\n"
        "Largest relative error"
    )


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("not carried", "a step did not find the state that the step before it had left"),
        ("differs", "the state is not the one that a single-step prefill leaves"),
    ],
)
def test_every_way_to_part_has_its_words(made: Make, how: str, says: str) -> None:
    parted = lost("chunked@256", how=how, edge=3, position=700)
    text = compact(made("states", results=(parted,)), 100)
    assert f"✗ chunked@256: {says}\n" in text
    assert "first at  token 700 of story, edge 3 (after step 3 of the request)\n" in text


def test_scenarios_that_part_at_the_same_place_are_named_together(made: Make) -> None:
    parted = (lost("warm"), lost("warm-2"), lost("chunked@256", index=0))
    text = section(compact(made("states", results=parted)))
    assert "✗ warm, warm-2: a step" in text and "✗ chunked@256: a step" in text


def test_the_words_of_a_place_are_data(page: Page, made: Make) -> None:
    hostile = lost("warm", prompt="[red]x[/]", layer="\x1b[31mlayer", found="[/b] :boom:")
    text = page(made("states", results=(hostile,)))
    for shown in ("token 256 of [red]x[/]", r"\x1b[31mlayer", "[/b] :boom:"):
        assert shown in text


def test_what_was_left_out_is_counted_with_its_reason(page: Page, made: Make) -> None:
    results = (states_of("chunked@256", left_out=42), states_of("warm", left_out=1250))
    assert (
        "Not compared, no prefix was prefilled up to their position: 42 in chunked@256, "
        "1,250 in warm."
    ) in page(made("states", results=results), 120)


def test_limits_of_states_are_told_with_their_origin(page: Page, made: Make) -> None:
    text = " ".join(section(page(made("states"))).split())
    assert (
        "Limits: states changed between steps ≤ 0 (rule of the check); convolution error ≤ 0.03125 "
        "(eight times what 7 model families differ by); recurrent error ≤ 0.0625 (eight times what "
        "7 model families differ by). For scale: rounding a number to bfloat16 moves it by up to "
        "0.0039 (2^-8) of it."
    ) in text


def test_a_scenario_that_was_refused_has_no_row(
    made: Make, compared: Callable[..., CheckResult]
) -> None:
    refused = CheckResult(
        name="state_equivalence",
        scenario="warm",
        reference="prefixes",
        verdict=Verdict.ERROR,
        message="the states of warm are not there",
    )
    results = (compared("chunked@256"), states_of("chunked@256"), refused)
    assert "\nwarm " not in section(compact(made("states", results=results)))
    assert "States ──" not in compact(made("states", results=(refused,)))


def test_metrics_of_log_probabilities_are_without_states_and_memory(page: Page, made: Make) -> None:
    text = page(made("states that part"), 120).split("\nMetrics by scenario")[1]
    text = text.split("\nWorst tokens")[0]
    assert "chunked@256 vs full" in text
    for foreign in (
        "prefixes",
        "states_changed",
        "rows differing",
        "rows_differing",
        "eight times",
    ):
        assert foreign not in text


def test_the_full_page_has_every_error(made: Make) -> None:
    text = section(render_text(made("states")))
    assert (
        "\nchunked@256, warm · recurrent (limit 0.0625)\n"
        "Prompt  Token  Edge  0       1       2\n"
        "ledger   1187     5  0.0012  0.0156  0.0035\n"
        "exactly 0 in every layer: ledger 256\n"
    ) in text
    assert "Layers: 0 model.layers.2.mixer, 1 model.layers.9.mixer, 2" in text
    assert "Relative errors by layer" not in compact(made("states"))


def test_errors_beyond_the_limit_are_marked_one_by_one(made: Make) -> None:
    text = section(render_text(made("states that part")))
    assert "\nstory     811     1  0.0012  0.750✗  n/a✗\n" in text
    assert "\nwarm · recurrent (limit 0.0625)\n" in text
    assert "\nchunked@256, warm · convolution (limit 0.03125)\n" in text


def deep(layers: int, worst: Sequence[int]) -> tuple[StateErrors, LayerNames]:
    """A model of so many layers, of which some are worse, the first of them most."""
    names = [f"model.layers.{n}.mixer" for n in range(layers)]
    sizes = {names[n]: 0.04 / (place + 1) for place, n in enumerate(worst)}
    by_layer = {name: sizes.get(name, 0.0001) for name in names}
    made = errors("recurrent", (0.0, 0.0, 0.0)).model_copy(update={"by_layer": by_layer})
    return made, LayerNames(names)


def test_of_many_layers_the_worst_are_shown_in_the_model_s_order() -> None:
    """60 columns less 23 for the place and 8 for the others: two columns of 8, then no room."""
    row_, names = deep(48, [31, 7, 40])
    shown = shown_layers([row_], names, 0.0625, Ink(width=52))
    assert shown == ("model.layers.7.mixer", "model.layers.31.mixer")


def test_of_many_layers_the_largest_of_the_others_stands_beside(made: Make) -> None:
    row_, _ = deep(48, [31, 7, 40, 2, 13, 19, 23])
    text = section(render_text(made("states", results=(states_of("warm", measured=(row_,)),)), 60))
    said = "layers with the largest errors; others ≤: the largest"
    assert f"the 3 of 48 {said}" in " ".join(text.split())
    assert "Prompt  Token  Edge  7       31      40      others ≤\n" in text
    assert "ledger   1187     5  0.0200  0.0400  0.0133  0.0100\n" in text


@pytest.mark.parametrize("width", [60, 66, 80, 81, 120])
def test_names_that_are_long_do_not_overflow(made: Make, width: int) -> None:
    row_, _ = deep(72, [71, 3])
    long = row_.model_copy(update={"prompt": "a prompt of a long name" * 3})
    parted = parting(prompt=long.prompt, layer="model." * 20)
    result = states_of("s" * 45, restored=3, changed=3, measured=(long,), parted=parted)
    for text in (compact, render_text):
        lines = text(made("states", results=(result,)), width).splitlines()
        assert max(map(cell_len, lines)) <= width


def test_a_narrow_console_says_what_a_wider_one_shows(made: Make) -> None:
    narrow = section(compact(made("states that part"), 60))
    assert "A wider console also shows Layer, Worst at." in narrow
    assert "A wider console" not in section(compact(made("states that part"), 80))


def test_layers_are_counted_in_the_model_s_order() -> None:
    names = LayerNames([LAYERS[2], LAYERS[0], LAYERS[1], LAYERS[0]])
    assert [names.number(name) for name in LAYERS] == [0, 1, 2] and len(names) == 3
