"""What a check says: verdicts, limits kept or broken, proofs, the worst tokens."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

from pydantic import Field

from linattn_verify.configs.strict import Strict


class Verdict(StrEnum):
    """The answer to a check's question."""

    PASS = "PASS"
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"
    """Not enough data to tell."""
    VACUOUS = "VACUOUS"
    """The proof that the thing under test happened is missing."""
    UNSUPPORTED = "UNSUPPORTED"
    """This engine or machine cannot do it."""
    ERROR = "ERROR"
    """Our side or the machine."""


EXIT_CODES: dict[Verdict, int] = {
    Verdict.PASS: 0,
    Verdict.FAIL: 1,
    Verdict.ERROR: 4,
    Verdict.VACUOUS: 3,
    Verdict.INCONCLUSIVE: 3,
    Verdict.UNSUPPORTED: 3,
}
_WORST_FIRST = (
    Verdict.FAIL,
    Verdict.ERROR,
    Verdict.VACUOUS,
    Verdict.INCONCLUSIVE,
    Verdict.UNSUPPORTED,
    Verdict.PASS,
)


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of a run: its worst check. No check at all proves nothing: VACUOUS."""
    return min(verdicts, key=_WORST_FIRST.index, default=Verdict.VACUOUS)


class Proof(Strict):
    """A statement about what the engine did, read from the engine."""

    name: str
    expected: str
    observed: str
    holds: bool


class LimitOutcome(Strict):
    """One metric against what the check tolerates."""

    value: float | None
    """None where nothing could be measured, which never holds."""
    limit: float
    origin: str
    holds: bool
    margin: float | None
    """limit / value: above 1 holds; None where the value is 0 (any limit would hold) or None."""


class WorstToken(Strict):
    """One of the positions where candidate and reference differ most."""

    request: int
    prompt: str
    """The prompt's name."""
    leg: str
    position: int
    text: str
    chunk: int | None
    edge_distance: int | None
    reference_logprob: float | None
    candidate_logprob: float | None
    """None where it is NaN or infinite: `note` says which."""
    delta: float | None
    note: str = ""


class Paired(Strict):
    """One scenario's answers against the reference's, question by question."""

    both_right: int
    """Right on both sides."""
    lost: int
    """Right in the reference, wrong in the candidate."""
    gained: int
    """Wrong in the reference, right in the candidate."""
    both_wrong: int
    """Wrong on both sides."""
    difference: float
    """Candidate's share of right answers minus the reference's, -1 to 1."""
    low: float
    """Lower end of the difference's 95 % interval (Tango's score interval)."""
    high: float
    """Upper end of the same interval."""
    p_value: float
    """McNemar's exact test, two-sided."""
    smallest_visible: float | None
    """The smallest drop that this many questions could have shown to be real; null where none."""
    questions_needed: int | None
    """Questions that would settle it at the rates seen, four times of five; null where settled."""


class Score(Strict):
    """One metric of a task under one filter: how a scenario did, and against the reference."""

    task: str
    """The harness's name of the task."""
    metric: str
    """What is counted as right, by the harness's name."""
    filter: str
    """The harness's name for the way an answer is taken out of an output."""
    questions: int
    """Questions judged."""
    score: float
    """Share of right answers, 0 to 1."""
    reference_score: float | None
    """The reference's on the same questions; null in the reference itself."""
    invalid: int
    """Outputs in which the filter found no answer."""
    reference_invalid: int | None
    """The same of the reference; null in the reference itself."""
    verdict: Verdict
    """The answer under this filter alone."""
    reason: str
    """What that verdict rests on."""
    paired: Paired | None
    """Null in the reference itself, and where the reference's answers are of no use."""


class Flip(Strict):
    """A question that one side answers right and the other wrong."""

    task: str
    """The harness's name of the task."""
    filter: str
    """Under which filter it changes sides."""
    question: int
    """Index of the question in the task's documents."""
    text: str
    """The question as the task puts it."""
    target: str
    """The right answer, as the task has it."""
    change: Literal["lost", "gained"]
    """`lost`: right in the reference alone. `gained`: right in the candidate alone."""
    reference_answer: str
    """What the filter took out of the reference's output."""
    candidate_answer: str
    """The same of the candidate's output."""
    reference_output: str
    """The whole output: data, never markup."""
    candidate_output: str
    """The same: data, never markup."""
    parted_at: int | None
    """Index of the first output token that differs; null where the tokens are the same."""
    reference_lead: float | None
    """Nats between the reference's token there and its runner-up: near 0 is a near-tie."""


How = Literal["not carried", "not restored", "differs"]


