"""What a scenario submits: passes of requests, each with the legs that it yields."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind
from linattn_verify.engine.messages import Run


@dataclass(frozen=True)
class Ask:
    """One request to the engine."""

    request: int
    """Index of its prompt in the workload."""
    leg: Leg
    token_ids: tuple[int, ...]
    max_tokens: int
    salt: str | None = None
    forced: tuple[int, ...] | None = None
    prompt_logprobs: bool = False
    read_cache: bool = False
    record: bool = True
    """False for a request that only fills the cache."""
    states: bool = False
    """Whether its states are read."""


@dataclass(frozen=True)
class Pass:
    """Requests submitted together."""

    asks: tuple[Ask, ...]

    def tokens(self) -> int:
        """Prompt and output tokens of all requests."""
        return sum(len(a.token_ids) + a.max_tokens for a in self.asks)


def passes(run: Run, block: int, round_: int = 0) -> list[Pass]:
    """The passes of a scenario, in order. `block`: tokens of a cache block; `round_`: how often the
    scenario has been served before, so that what is cached is not found again."""
    kind = run.scenario.kind
    if kind is Kind.PREFIX:
        return [_prefixes(run)]
    cached = kind in (Kind.COLD, Kind.WARM)
    found = []
    if Leg.DECODE in run.scenario.legs and run.forced is not None:
        one = _whole_prompts(run, Leg.DECODE, cached, round_)
        # The reference again, in another order.
        found.append(Pass(one.asks[::-1]) if kind is Kind.AGAIN else one)
    if Leg.FREE in run.scenario.legs:
        found.append(_whole_prompts(run, Leg.FREE, cached, round_))
    if kind is Kind.COLD and not run.scenario.aside:
        found += _fill_every_block(run.prompts, block)
    if Leg.CUT in run.scenario.legs:
        found.append(_cuts(run, block))
    return [p for p in found if p.asks]


def _whole_prompts(run: Run, leg: Leg, cached: bool, round_: int = 0) -> Pass:
    """Every prompt at once. Salts differ by request and leg, so that `cold` finds nothing, even
    among prompts that share a prefix, and `warm` finds exactly its own."""
    reference = run.forced is None
    forced = run.forced if leg is Leg.DECODE else None
    first = Leg.FREE if reference else Leg.DECODE
    return Pass(
        tuple(
            Ask(
                request=i,
                leg=leg,
                token_ids=ids,
                max_tokens=run.decode_tokens,
                salt=f"{leg}-{i}{f'-{round_}' if round_ else ''}" if cached else None,
                forced=forced[i] if forced else None,
                prompt_logprobs=leg is Leg.DECODE or reference,
                read_cache=cached,
                states=run.states is not None and i in run.states.requests and leg is first,
            )
            for i, ids in enumerate(run.prompts)
        )
    )


def _prefixes(run: Run) -> Pass:
    """Each prefix as a prompt of its own."""
    return Pass(
        tuple(
            Ask(
                request=prefix.request,
                leg=Leg.PREFIX,
                token_ids=_with_output(run, prefix.request)[: prefix.position],
                max_tokens=1,
                states=True,
            )
            for prefix in run.prefixes
        )
    )


def _with_output(run: Run, request: int) -> tuple[int, ...]:
    return run.prompts[request] + (run.forced[request] if run.forced else ())


def _fill_every_block(prompts: tuple[tuple[int, ...], ...], block: int) -> list[Pass]:
    """A ladder that leaves a state at every block boundary: a prefill in align mode keeps only the
    state of its last boundary, so one prefix a boundary, each going on from the one before."""
    longest = max(map(len, prompts))
    return [
        Pass(
            tuple(
                Ask(i, Leg.CUT, ids[: edge + 1], 1, _ladder(i), read_cache=True, record=False)
                for i, ids in enumerate(prompts)
                if len(ids) > edge + 1
            )
        )
        for edge in range(block, longest, block)
    ]


def _cuts(run: Run, block: int) -> Pass:
    """Prefixes that end around each block boundary and between; each asks for the next token."""
    return Pass(
        tuple(
            Ask(i, Leg.CUT, ids[:cut], 1, _ladder(i), forced=(ids[cut],), read_cache=True)
            for i, ids in enumerate(run.prompts)
            for cut in cut_points(len(ids), block, run.cut_offsets)
        )
    )


def _ladder(request: int) -> str:
    return f"cut-{request}"


def cut_points(
    length: int, block: int, offsets: Iterable[int | Literal["half", "block"]]
) -> list[int]:
    """Prefix lengths to cut a prompt of `length` tokens at: each block boundary plus each offset,
    where the prefix reaches beyond the boundary by at most a block and a token follows it."""
    sizes = {{"half": block // 2, "block": block}.get(str(o), o) for o in offsets}
    points = {
        edge + int(size)
        for edge in range(block, length, block)
        for size in sizes
        if 1 <= int(size) <= block and edge + int(size) < length
    }
    return sorted(points)
