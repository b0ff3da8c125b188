"""The script that shows a fault with nothing but vLLM, ready for an issue upstream."""

from collections.abc import Sequence
from importlib import resources
from pprint import pformat
from typing import Any

from linattn_verify.checks.localised import Localised
from linattn_verify.configs.plan import EnginePlan, Kind, Scenario
from linattn_verify.reports.build import TOOL

_HERE = "CASE: dict[str, Any] = {}\n"
_VARIED = ("max_num_batched_tokens", "enable_prefix_caching", "max_num_seqs", "max_model_len")


def repro_case(
    model: str,
    engine: EnginePlan,
    scenario: Scenario,
    budget: int,
    prompts: Sequence[Sequence[int]],
    output_tokens: int,
    rounds: int,
    limits: dict[str, float],
) -> dict[str, Any]:
    """What the script serves, and how. `rounds`: how often, the last one counts.
    `limits`: `checks.culprits.output_limits`."""
    requested = engine.requested
    common = {k: v for k, v in requested.items() if v is not None and k not in _VARIED}
    whole = requested["max_num_batched_tokens"]
    # One token more than the candidate has: the reference has its output as a prompt.
    need = max(map(len, prompts)) + output_tokens + 1
    room = max(need, int(str(requested["max_model_len"])))
    common |= {"max_model_len": room, "max_num_seqs": min(len(prompts), budget)}
    caching = scenario.kind in (Kind.COLD, Kind.WARM)
    cut = budget if scenario.kind is Kind.CHUNKED else whole
    return {
        "model": model,
        "engine": common,
        "candidate": {"max_num_batched_tokens": cut, "enable_prefix_caching": caching},
        "reference": {
            "max_num_batched_tokens": max(need, int(str(whole))),
            "enable_prefix_caching": False,
        },
        "prompts": [list(ids) for ids in prompts],
        "output_tokens": output_tokens,
        "rounds": rounds,
        "fill_with_nan": scenario.twin is not None,
        "limits": limits,
    }


def repro_script(case: dict[str, Any], localised: Localised, versions: dict[str, str]) -> str:
    """The script's text."""
    template = (resources.files("linattn_verify.engine") / "repro_script.py").read_text("utf-8")
    before, found, after = template.partition(_HERE)
    assert found, "the script has no place for its case"
    data = pformat(case, width=100, compact=True, sort_dicts=False)
    known = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    said = [
        f"vLLM: {localised.fault_class} ({localised.scenario} against {localised.reference})",
        *localised.because.splitlines(),
        f"Found with {TOOL}, on: {known}",
    ]
    head = "".join(f"# {line}\n" for line in said)
    return f"{head}{before}CASE: dict[str, Any] = {data}\n{after}"
