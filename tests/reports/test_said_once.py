"""What reads the same is said once, in checks and proofs; nothing amiss is hidden."""

from collections.abc import Callable

import pytest

from linattn_verify.checks.result import CheckResult, Proof, Verdict
from linattn_verify.reports.document import Report
from linattn_verify.reports.repetitions import repetitions
from linattn_verify.reports.terminal import render_text
from linattn_verify.traces.outcome import Outcome
from tests.reports.conftest import outcomes
from tests.reports.pages import compact
from tests.reports.state_results import clean, lost, states_of

Make = Callable[..., Report]
Compared = Callable[..., CheckResult]
TENSORS = "in tensors: 1 attention, 3 convolution, 3 recurrent; 2,048 MiB"


def checks(text: str) -> str:
    """The section on checks."""
    return text.split("\nChecks: ")[1].split("\n\n")[0]


def proven(text: str) -> str:
    """The section on proofs, without the lines that a narrow console makes."""
    return text.split("What was proven")[1].split("Settings: requested")[0]


def proof(name: str, expected: str, observed: str | None = None, holds: bool = True) -> Proof:
    return Proof(name=name, expected=expected, observed=observed or expected, holds=holds)


def memory(content: str) -> Proof:
    return proof("memory", f"{content} in every cache tensor", f"{content} {TENSORS}")


def served(twins: tuple[str, ...]) -> dict[str, object]:
    """What a run has where these scenarios are served again."""
    done: dict[str, Outcome] = outcomes(twins)
    return {"twins": twins, "outcomes": done}


def test_scenarios_that_passed_alike_share_a_row(made: Make) -> None:
    results = (clean("full-nan"), clean("chunked@256-nan"), states_of("chunked@256"))
    text = checks(compact(made("states", results=results), 120))
    assert (
        "\nPASS  cache_hygiene      full-nan, chunked@256-nan            ×∞      every limited "
    ) in text
    assert "\nPASS  state_equivalence  chunked@256                prefixes  ×4.0    " in text


def test_names_for_which_there_is_no_room_stand_below(made: Make) -> None:
    """80 columns leave 40 for scenarios and metric, of which the metric takes 24."""
    results = (clean("full-nan"), clean("chunked@256-nan"), states_of("chunked@256"))
    text = checks(compact(made("states", results=results)))
    assert text.splitlines()[1:] == [
        "     Check             Scenario         vs       Margin Tightest metric",
        "PASS cache_hygiene     2 scenarios               ×∞     every limited value is 0",
        "     full-nan, chunked@256-nan",
        "PASS state_equivalence chunked@256      prefixes ×4.0   recurrent.error",
    ]


def test_a_narrow_console_has_the_metric_below(made: Make) -> None:
    """60 columns leave 20: 11 for a scenario are too many beside the 15 of a metric."""
    text = checks(compact(made("states", results=(states_of("chunked@256"),)), 60))
    assert text.splitlines()[1:] == [
        "     Check             Scenario    vs       Margin",
        "PASS state_equivalence chunked@256 prefixes ×4.0",
        "     recurrent.error",
    ]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_names_of_checks_are_whole_up_to_17_characters(made: Make, width: int) -> None:
    results = (states_of("chunked@256"), clean("chunked@256-nan"), states_of("warm", restored=3))
    text = checks(compact(made("states", results=results), width))
    assert text.count("state_equivalence ") + text.count("cache_hygiene ") == 2


def test_another_margin_reference_or_verdict_is_another_row(made: Make, compared: Compared) -> None:
    warm = compared("warm")
    others = (
        warm.model_copy(update={"scenario": "warm-2", "reference": "cold"}),
        compared("warm", 0.5).model_copy(update={"scenario": "warm-3"}),
        warm.model_copy(update={"scenario": "warm-4"}),
        warm.model_copy(update={"scenario": "warm-5", "verdict": Verdict.VACUOUS}),
    )
    text = compact(made("pass", results=(warm, *others)), 120)
    assert "\nPASS  prefix-cache  warm, warm-4  full  ×3.6 " in text
    assert "\nPASS  prefix-cache  warm-2        cold  ×3.6 " in text
    assert "\nPASS  prefix-cache  warm-3        full  ×7.2 " in text
    assert "VACUOUS  prefix-cache  warm-5" in text


def test_a_failed_check_never_shares_a_row(made: Make) -> None:
    failed = [
        clean(name).model_copy(update={"verdict": Verdict.FAIL})
        for name in ("full-nan", "warm-nan")
    ]
    text = checks(compact(made("states", results=tuple(failed))))
    assert text.count("FAIL     cache_hygiene") == 2


