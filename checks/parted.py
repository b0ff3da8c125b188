"""Where states part: the first place, and every error by place."""

import math
from typing import Any

import numpy as np
import pandas as pd

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.judging import prompt_name
from linattn_verify.checks.result import How, LimitOutcome, Parted, StateErrors
from linattn_verify.checks.state_limits import error_of
from linattn_verify.checks.states import Equivalence


def first_parted(
    evidence: Evidence,
    between: pd.DataFrame,
    found: Equivalence,
    outcomes: dict[str, LimitOutcome],
) -> Parted | None:
    """Where the states first part: what a step found is exact, so it comes before an error that
    only a limit tells from rounding."""
    changed = between[~between["same"]]
    if len(changed):
        row = changed.iloc[0].to_dict()
        how: How = "not restored" if row["restored"] else "not carried"
        return _place(evidence, row, how, None, _changed(row), _tally(changed, between))
    limits = {part: outcomes.get(error_of(part)) for part in found.rows["part"].unique()}
    most = found.rows["part"].map({p: o.limit if o else math.inf for p, o in limits.items()})
    most = most.astype(float)
    beyond = found.rows[(found.rows["error"] > most) | ~np.isfinite(found.rows["error"])]
    if beyond.empty:
        return None
    row = beyond.iloc[0].to_dict()
    error, outcome = float(row["error"]), limits[row["part"]]
    known = error if math.isfinite(error) else None
    seen = "NaN, infinity or another shape" if known is None else f"relative error {error:.3g}"
    seen += f" (limit {outcome.limit:.3g})" if outcome else ""
    return _place(evidence, row, "differs", known, seen, _tally(beyond, found.rows))


def _changed(row: dict[Any, Any]) -> str:
    """What the step found in place of what was left."""
    now, before = float(row["norm"]), float(row["norm_left"])
    what = f"another state (norm {now:.3g}, left with {before:.3g})"
    if now == 0:
        what = "zeros"
    elif not math.isfinite(now):
        what = "NaN or infinity"
    return f"the step found {what}"


def _tally(hit: pd.DataFrame, among: pd.DataFrame) -> str:
    """How many states of each part are hit, and in how many layers."""
    counts, of = hit["part"].value_counts(), among["part"].value_counts()
    said = [f"{int(counts.get(part, 0))} of {n} {part}" for part, n in sorted(of.items())]
    layers = f"{hit['index'].nunique()} of {among['index'].nunique()} layers"
    return f"{' and '.join(said)} states are wrong, in {layers}"


def _place(
    evidence: Evidence,
    row: dict[Any, Any],
    how: How,
    error: float | None,
    seen: str,
    spread: str,
) -> Parted:
    request, position = int(row["request"]), int(row["position"])
    edge, index = int(row["edge"]), int(row["index"])
    prompt = prompt_name(evidence, request)
    at = f"edge {edge}" if edge else "restored from the cache"
    words = {"not carried": "state not carried", "not restored": "state not restored"}
    said = (
        f"{words.get(how, 'state differs')} first at token {position} of {prompt} ({at}), layer "
        f"{index} ({row['layer']}), {row['part']}: {seen}; {spread}"
    )
    return Parted(
        how=how,
        request=request,
        prompt=prompt,
        position=position,
        edge=edge,
        layer=str(row["layer"]),
        index=index,
        kind=str(row["kind"]),
        part=str(row["part"]),
        error=error,
        found=seen,
        spread=spread,
        detail=said,
    )


def errors_by_place(evidence: Evidence, found: Equivalence) -> tuple[StateErrors, ...]:
    """The relative error of every layer, by request, position and part."""
    places: dict[tuple[int, int, int, str], dict[str, float]] = {}
    for row in found.rows.to_dict("records"):
        key = int(row["request"]), int(row["position"]), int(row["edge"]), str(row["part"])
        layers = places.setdefault(key, {})
        layer, error = str(row["layer"]), float(row["error"])
        layers[layer] = max(error, layers.get(layer, 0.0))
    return tuple(
        StateErrors(
            request=request,
            prompt=prompt_name(evidence, request),
            position=position,
            edge=edge,
            part=part,
            by_layer={k: v if math.isfinite(v) else None for k, v in layers.items()},
        )
        for (request, position, edge, part), layers in sorted(places.items())
    )
