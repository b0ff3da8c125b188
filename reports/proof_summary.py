"""What was proven, in the words of what was observed."""

import re
from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from linattn_verify.checks.result import Proof
from linattn_verify.reports.document import Report, ScenarioReport
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.repetitions import repetitions

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
    "memory": "{observed}",
}
"""How an observation reads without its statement; any other is named."""
_SHORTER = {
    r"\b(\d+) of (\d+)\b": r"\1/\2",
    "such prompts in at least": "long prompts in ≥",
    "requests with 0 cached tokens": "requests uncached",
    r"^zeros in tensors: .+$": "zeroed memory",
    r"^(\w+) in tensors: (.+)$": r"\1 in every cache tensor (\2)",
}
_EACH_ITS_OWN = ("faults_fired",)
"""What is to be read in every scenario, though the statement is the same."""


def proof_summary(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """What does not hold, what holds everywhere, each scenario's own facts, then what holds again
    in repetitions."""
    yield ink.heading("What was proven")
    proven = [scenario for scenario in report.scenarios if scenario.proofs]
    if not proven:
        yield ink.text("Nothing: no scenario left a proof.")
        return
    for scenario in proven:
        for proof in scenario.proofs:
            if not proof.holds:
                yield _missing(scenario, proof, ink)
    repeats = repetitions(report.scenarios)
    proven = [scenario for scenario in proven if scenario.name not in repeats]
    common = _common(proven)
    if common:
        said = " · ".join(proof.expected for proof in common)
        yield ink.text(f"In every one of {len(proven)} scenarios: {said}")
    wide = _widespread(proven, common)
    yield from _but(wide, proven, ink)
    yield _own(proven, [*common, *wide], ink)
    yield from _again(report.scenarios, repeats, ink)


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


def _widespread(proven: Sequence[ScenarioReport], common: Sequence[Proof]) -> list[Proof]:
    """Statements that hold, the same, wherever there is one of that name, which is in most of at
    least four scenarios."""
    known = {proof.name for proof in common}
    stated: dict[str, list[Proof]] = {}
    for scenario in proven:
        for proof in scenario.proofs:
            stated.setdefault(proof.name, []).append(proof)
    return [
        found[0]
        for name, found in stated.items()
        if name not in (*known, *_EACH_ITS_OWN)
        and all(p.holds and p.expected == found[0].expected for p in found)
        and len(found) >= 3
        and 2 * len(found) > len(proven)
    ]


def _but(
    wide: Sequence[Proof], proven: Sequence[ScenarioReport], ink: Ink
) -> Iterator[RenderableType]:
    """Each of these statements once, with the scenarios of which it is not made."""
    by_exceptions: dict[tuple[str, ...], list[str]] = {}
    for proof in wide:
        having = {s.name: p for s in proven for p in s.proofs if p.name == proof.name}
        same = len({p.observed for p in having.values()}) == 1
        without = tuple(s.name for s in proven if s.name not in having)
        by_exceptions.setdefault(without, []).append(said_of(proof) if same else proof.expected)
    for names, said in by_exceptions.items():
        yield ink.text(f"In all but {', '.join(names)}: {' · '.join(said)}")


def _own(proven: Sequence[ScenarioReport], said: Sequence[Proof], ink: Ink) -> RenderableType:
    """A row for each scenario, without what was said of all; those of which the same was seen share
    it."""
    known = {(proof.name, proof.expected) for proof in said}
    rows: dict[tuple[str, str], list[str]] = {}
    for scenario in proven:
        own = [p for p in scenario.proofs if p.holds and (p.name, p.expected) not in known]
        held = sum(proof.holds for proof in scenario.proofs)
        key = f"{held}/{len(scenario.proofs)}", " · ".join(map(said_of, own)) or "–"
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


def _again(
    scenarios: Sequence[ScenarioReport], repeats: dict[str, tuple[Proof, ...]], ink: Ink
) -> Iterator[RenderableType]:
    """Repetitions of which the same is to be said beside what holds of the scenario repeated."""
    groups: dict[str, list[ScenarioReport]] = {}
    for scenario in scenarios:
        if scenario.name in repeats:
            beside = " · ".join(map(said_of, repeats[scenario.name]))
            groups.setdefault(beside, []).append(scenario)
    for beside, group in groups.items():
        names = ", ".join(scenario.name for scenario in group)
        count = sum(len(scenario.proofs) for scenario in group)
        which = "each" if len(group) > 1 else "it"
        said = f"the proofs of the scenario that {which} repeats"
        yield ink.text(f"Again in {names} ({count}/{count}): {said}{beside and ' · '}{beside}")


def said_of(proof: Proof) -> str:
    """A proof in the words of what was observed."""
    template = _SAID.get(proof.name, "{name}: {observed}")
    if proof.name == "cached_tokens" and "cached" in proof.observed:
        template = "{observed}"
    observed = proof.observed
    for pattern, shorter in _SHORTER.items():
        observed = re.sub(pattern, shorter, observed)
    return template.format(name=proof.name.replace("_", " "), observed=observed)
