"""What the k most likely tokens of two sides say: [T, k] arrays, vectorised."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

EPSILON = 1e-9
"""Floor of every probability in a divergence, so that none is infinite."""
_FRACTION_BITS = {"bfloat16": 7, "float16": 10, "float32": 23}
_ABSENT = -1
_SLACK = 1.001  # log-probabilities of float32 carry a gap of one unit only to some 1e-6


@dataclass(frozen=True)
class Alternatives:
    """The most likely tokens of T positions, most likely first; absent ones are -1 and -inf."""

    tokens: Ints
    """[T, k]"""
    logprobs: Floats
    """[T, k], nats"""

    def of(self, tokens: Ints) -> Floats:
        """Log-probability of each of `tokens` [T, m] among these; -inf where it is not: [T, m]."""
        same = self.tokens[:, None, :] == tokens[:, :, None]
        found = np.where(same & (tokens >= 0)[:, :, None], self.logprobs[:, None, :], -np.inf)
        return np.asarray(found.max(axis=2, initial=-np.inf))


def alternatives(tokens: pd.Series, logprobs: pd.Series) -> Alternatives:
    """Columns of arrays, of unequal lengths or missing, as two padded matrices."""
    lists = [(_array(t), _array(v)) for t, v in zip(tokens, logprobs, strict=True)]
    width = max((len(t) for t, _ in lists), default=0) or 1
    ids = np.full((len(lists), width), _ABSENT, dtype=np.int64)
    values = np.full((len(lists), width), -np.inf)
    for row, (some_ids, some_values) in enumerate(lists):
        ids[row, : len(some_ids)] = some_ids
        values[row, : len(some_values)] = some_values
    return Alternatives(ids, values)


def unit_in_last_place(dtype: str, magnitude: float | None) -> float:
    """Distance between neighbouring numbers of `dtype` at `magnitude`; 0 where either is not
    known, so that only exact ties count as near."""
    bits = _FRACTION_BITS.get(dtype.removeprefix("torch."))
    if bits is None or not magnitude:
        return 0.0
    return float(2.0 ** (np.floor(np.log2(abs(magnitude))) - bits))


def top1_differs(reference: Alternatives, candidate: Alternatives) -> Mask:
    """Where the most likely token is another: [T]."""
    return np.asarray(reference.tokens[:, 0] != candidate.tokens[:, 0])


def near_tie(reference: Alternatives, candidate: Alternatives, unit: float) -> Mask:
    """Where the reference holds the candidate's most likely token to be within `unit` of its own:
    [T]. A token outside the reference's alternatives is not near."""
    with np.errstate(invalid="ignore"):  # neither side listed: -inf from -inf, which is not near
        gap = reference.logprobs[:, 0] - reference.of(candidate.tokens[:, :1])[:, 0]
    return np.asarray(gap <= unit * _SLACK)


def kl_top_k(reference: Alternatives, candidate: Alternatives) -> Floats:
    """KL(p‖q) of each position, over the reference's top k and one bucket for the rest: [T], nats.

    sum_i p_i ln(p_i / q_i) + P ln(P / Q) with P = 1 - sum_i p_i and Q = 1 - sum_i q_i. A token
    that is not among the candidate's top k has at most the smallest probability there; that bound
    is taken as its q, so sum_i q_i stays below 1. Everything is floored at EPSILON. NaN where a
    side has no alternatives.
    """
    p = np.where(reference.tokens >= 0, np.exp(reference.logprobs), 0.0)
    listed = np.where(candidate.tokens >= 0, candidate.logprobs, np.inf)
    bound = listed.min(axis=1, keepdims=True)
    found = candidate.of(reference.tokens)
    q = np.where(reference.tokens >= 0, np.exp(np.where(np.isinf(found), bound, found)), 0.0)
    listed_part = np.where(p > 0, p * _log_ratio(p, q), 0.0).sum(axis=1)
    rest_p, rest_q = 1 - p.sum(axis=1), 1 - q.sum(axis=1)
    total = listed_part + np.maximum(rest_p, EPSILON) * _log_ratio(rest_p, rest_q)
    known = (reference.tokens[:, 0] >= 0) & (candidate.tokens[:, 0] >= 0)
    return np.asarray(np.where(known, total, np.nan))


def _log_ratio(p: Floats, q: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(p, EPSILON)) - np.log(np.maximum(q, EPSILON)))


def _array(value: object) -> Floats:
    return value if isinstance(value, np.ndarray) else np.empty(0)
