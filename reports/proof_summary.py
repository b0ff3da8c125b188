"""What was proven, in the words of what was observed."""

import re
from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from linattn_verify.checks.result import Proof
from linattn_verify.reports.document import Report, ScenarioReport
from linattn_verify.reports.ink import Ink

_SAID = {
    "one_prefill_step": "{observed}",
    "prefill_steps": "{observed}",
    "step_tokens": "{observed}",
    "scheduler_budget": "{observed}",
    "prefix_caching": "caching {observed}",
    "prompt_covered": "{observed}",
    "legs_served": "{observed} served",
    "requests_served": "{observed} served",
    "some_hit": "hits in {observed}",
}
"""How an observation reads without its statement; any other is named."""
_SHORTER = {
    r"\b(\d+) of (\d+)\b": r"\1/\2",
    "such prompts in at least": "long prompts in ≥",
    "requests with 0 cached tokens": "requests uncached",
}


def proof_summary(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """What does not hold, what holds everywhere, then each scenario's own facts."""
    yield ink.heading("What was proven")
    proven = [scenario for scenario in report.scenarios if scenario.proofs]
    if not proven:
        yield ink.text("Nothing: no scenario left a proof.")
        return
    for scenario in proven:
        for proof in scenario.proofs:
            if not proof.holds:
                yield _missing(scenario, proof, ink)
    common = _common(proven)
    if common:
        said = " · ".join(proof.expected for proof in common)
        yield ink.text(f"In every one of {len(proven)} scenarios: {said}")
    yield _own(proven, common, ink)


def _missing(scenario: ScenarioReport, proof: Proof, ink: Ink) -> RenderableType:
    return ink.text(
        f"✗ {scenario.name} · {proof.name}: expected {proof.expected}, observed {proof.observed}",
        "bold red",
    )


def _common(proven: Sequence[ScenarioReport]) -> tuple[Proof, ...]:
    """Statements that are the same in every scenario and hold in every one."""
    if len(proven) < 2:
        return ()
    held = [{(p.name, p.expected) for p in s.proofs if p.holds} for s in proven]
    return tuple(
        p for p in proven[0].proofs if all((p.name, p.expected) in known for known in held)
    )


def _own(proven: Sequence[ScenarioReport], common: Sequence[Proof], ink: Ink) -> RenderableType:
    """A row for each scenario; those of which the same was seen share it."""
    known = {(proof.name, proof.expected) for proof in common}
    rows: dict[tuple[str, str], list[str]] = {}
    for scenario in proven:
        own = [p for p in scenario.proofs if p.holds and (p.name, p.expected) not in known]
        held = sum(proof.holds for proof in scenario.proofs)
        key = f"{held}/{len(scenario.proofs)}", " · ".join(map(_said, own)) or "–"
        rows.setdefault(key, []).append(scenario.name)
    table = ink.table("", "", "")
    for (count, facts), names in rows.items():
        whole = len(set(count.split("/"))) == 1
        table.add_row(
            ink.text(", ".join(names), "bold"),
            ink.text(count, "" if whole else "bold red"),
            ink.text(facts),
        )
    return table


def _said(proof: Proof) -> str:
    template = _SAID.get(proof.name, "{name}: {observed}")
    if proof.name == "cached_tokens" and "cached" in proof.observed:
        template = "{observed}"
    observed = proof.observed
    for pattern, shorter in _SHORTER.items():
        observed = re.sub(pattern, shorter, observed)
    return template.format(name=proof.name.replace("_", " "), observed=observed)
