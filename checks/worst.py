"""The tokens where two sides differ most, and where in the prompt they are."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from linattn_verify.checks.compare import Comparison
from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.judging import prompt_name
from linattn_verify.checks.result import WorstToken
from linattn_verify.checks.statistics import in_segment
from linattn_verify.configs.metrics import Segment

_BAD = ("non_finite_reference", "non_finite_candidate", "token_mismatch")


def worst_tokens(
    evidence: Evidence, comparisons: Sequence[Comparison], most: int = 10
) -> tuple[WorstToken, ...]:
    """The `most` worst positions that both sides have: those that cannot be compared first, then
    by |Δ|. Positions without any difference are not listed."""
    frames = [c.frame.assign(leg=c.leg.value) for c in comparisons]
    both = pd.concat(frames, ignore_index=True)
    bad = both[list(_BAD)].any(axis=1)
    shown = both[~both["missing"] & ~both["unexpected"] & (bad | (both["abs_delta"] > 0))]
    order = shown.assign(size=shown["abs_delta"].where(~bad, math.inf))
    order = order.sort_values("size", ascending=False, kind="stable").head(most)
    return tuple(_token(evidence, row) for row in order.to_dict("records"))


def worst_place(evidence: Evidence, comparison: Comparison, segment: Segment) -> str:
    """Where in words the largest |Δ| of a segment is; empty where none was compared."""
    rows = in_segment(comparison.frame[comparison.frame["compared"]], segment)
    if rows.empty:
        return ""
    return place(evidence, rows.iloc[int(rows["abs_delta"].to_numpy().argmax())].to_dict())


def place(evidence: Evidence, row: dict[Any, Any]) -> str:
    """A row's place in words: prompt, position, chunk and distance from the last edge."""
    text = f"{prompt_name(evidence, int(row['request']))} position {int(row['position'])}"
    chunk, distance = _whole(row["candidate_chunk"]), _whole(row["candidate_edge_distance"])
    if chunk is None:
        return text
    after = "" if distance is None else f", {distance} after its edge"
    return f"{text} (chunk {chunk}{after})"


def _token(evidence: Evidence, row: dict[Any, Any]) -> WorstToken:
    text = next((t for t in (row["candidate_text"], row["reference_text"]) if _known(t)), "")
    return WorstToken(
        request=int(row["request"]),
        prompt=prompt_name(evidence, int(row["request"])),
        leg=row["leg"],
        position=int(row["position"]),
        text=str(text),
        chunk=_whole(row["candidate_chunk"]),
        edge_distance=_whole(row["candidate_edge_distance"]),
        reference_logprob=_finite(row["reference_logprob"]),
        candidate_logprob=_finite(row["candidate_logprob"]),
        delta=_finite(row["delta"]),
        note=_note(row),
    )


def _note(row: dict[Any, Any]) -> str:
    notes = [
        f"{side}: {what_is_wrong(row[f'{side}_logprob'])}"
        for side in ("reference", "candidate")
        if row[f"non_finite_{side}"]
    ]
    if row["token_mismatch"]:
        notes.append(f"token {row['candidate_token']}, the reference has {row['reference_token']}")
    return "; ".join(notes)


def what_is_wrong(logprob: Any) -> str:
    """The kind of a log-probability that is not finite."""
    if not _known(logprob):
        return "NaN or no value"
    return "NaN among the alternatives" if math.isfinite(logprob) else f"{float(logprob)}"


def _known(value: Any) -> bool:
    return value is not None and not bool(pd.isna(value))


def _whole(value: Any) -> int | None:
    return int(value) if _known(value) else None


def _finite(value: Any) -> float | None:
    return float(value) if _known(value) and math.isfinite(value) else None
