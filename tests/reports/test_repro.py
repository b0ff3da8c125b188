"""The script for plain vLLM, as far as it goes without one."""

import ast
import math
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from linattn_verify.checks.localised import Localised
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import EnginePlan, Kind, Scenario
from linattn_verify.engine.repro_script import differences, judged
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.localised_section import localised_lines
from linattn_verify.reports.repro import repro_case, repro_script

PROMPTS = ((5, 6, 7), (8, 9))
LIMITS = {"mean": 0.45, "largest": 4.0}
ENGINE = EnginePlan(
    name="plain",
    requested={
        **{"dtype": "auto", "revision": None, "enforce_eager": True, "max_num_seqs": 512},
        **{"max_model_len": 64, "enable_prefix_caching": False, "max_num_batched_tokens": 512},
    },
    scenarios=(),
)


def scenario(kind: Kind, **more: Any) -> Scenario:
    return Scenario(name="it", kind=kind, reference="full", budget=16, legs=(Leg.PROMPT,), **more)


def case(of: Scenario, rounds: int = 1) -> dict[str, Any]:
    return repro_case("folder", ENGINE, of, 16, PROMPTS, 4, rounds, LIMITS)


def localised(**changes: Any) -> Localised:
    smallest = {
        **{"reproduced": True, "prompts": ("al[b]pha",), "prompt_tokens": (17,), "budget": 16},
        **{"alone": True, "largest_budget": 96, "passing_budget": 104, "first_edge": 64},
        **{"trials": 12, "finished": True, **changes.pop("smallest", {})},
    }
    fields = {
        **{"scenario": "chunked@16", "reference": "full", "fault_class": "convolution state only"},
        **{"because": "as\nseen", "parted": None, "smallest": smallest, "by_output": True},
        **{"others": (), "repro": "repro.py", **changes},
    }
    return Localised.model_validate(fields)


def told(found: Localised) -> str:
    console = Console(width=200, record=True, file=StringIO())
    for part in localised_lines(found, Ink(width=200)):
        console.print(part, markup=False, highlight=False)
    return console.export_text()


def test_a_chunked_candidate_has_the_small_step_and_the_reference_the_large_one() -> None:
    made = case(scenario(Kind.CHUNKED))
    assert made["candidate"] == {"max_num_batched_tokens": 16, "enable_prefix_caching": False}
    assert made["reference"] == {"max_num_batched_tokens": 512, "enable_prefix_caching": False}
    assert made["engine"] == {
        **{"dtype": "auto", "enforce_eager": True, "max_model_len": 64, "max_num_seqs": 2}
    }
    assert made["prompts"] == [[5, 6, 7], [8, 9]] and not made["fill_with_nan"]


def test_a_warm_candidate_is_served_from_its_own_cache() -> None:
    made = case(scenario(Kind.WARM, after="cold"), rounds=2)
    assert made["candidate"] == {"max_num_batched_tokens": 512, "enable_prefix_caching": True}
    assert made["rounds"] == 2


def test_a_twin_is_served_on_nan() -> None:
    assert case(scenario(Kind.FULL, twin="full"))["fill_with_nan"]


def test_the_script_is_python_with_its_case_and_no_trace_of_this_tool() -> None:
    made = case(scenario(Kind.CHUNKED))
    text = repro_script(made, localised(), {"vllm": "1.2.3"})
    assert text.startswith(
        "# vLLM: convolution state only (chunked@16 against full)\n# as\n# seen\n"
    )
    assert "vllm 1.2.3" in text
    tree = ast.parse(text)
    (found,) = [
        node
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    assert found.value is not None and ast.literal_eval(found.value) == made
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    assert {n.module for n in imports} == {"collections.abc", "typing", "vllm"}


@pytest.mark.parametrize(
    ("deltas", "shown"),
    [
        pytest.param({}, False, id="nothing"),
        pytest.param({p: 0.44 for p in range(40)}, False, id="below the mean"),
        pytest.param({p: 0.46 for p in range(40)}, True, id="above the mean"),
        pytest.param({p: 0.46 for p in range(10)}, False, id="too few for a mean"),
        pytest.param({p: 2.0 * (p in (20, 21, 22, 23)) for p in range(90)}, True, id="a window"),
        pytest.param({p: 3.9 * (p == 20) for p in range(90)}, False, id="one position"),
        pytest.param({3: 4.1}, True, id="beyond the largest"),
        pytest.param({3: 0.0, 4: math.nan}, True, id="NaN"),
    ],
)
def test_what_is_more_than_rounding(deltas: dict[int, float], shown: bool) -> None:
    said, found = judged(deltas, **LIMITS)
    assert found is shown and said


def test_only_what_the_candidate_has_computed_is_compared() -> None:
    reference: dict[str, float | None] = {"1": -1.0, "2": -2.0, "3": -3.0}
    assert differences({"2": -2.5, "3": -3.0}, reference) == {2: 0.5, 3: 0.0}
    assert math.isnan(differences({"2": None}, reference)[2])


def test_the_section_says_where_how_small_and_what_to_run() -> None:
    text = told(localised())
    for part in (
        "convolution state only (chunked@16 against full)",
        "a prompt of 17 tokens (al[b]pha) in steps of 16; one request alone fails",
        "largest failing step 96 tokens, 104 passes; first bad edge after 64 tokens",
        "12 cases tried.",
        "plain vLLM, without this tool: repro.py",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        pytest.param({"smallest": {"reproduced": None}}, "no time", id="no time"),
        pytest.param({"smallest": {"reproduced": False}}, "served before", id="not by itself"),
        pytest.param({"smallest": {"finished": False}}, "time was up", id="time was up"),
        pytest.param({"smallest": {"alone": False}}, "only a batch", id="batch"),
        pytest.param({"by_output": False}, "may show nothing", id="states alone"),
    ],
)
def test_the_section_says_what_is_not_known(changes: dict[str, Any], part: str) -> None:
    assert part in told(localised(**changes))
