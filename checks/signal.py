"""Prompts in which the loss of a state does not show."""

import pandas as pd

from linattn_verify.checks.compare import compare
from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.judging import class_limits, prompt_name
from linattn_verify.checks.selection import select
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.metrics import Segment, most_specific
from linattn_verify.configs.plan import Scenario

_LEGS = (Leg.PROMPT, Leg.DECODE)


def without_signal(evidence: Evidence, scenario: Scenario) -> tuple[str, ...]:
    """Names of the judged prompts of which no log-probability after a chunk edge is further from
    the reference's than the profile's limit on the largest difference; none where it has no such
    limit. `evidence`: that in which the scenario has lost its state."""
    assert scenario.reference is not None
    candidate, reference = evidence.traces[scenario.name], evidence.traces[scenario.reference]
    limits, _ = class_limits(evidence, candidate.record.engine)
    shows: dict[int, bool] = {}
    for leg in (leg for leg in _LEGS if leg in scenario.legs):
        key = most_specific(limits, f"{leg}.{Segment.LATER}.max")
        if key is None:
            continue
        selection = select(scenario, candidate.record, leg, evidence.profile)
        frame = compare(candidate, reference, selection).frame
        for request, rows in frame.groupby("request"):
            number = int(str(request))
            shows[number] = shows.get(number, False) or _shows(rows, limits[key].limit)
    return tuple(prompt_name(evidence, request) for request, shown in shows.items() if not shown)


def _shows(rows: pd.DataFrame, limit: float) -> bool:
    return bool(rows["non_finite_candidate"].any() or (rows["abs_delta"] > limit).any())