def test_a_repetition_shows_what_it_has_beside_the_proofs_of_the_other(made: Make) -> None:
    own = proof("one step", "1 step for 10 of 10")
    proofs = {
        "full": (own, memory("zeros")),
        "full-nan": (own, memory("NaN")),
        "chunked@256": (own, memory("zeros")),
        "chunked@256-nan": (own, memory("NaN")),
        "warm": (own,),
    }
    report = made("states", proofs=proofs, **served(("full", "chunked@256")))
    text = proven(compact(report, 200))
    assert (
        "\nAgain in full-nan, chunked@256-nan (4/4): the proofs of the scenario that each repeats "
        "· NaN in every cache tensor (1 attention, 3 convolution, 3 recurrent; 2,048 MiB)\n"
    ) in text
    assert "In every one of 3 scenarios: 1 step for 10 of 10\n" in text
    full = proven(render_text(report, 120))
    assert "\nfull-nan  2 of 2 proven, 1 of them as in full\n  ✓  memory " in full
    assert full.count("one step") == 3


def test_a_repetition_of_which_anything_is_not_proven_is_shown_whole(made: Make) -> None:
    own = proof("one step", "1 step for 10 of 10")
    amiss = proof("memory", "NaN in every cache tensor", "NaN in none", holds=False)
    proofs = {"full": (own, memory("zeros")), "full-nan": (own, amiss)}
    report = made("states", proofs=proofs, **served(("full",)))
    text = proven(compact(report, 120))
    assert "✗ full-nan · memory: expected NaN in every cache tensor, observed NaN in none" in text
    assert "\nfull-nan  1/2 " in text and "Again in" not in text
    assert "full-nan  1 of 2 proven\n" in proven(render_text(report, 120))


def test_what_is_not_proven_of_the_original_is_no_proof_of_its_repetition(made: Make) -> None:
    holds = proof("one step", "1 step for 10 of 10")
    proofs = {"full": (holds.model_copy(update={"holds": False}),), "full-nan": (holds,)}
    report = made("states", proofs=proofs, **served(("full",)))
    assert repetitions(report.scenarios) == {"full-nan": (holds,)}
    assert "✗ full · one step" in compact(report)


def test_what_nearly_every_scenario_has_is_said_once(made: Make) -> None:
    """Memory is stated of 3 of 4 and of none otherwise; caching is stated of all, in two ways."""
    on, off = proof("prefix_caching", "on"), proof("prefix_caching", "off")
    fired = [proof("faults_fired", "every one", f"lost {n} times") for n in range(3)]
    report = made("pass")
    first = report.scenarios[0]
    stated = {
        "full": (off, memory("zeros"), fired[0]),
        "chunked@256": (off, memory("zeros"), fired[1]),
        "cold": (on, memory("zeros"), fired[2]),
        "warm": (on,),
    }
    scenarios = [first.model_copy(update={"name": n, "proofs": p}) for n, p in stated.items()]
    text = proven(compact(report.model_copy(update={"scenarios": tuple(scenarios)}), 120))
    assert "\nIn all but warm: zeroed memory\n" in text
    assert text.count("zeroed") == 1 and text.count("caching o") == 4
    assert text.count("faults fired: lost") == 3


def test_what_is_not_proven_of_one_is_not_said_of_nearly_all(made: Make) -> None:
    report = made("pass")
    first = report.scenarios[0]
    stated = [memory("zeros")] * 3 + [memory("zeros").model_copy(update={"holds": False})]
    scenarios = tuple(
        first.model_copy(update={"name": f"s{n}", "proofs": (p,)}) for n, p in enumerate(stated)
    )
    text = proven(compact(report.model_copy(update={"scenarios": scenarios})))
    assert "✗ s3 · memory" in text and "In all but" not in text and "In every one" not in text


def test_the_headline_counts_a_repetition_as_what_it_repeats(made: Make) -> None:
    """full and chunked@256 by their twins and one by itself as well, and warm."""
    headline = made("states").headline
    assert headline.startswith(
        "chunked-prefill, cache_hygiene and state_equivalence hold in 3 scenarios over "
    )


def test_the_headline_names_the_failure_that_says_where(made: Make, compared: Compared) -> None:
    broken = compared("chunked@256", 31.0)
    headline = made("states", results=(broken, lost("warm"))).headline
    assert headline == (
        "state_equivalence in warm against prefixes: state not restored first at token 256 of "
        "story. 1 more like it below."
    )
    reference = clean("full-nan").model_copy(update={"verdict": Verdict.ERROR})
    assert made("states", results=(reference, lost("warm"))).headline.startswith("state_equ")


def test_a_report_says_which_scenario_a_twin_repeats(made: Make) -> None:
    twins = {s.name: s.twin for s in made("states").scenarios}
    assert twins == {
        "full": None,
        "chunked@256": None,
        "full-nan": "full",
        "chunked@256-nan": "chunked@256",
        "warm": None,
    }
