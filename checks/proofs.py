"""Did it happen? Statements about what the engine did, from the scheduler's own record."""

from collections import Counter
from collections.abc import Callable, Iterable

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.memory_proofs import memory_proofs
from linattn_verify.checks.result import Proof
from linattn_verify.checks.selection import passes
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Kind, Scenario
from linattn_verify.configs.profile import Profile
from linattn_verify.traces.schema import RequestRecord, TraceRecord


def prove(evidence: Evidence) -> dict[str, tuple[Proof, ...]]:
    """The proofs of every planned scenario that left a trace."""
    names = [s.name for s in evidence.plan.scenarios() if s.name in evidence.traces]
    return {name: proofs_of(evidence, name) for name in names}


def proofs_of(evidence: Evidence, name: str) -> tuple[Proof, ...]:
    """The proofs of one scenario, with those that the evidence already carries."""
    scenario, record = evidence.scenario(name), evidence.traces[name].record
    names = evidence.request_names(scenario)
    found = prove_scenario(scenario, record, evidence.profile, names)
    return tuple(dict.fromkeys((*found, *evidence.proofs.get(name, ()))))


def prove_scenario(
    scenario: Scenario, record: TraceRecord, profile: Profile, prompts: tuple[str, ...]
) -> tuple[Proof, ...]:
    """What must hold of `record` for the scenario to be what its name says."""
    about = _About(record, prompts)
    common = (
        *_faults_fired(scenario, record),
        *memory_proofs(scenario, record),
        _legs(scenario, record),
        *_requests(scenario, record, prompts),
        about.covered(),
    )
    caching = _caching(record, on=scenario.kind in (Kind.COLD, Kind.WARM))
    if scenario.kind is Kind.WARM:
        return (caching, about.hits_by_law(), about.some_hit(), *common)
    if scenario.kind is Kind.COLD:
        return (caching, about.no_hits(), *common)
    if scenario.kind in (Kind.FULL, Kind.AGAIN, Kind.PREFIX):
        return (about.one_step(), caching, about.no_hits(), *common)
    cut = (_budget_as_read(scenario, record), _steps_within(scenario.budget, record))
    chunks = (
        about.cuts(scenario.budget)
        if scenario.task is not None
        else about.chunks(scenario.budget, profile.min_chunks)
    )
    return (*cut, chunks, caching, about.no_hits(), *common)


def _faults_fired(scenario: Scenario, record: TraceRecord) -> tuple[Proof, ...]:
    """A fault that was put in and never struck shows nothing of the checks."""
    if not scenario.faults:
        return ()
    fired = {name: record.faults.get(name, 0) for name in scenario.faults}
    return (
        Proof(
            name="faults_fired",
            expected="every injected fault at least once",
            observed=", ".join(f"{name} {count} times" for name, count in fired.items()),
            holds=all(fired.values()),
        ),
    )


_TOO_SMALL = (
    "; if the pool of {blocks} blocks is too small for all requests, raise kv_cache_gib in a "
    "profile{fewer}"
)


class _About:
    """Proofs of the kind "this holds of every request"."""

    def __init__(self, record: TraceRecord, prompts: tuple[str, ...]) -> None:
        self.record = record
        self.prompts = prompts
        self.of_task = record.table == "answers"

    def one_step(self) -> Proof:
        return self._every(
            "one_prefill_step",
            "every prompt in one step",
            lambda r: None if len(r.prefill()) == 1 else f"{len(r.prefill())} steps {_sizes(r)}",
            "prompts in one step",
        )

    def no_hits(self) -> Proof:
        return self._every(
            "cached_tokens",
            "0 cached tokens for every request",
            lambda r: f"{r.cached_tokens} cached, expected 0" if r.cached_tokens else None,
            "requests with 0 cached tokens",
        )

    def hits_by_law(self) -> Proof:
        size = self.record.block_size
        return self._every(
            "cached_tokens",
            f"floor((tokens - 1) / {size}) * {size} cached tokens for every request",
            lambda r: _off_law(r, size),
            "requests as the block size predicts",
            hint=self._pool_hint(lambda r: not r.cached_tokens < self._law(r)),
        )

    def some_hit(self) -> Proof:
        hits = sum(r.cached_tokens > 0 for r in self.record.requests)
        observed = f"{hits} of {len(self.record.requests)} requests"
        if not hits and any(self._law(r) for r in self.record.requests):
            observed += _TOO_SMALL.format(blocks=self.record.pool_blocks, fewer="")
        elif not hits:
            observed += f": use prompts longer than a block of {self.record.block_size} tokens"
        return Proof(
            name="some_hit",
            expected="at least one request with cached tokens",
            observed=observed,
            holds=hits > 0,
        )

    def chunks(self, budget: int, least: int) -> Proof:
        bound = (least - 1) * budget
        expected = f"at least {least} prefill steps for every prompt above {bound} tokens"
        long = [r for r in self.record.requests if r.prompt_tokens > bound]
        if not long:
            advice = f"no prompt is above {bound} tokens: use longer prompts or a smaller budget"
            return Proof(name="prefill_steps", expected=expected, observed=advice, holds=False)
        return self._every(
            "prefill_steps",
            expected,
            lambda r: None if len(r.prefill()) >= least else f"{len(r.prefill())} prefill steps",
            f"such prompts in at least {least} steps",
            long,
        )

    def cuts(self, budget: int) -> Proof:
        """Of a task, whose prompts share steps: even a short one may be cut."""
        long = [r for r in self.record.requests if r.prompt_tokens > budget]
        whole = [r for r in long if len(r.prefill()) < 2]
        cut = sum(len(r.prefill()) > 1 for r in self.record.requests)
        observed = f"{cut} of {len(self.record.requests)} prompts cut"
        if whole:
            observed += f"; {self._called(whole[0])} in one step"
        elif not cut:
            observed += ": more examples (--num-fewshot) make longer prompts"
        return Proof(
            name="prefill_steps",
            expected=f"every prompt above {budget} tokens cut, and at least one prompt",
            observed=observed,
            holds=cut > 0 and not whole,
        )

    def covered(self) -> Proof:
        return self._every(
            "prompt_covered",
            "steps cover every prompt from its cached tokens on, each token once",
            _uncovered,
            "prompts covered once",
            hint=self._pool_hint(lambda r: not _was_preempted(r)),
        )

    def _law(self, record: RequestRecord) -> int:
        """Tokens that are found where the pool holds everything."""
        size = self.record.block_size
        return (record.prompt_tokens - 1) // size * size if size > 0 else 0

    def _pool_hint(self, fine: Callable[[RequestRecord], bool]) -> str:
        """What to do where a request shows that the pool is too small."""
        if all(map(fine, self.record.requests)):
            return ""
        fewer = " or ask fewer (--limit)" if self.of_task else ""
        return _TOO_SMALL.format(blocks=self.record.pool_blocks, fewer=fewer)

    def _every(
        self,
        name: str,
        expected: str,
        offence: Callable[[RequestRecord], str | None],
        what: str,
        among: Iterable[RequestRecord] | None = None,
        hint: str = "",
    ) -> Proof:
        """Holds where `offence` finds nothing in any of at least one record; names the first, and
        adds the `hint`."""
        records = list(self.record.requests if among is None else among)
        offences = [(r, text) for r in records if (text := offence(r))]
        good = f"{len(records) - len(offences)} of {len(records)}"
        observed = f"{good} {what}"
        if offences:
            record, text = offences[0]
            observed = f"{good}; {self._called(record)}: {text}{hint}"
        holds = bool(records) and not offences
        return Proof(name=name, expected=expected, observed=observed, holds=holds)

    def _called(self, record: RequestRecord) -> str:
        known = record.request < len(self.prompts)
        name = self.prompts[record.request] if known else f"request {record.request}"
        return f"{name} ({record.prompt_tokens} tokens, {record.leg} pass)"


