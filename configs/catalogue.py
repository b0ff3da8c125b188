"""What scenarios and metrics can show, and what they cannot: a line each, for people who choose."""

from collections.abc import Iterator
from typing import NamedTuple

from linattn_verify.configs.metrics import CONTRASTS, STATE_METRICS, STATISTICS
from linattn_verify.configs.profile import BUILT_IN, Profile, load_profile


class Entry(NamedTuple):
    """Something to choose."""

    name: str
    sees: str
    blind: str
    """What it cannot see."""


SCENARIOS: tuple[Entry, ...] = (
    Entry(
        "full",
        "every prompt prefilled in one step, caching off: what the others are compared with",
        "a fault of its own: what is wrong here is wrong everywhere, and nothing parts from it",
    ),
    Entry(
        "chunked@N",
        "prompts cut by a budget of N tokens a step: states carried from chunk to chunk",
        "edges that N does not make; a prompt of fewer tokens than N is not cut at all",
    ),
    Entry(
        "cold",
        "prefix caching on, nothing to hit: what caching changes without a hit",
        "anything about a restored state",
    ),
    Entry(
        "warm, warm-2",
        "the same requests again, served from the cache: restored states, once and twice",
        "hits between requests that run at the same time; a cache that evicts",
    ),
    Entry(
        "full-again",
        "full in the opposite order, few prompts a step: what nothing but batching changes",
        "whatever is wrong in the same way in every batch",
    ),
    Entry(
        "prefixes",
        "the state that a single-step prefill of a prefix leaves: what states are compared with",
        "places where no step of another scenario ends",
    ),
    Entry(
        "…-nan",
        "the scenario again on memory full of NaN: reads of what nobody has written",
        "a read whose result is thrown away",
    ),
    Entry(
        "…-tight",
        "few requests at a time in a small pool: blocks and slots that come round",
        "what only many requests at once bring about",
    ),
    Entry(
        "…~FAULT",
        "the scenario again with its state lost on purpose: whether the checks would have seen it",
        "any smaller loss, and what the engine really does: it is never judged itself",
    ),
    Entry(
        "TASK/…",
        "a task's questions in that scenario: answers that get worse",
        "most lost states: an answer whose facts stand beside the question survives",
    ),
)
"""By name, or by what a name looks like."""
_BLIND: dict[str, str] = {
    "mean": "few wrong tokens among many right ones",
    "p50": "anything that touches fewer than half of the positions",
    "p90": "anything that touches fewer than a tenth of the positions",
    "p99": "one wrong token in hundreds",
    "p99_9": "one wrong token in thousands; in short segments no more than the largest value",
    "max": "whether one token is wrong or all are; near-ties of experts look alike",
    "kl_k3": "a shift that leaves the forced tokens' probabilities as they are",
    "kl_top_k": "what happens beyond the reference's top k; how the rest is shared out",
    "top1_changed": "any error that leaves the most likely token the same",
    "near_ties": "whether rounding or a small fault turned them",
    "non_finite": "any error that is a number",
    STATE_METRICS["convolution"]: "what outputs make of it; layers without such a state",
    STATE_METRICS["recurrent"]: "what outputs make of it; layers without such a state",
    "contrast.noise": "whether the noise is the engine's fault",
    "contrast.first": "what later chunks do",
    "contrast.later": "a fault that first chunks have as well; a loss far below the noise",
    "contrast.edge": "a recurrent state lost in part, which all of a chunk shows alike",
    "contrast.budget": "a fault that every budget has alike",
}


def scenarios() -> tuple[Entry, ...]:
    """Ways of serving the workload."""
    return SCENARIOS


def metrics() -> tuple[Entry, ...]:
    """Statistics of compared log-probabilities, and errors of states."""
    state = {
        metric: f"largest relative error of any layer's {part} state"
        for part, metric in STATE_METRICS.items()
    }
    return tuple(
        Entry(name, text, _BLIND[name])
        for name, text in {**STATISTICS, **state, **CONTRASTS}.items()
    )


def profiles() -> tuple[Entry, ...]:
    """The built-in profiles."""
    return tuple(_profile(load_profile(name)) for name in BUILT_IN)


def _profile(profile: Profile) -> Entry:
    budgets = ", ".join(map(str, profile.budgets))
    asked = "all questions" if profile.task.limit is None else f"{profile.task.limit} questions"
    sees = f"{profile.description} Budgets {budgets}; {asked} of a task."
    return Entry(profile.name, sees, "; ".join(_unseen(profile)))


def _unseen(profile: Profile) -> Iterator[str]:
    yield f"a drop of a score below {100 * profile.task.margin:g} points"
    if profile.engine_args.get("enforce_eager"):
        yield "faults of compiled engines"
    if not profile.isolate:
        yield "what depends on the budget that an engine was started with"
    if profile.hygiene == "some":
        yield "unwritten memory in more than one scenario of a kind"
