"""From a request and the prompts' lengths to a plan."""

from collections.abc import Collection

from linattn_verify.configs.errors import UsageError, unknown
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import EnginePlan, Kind, Plan, Scenario
from linattn_verify.configs.profile import EngineValue
from linattn_verify.configs.request import Request

_MANY_SEQS = 1024
_WHOLE = (Leg.PROMPT, Leg.DECODE, Leg.FREE)


def build_plan(
    request: Request,
    lengths: tuple[int, ...],
    kinds: Collection[Kind],
    max_position_embeddings: int | None = None,
) -> Plan:
    """The engines and scenarios that checks of these `kinds` need. `lengths`: tokens by prompt.

    Scenarios that differ only in the budget share an engine, unless the profile says `isolate`.
    """
    full = _full_budget(request, lengths)
    scenarios = [s for s in _scenarios(request, full) if s.kind in _needed(kinds)]
    check_inject(request, kinds)
    max_model_len = _max_model_len(request, lengths, max_position_embeddings)
    shared = max((s.budget for s in scenarios), default=0)
    groups: dict[str, list[Scenario]] = {}
    for scenario in scenarios:
        groups.setdefault(_engine_of(scenario, request.profile.isolate), []).append(scenario)
    return Plan(
        engines=tuple(
            EnginePlan(
                name=name,
                requested=_engine_args(request, members, shared, max_model_len),
                scenarios=tuple(members),
            )
            for name, members in groups.items()
        )
    )


def _full_budget(request: Request, lengths: tuple[int, ...]) -> int:
    """A step that holds all prompts, or as many whole ones as the profile allows."""
    return max(max(lengths), min(sum(lengths), request.profile.max_step_tokens))


def _needed(kinds: Collection[Kind]) -> set[Kind]:
    """`kinds` and what they are compared with."""
    needed = set(kinds)
    if Kind.WARM in needed:
        needed.add(Kind.COLD)
    return needed | ({Kind.FULL} if needed else set())


def _scenarios(request: Request, full: int) -> list[Scenario]:
    chunked = [
        Scenario(name=f"chunked@{n}", kind=Kind.CHUNKED, reference="full", budget=n, legs=_WHOLE)
        for n in request.profile.budgets
    ]
    warm = [
        Scenario(
            name=name,
            kind=Kind.WARM,
            reference="cold",
            budget=full,
            legs=(*_WHOLE, Leg.CUT),
            after=after,
        )
        for name, after in (("warm", "cold"), ("warm-2", "warm"))
    ]
    every = [
        Scenario(name="full", kind=Kind.FULL, reference=None, budget=full, legs=_WHOLE),
        *chunked,
        Scenario(name="cold", kind=Kind.COLD, reference="full", budget=full, legs=_WHOLE),
        *warm,
    ]
    return [s.model_copy(update={"faults": request.inject.get(s.name, ())}) for s in every]


def check_inject(request: Request, kinds: Collection[Kind]) -> None:
    """Raise UsageError where a fault is for a scenario that checks of these kinds do not need."""
    needed = _needed(kinds)
    names = [s.name for s in _scenarios(request, full=1) if s.kind in needed]
    for name in request.inject:
        if name not in names:
            raise unknown("scenario", name, names, "--inject")


def _engine_of(scenario: Scenario, isolate: bool) -> str:
    if scenario.kind in (Kind.COLD, Kind.WARM):
        return "caching"
    return scenario.name if isolate else "plain"


def _engine_args(
    request: Request, members: list[Scenario], shared: int, max_model_len: int
) -> dict[str, EngineValue]:
    """Engine arguments by the engine's names: the profile's, the user's, then the scenarios'."""
    caching = any(s.kind in (Kind.COLD, Kind.WARM) for s in members)
    # One knob: engines that are compared differ in caching alone, unless each has its own budget.
    budget = max(s.budget for s in members) if request.profile.isolate else shared
    # vLLM refuses a step budget below max_num_seqs, which defaults to as much as 1024.
    seqs: dict[str, EngineValue] = {"max_num_seqs": budget} if budget < _MANY_SEQS else {}
    return {
        "seed": request.seed,
        "dtype": request.dtype,
        "trust_remote_code": request.trust_remote_code,
        "revision": request.revision,
        "kv_cache_memory_bytes": int(request.profile.kv_cache_gib * 2**30),
        **seqs,
        **request.profile.engine_args,
        **request.engine_args,
        "max_model_len": max_model_len,
        "enable_chunked_prefill": True,
        "enable_prefix_caching": caching,
        "max_num_batched_tokens": budget,
    }


def _max_model_len(request: Request, lengths: tuple[int, ...], limit: int | None) -> int:
    """The user's, or just enough for the longest prompt and its output, rounded up to 64."""
    need = max(lengths) + request.profile.decode_tokens
    given = request.max_model_len
    room = min(x for x in (given, limit, need) if x is not None)
    if room < need:
        whose = "--max-model-len" if given == room else "the model's max_position_embeddings"
        raise UsageError(
            f"Prompt {lengths.index(max(lengths)) + 1} has {max(lengths)} tokens; with "
            f"{request.profile.decode_tokens} output tokens it needs {need}, but {whose} "
            f"is {room}. "
            "Shorten it, or raise the limit where the model allows it."
        )
    return given or min(x for x in (-(-need // 64) * 64, limit) if x is not None)