def _sizes(record: RequestRecord) -> str:
    return str([s.tokens for s in record.prefill()])


def _off_law(record: RequestRecord, block_size: int) -> str | None:
    """What vLLM's block law promises: whole blocks, and at least the last token computed."""
    if block_size < 1:
        return f"block size {block_size}"
    law = (record.prompt_tokens - 1) // block_size * block_size
    return None if record.cached_tokens == law else f"{record.cached_tokens} cached, expected {law}"


def _was_preempted(record: RequestRecord) -> bool:
    starts = [part.start for part in record.prefill()]
    return starts != sorted(starts)


def _uncovered(record: RequestRecord) -> str | None:
    done = record.cached_tokens
    for part in record.prefill():
        if part.start < done:
            return f"preempted: computed up to {done}, then again from {part.start}"
        if part.start > done:
            return f"tokens {done} to {part.start} in no step"
        done = part.start + part.tokens
    return None if done == record.prompt_tokens else f"computed up to {done}"


def _caching(record: TraceRecord, on: bool) -> Proof:
    return Proof(
        name="prefix_caching",
        expected="on" if on else "off",
        observed="on" if record.prefix_caching else "off",
        holds=record.prefix_caching is on,
    )


def _budget_as_read(scenario: Scenario, record: TraceRecord) -> Proof:
    return Proof(
        name="scheduler_budget",
        expected=f"{scenario.budget} tokens a step",
        observed=f"{record.budget} tokens a step",
        holds=record.budget == scenario.budget,
    )


def _steps_within(budget: int, record: TraceRecord) -> Proof:
    return Proof(
        name="step_tokens",
        expected=f"at most {budget} tokens in every step",
        observed=f"{record.largest_step} tokens in the largest step",
        holds=0 < record.largest_step <= budget,
    )


def _legs(scenario: Scenario, record: TraceRecord) -> Proof:
    planned = passes(scenario)
    missing = [leg for leg in planned if all(r.leg is not leg for r in record.requests)]
    observed = f"{len(planned) - len(missing)} of {len(planned)} passes"
    if missing:
        observed += f"; no request in: {', '.join(missing)}"
    return Proof(
        name="legs_served",
        expected="requests in every planned pass",
        observed=observed,
        holds=bool(planned) and not missing,
    )


def _requests(
    scenario: Scenario, record: TraceRecord, prompts: tuple[str, ...]
) -> tuple[Proof, ...]:
    """Requests for cuts and prefixes are several or none a prompt, so those passes are left out."""
    counted = Counter((r.leg, r.request) for r in record.requests)
    legs = [leg for leg in passes(scenario) if leg not in (Leg.CUT, Leg.PREFIX)]
    wanted = [(leg, i) for leg in legs for i in range(len(prompts))]
    wrong = [key for key in wanted if counted[key] != 1]
    observed = f"{len(wanted) - len(wrong)} of {len(wanted)} requests"
    if wrong:
        leg, request = wrong[0]
        times = counted[leg, request]
        observed += f"; {prompts[request]} {times} times in the {leg} pass"
    if scenario.kind is Kind.PREFIX:
        return ()
    return (
        Proof(
            name="requests_served",
            expected="every prompt once in every pass",
            observed=observed,
            holds=bool(wanted) and not wrong,
        ),
    )