class Parted(Strict):
    """Where a state first is not what it must be."""

    how: How
    """`not carried`: a step found another state than the one before it had left. `not restored`:
    another than was saved. `differs`: further from a single-step prefill's than rounding is."""
    request: int
    """Index of the prompt."""
    prompt: str
    """Its name."""
    position: int
    """Tokens that the state has seen."""
    edge: int
    """Steps of the request before it; 0 where it was restored from the cache."""
    layer: str
    """The engine's name of the layer."""
    index: int
    """Its place among the layers that keep a state, from 0."""
    kind: str
    """Its kind, e.g. gdn_attn."""
    part: str
    """`convolution` or `recurrent`."""
    error: float | None
    """Relative error; null where it was not measured, or is not finite."""
    found: str = ""
    """What was found in place of the right state, in words."""
    spread: str = ""
    """How many states are wrong in the whole scenario, in words."""
    detail: str
    """All this in a sentence."""


class StateErrors(Strict):
    """Relative errors of the states at one place, against a single-step prefill's."""

    request: int
    """Index of the prompt."""
    prompt: str
    """Its name."""
    position: int
    """Tokens that the state has seen."""
    edge: int
    """Steps of the request before it."""
    part: str
    """`convolution` or `recurrent`."""
    by_layer: dict[str, float | None]
    """By layer, in the model's order; null where either side holds NaN or infinity."""


class KernelPath(Strict):
    """One operator on one kernel path: what its cases come to."""

    operator: str
    """The operator's name."""
    path: str
    """Which implementation computed it."""
    engine_uses: bool
    """Whether the engine would choose this path on this machine."""
    counts: bool
    """Whether it decides the check: the engine uses it, or it could be run here."""
    verdict: Verdict
    """The answer for this path."""
    message: str
    """What the verdict rests on: the worst case, or the reason why nothing could be run."""
    cases: int
    """Cases measured, of those that the engine's layers make."""
    unsupported: tuple[str, ...]
    """Cases that this build refuses: combinations of dtypes."""
    uncalled: tuple[str, ...]
    """Cases that fail, of calls that the signature allows and no layer of the engine makes."""
    error: float | None
    """The error with the least room below its limit; null where nothing was measured."""
    limit: float | None
    """What rounding allows there."""
    origin: str
    """What that limit was derived from."""
    gb_per_s: float | None
    """Throughput of the slowest case that is about it, GB/s."""

    @property
    def name(self) -> str:
        """Operator and path in one."""
        return f"{self.operator} ({self.path})"


class CheckResult(Strict):
    """One check's answer for one scenario."""

    name: str
    scenario: str
    reference: str | None
    verdict: Verdict
    message: str
    metrics: dict[str, float] = Field(default_factory=dict)
    limits: dict[str, LimitOutcome] = Field(default_factory=dict)
    counts: dict[str, int] = Field(default_factory=dict)
    """Rows or requests: requested, compared, left out by reason."""
    worst: tuple[WorstToken, ...] = ()
    scores: tuple[Score, ...] = ()
    """Of a task, one a metric and filter."""
    flips: tuple[Flip, ...] = ()
    parted: Parted | None = None
    """Of states, the first place where they are wrong."""
    states: tuple[StateErrors, ...] = ()
    """Of states, every error that was measured."""


class Sensitivity(Strict):
    """What one check would have seen of a state lost on purpose."""

    check: str
    """The check's name."""
    scenario: str
    """The scenario that was served once more."""
    mutation: str
    """The name of that repetition."""
    fault: str
    """What was put in."""
    fired: int
    """How often the fault struck, as counted in the engine."""
    seen: bool
    """Whether the check would have failed, with its loudest statistic well above the limit."""
    ratio: float | None
    """The loudest statistic as a multiple of its limit; null where no multiple says it: anything
    above a limit of 0, a value that is not finite, a rule without a measure, or nothing."""
    statistic: str
    """The loudest statistic."""
    value: float | None
    """Its value; null where it is not finite or there is none."""
    limit: float | None
    """The largest value that passes; null where there is none."""
    message: str
    """What was seen, or what is missing, in a sentence."""
    without_signal: tuple[str, ...] = ()
    """Prompts in which the loss does not show: no log-probability of theirs moves beyond the
    limit."""
    outweighed_by: str | None = None
    """Of a check that is known to miss most faults: the one that saw the loss in its place, so that
    this answer decides nothing; null where none did."""


def without_scenario(name: str, about: str, verdict: Verdict, message: str) -> CheckResult:
    """A check's answer where there is no scenario to answer for; `about`: what it would judge."""
    return CheckResult(name=name, scenario=about, reference=None, verdict=verdict, message=message)
