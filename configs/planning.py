"""From a request and the prompts' lengths to a plan."""

from collections.abc import Collection

from linattn_verify.configs.asides import AGAIN, NAN, TIGHT, with_floor, with_hygiene, with_states
from linattn_verify.configs.errors import UsageError, unknown
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.mutations import with_mutations, without_mark
from linattn_verify.configs.plan import EnginePlan, Kind, Need, Plan, Scenario
from linattn_verify.configs.profile import EngineValue
from linattn_verify.configs.request import Request
from linattn_verify.configs.tasks import TaskShape

_MANY_SEQS = 1024
_WHOLE = (Leg.PROMPT, Leg.DECODE, Leg.FREE)
_ANSWER = (Leg.ANSWER,)


def build_plan(
    request: Request,
    lengths: tuple[int, ...],
    kinds: Collection[Kind],
    max_position_embeddings: int | None = None,
    tasks: tuple[TaskShape, ...] = (),
    needs: Collection[Need] = (),
) -> Plan:
    """The engines and scenarios that checks of these `kinds` and `needs` need, and every scenario
    of `tasks`. `lengths`: tokens by prompt.

    Scenarios that differ only in the budget share an engine, unless the profile says `isolate`.
    """
    needed = _needed(kinds)
    scenarios = _prompt_scenarios(request, lengths, needed, needs)
    for task in tasks:
        scenarios += _task_scenarios(request, task)
    check_inject(request, [s.name for s in scenarios])
    if request.profile.mutations:
        scenarios = with_mutations(scenarios)
    if not scenarios:
        return Plan(engines=())
    # Prompts that no check is about are not served, so they need no room.
    served = lengths if needed else ()
    max_model_len = _max_model_len(request, served, tasks, max_position_embeddings)
    shared = max(s.budget for s in scenarios)
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


def prompt_scenario_names(
    request: Request, kinds: Collection[Kind], needs: Collection[Need] = ()
) -> list[str]:
    """Names of the scenarios that serve the prompts for checks of these kinds and needs."""
    return [s.name for s in _prompt_scenarios(request, (1,), _needed(kinds), needs)]


def check_inject(request: Request, names: Collection[str]) -> None:
    """Raise UsageError where a fault is for a scenario that is not among `names`."""
    for name in request.inject:
        if name not in names:
            raise unknown("scenario", name, names, "--inject")


def _needed(kinds: Collection[Kind]) -> set[Kind]:
    """`kinds` and what they are compared with."""
    needed = set(kinds)
    if Kind.WARM in needed:
        needed.add(Kind.COLD)
    return needed | ({Kind.FULL} if needed else set())


def _prompt_scenarios(
    request: Request, lengths: tuple[int, ...], kinds: Collection[Kind], needs: Collection[Need]
) -> list[Scenario]:
    """The scenarios of `kinds` that serve the prompts, and what `needs` adds to them; `warm` is
    compared with `cold`, leg by leg."""
    full = _full_budget(request, lengths, request.profile.decode_tokens)
    every = _scenarios(request, full, _WHOLE)
    chosen = [
        s.model_copy(update={"reference": "cold", "legs": (*_WHOLE, Leg.CUT)})
        if s.kind is Kind.WARM
        else s
        for s in every
        if s.kind in kinds
    ]
    if Need.STATES in needs and chosen:
        chosen = with_states(chosen)
    if Need.HYGIENE in needs and chosen:
        chosen = with_hygiene(chosen, every=request.profile.hygiene == "every")
    if Need.FLOOR in needs and request.profile.contrasts and chosen:
        chosen = with_floor(chosen, max(lengths) + request.profile.decode_tokens)
    return [s.model_copy(update={"faults": _faults(request, s)}) for s in chosen]


def _faults(request: Request, scenario: Scenario) -> tuple[str, ...]:
    """Its own, and those of the scenario that it repeats: a broken engine stays broken."""
    names = filter(None, (scenario.twin, scenario.name))
    return tuple(dict.fromkeys(f for name in names for f in request.inject.get(name, ())))


def _task_scenarios(request: Request, task: TaskShape) -> list[Scenario]:
    """Every scenario that serves a task, each compared with full prefill: does the score last?"""
    full = _full_budget(request, task.lengths)
    return _scenarios(request, full, _ANSWER, f"{task.name}/", task.name)


def _full_budget(request: Request, lengths: tuple[int, ...], output: int = 0) -> int:
    """A step that holds all prompts, or as many whole ones as the profile allows, and any of them
    with `output` tokens that were generated after it."""
    return max(max(lengths) + output, min(sum(lengths), request.profile.max_step_tokens))


def _scenarios(
    request: Request, full: int, legs: tuple[Leg, ...], prefix: str = "", task: str | None = None
) -> list[Scenario]:
    reference = f"{prefix}full"
    kinds: list[tuple[str, Kind, int, str | None]] = [
        ("full", Kind.FULL, full, None),
        *((f"chunked@{n}", Kind.CHUNKED, n, None) for n in request.profile.budgets),
        ("cold", Kind.COLD, full, None),
        ("warm", Kind.WARM, full, "cold"),
        ("warm-2", Kind.WARM, full, "warm"),
    ]
    return [
        Scenario(
            name=prefix + name,
            kind=kind,
            reference=None if kind is Kind.FULL else reference,
            budget=budget,
            legs=legs,
            after=after and prefix + after,
            task=task,
            faults=request.inject.get(prefix + name, ()),
        )
        for name, kind, budget, after in kinds
    ]


def _engine_of(scenario: Scenario, isolate: bool) -> str:
    if scenario.kind in (Kind.COLD, Kind.WARM):
        return "caching"
    if not isolate:
        return "plain"
    own = without_mark(scenario.name).removeprefix(f"{scenario.task}/")
    return own.removesuffix(NAN).removesuffix(TIGHT).removesuffix(AGAIN)


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


def _max_model_len(
    request: Request, lengths: tuple[int, ...], tasks: tuple[TaskShape, ...], limit: int | None
) -> int:
    """The user's, or just enough for the longest prompt and its output, rounded up to 64."""
    output = request.profile.decode_tokens
    prompts = [(f"Prompt {i}", n, output, "Shorten it") for i, n in enumerate(lengths, start=1)]
    asked = [
        (f"Request {i} of {task.name}", n, most, "Give fewer --num-fewshot or --max-gen-toks")
        for task in tasks
        for i, (n, most) in enumerate(zip(task.lengths, task.outputs, strict=True), start=1)
    ]
    what, tokens, most, remedy = max(prompts + asked, key=lambda one: one[1] + one[2])
    need = tokens + most
    given = request.max_model_len
    room = min(x for x in (given, limit, need) if x is not None)
    if room < need:
        whose = "--max-model-len" if given == room else "the model's max_position_embeddings"
        raise UsageError(
            f"{what} has {tokens} tokens; with {most} output tokens it needs {need}, but {whose} "
            f"is {room}. {remedy}, or raise the limit where the model allows it."
        )
    return given or min(x for x in (-(-need // 64) * 64, limit) if x is not None)
