"""Scenarios that repeat another: what is proven of them beside what is proven of that one."""

from collections.abc import Iterable

from linattn_verify.checks.result import Proof
from linattn_verify.reports.document import ScenarioReport


def repetitions(scenarios: Iterable[ScenarioReport]) -> dict[str, tuple[Proof, ...]]:
    """Of each twin whose proofs all hold, those that do not hold, in the same words, of the
    scenario it repeats. A twin of which anything is not proven is told like any other scenario."""
    by_name = {scenario.name: scenario for scenario in scenarios}
    found: dict[str, tuple[Proof, ...]] = {}
    for scenario in by_name.values():
        original = by_name.get(scenario.twin or "")
        if original is None or not scenario.proofs or not all(p.holds for p in scenario.proofs):
            continue
        held = {(proof.name, proof.expected) for proof in original.proofs if proof.holds}
        beside = (p for p in scenario.proofs if (p.name, p.expected) not in held)
        found[scenario.name] = tuple(beside)
    return found
