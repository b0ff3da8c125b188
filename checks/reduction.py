"""The smallest case that still fails, found by trying: fewer prompts, a shorter one, other budgets.

The way is delta debugging (Zeller and Hildebrandt 2002, IEEE TSE 28): keep every smaller case that
fails, and go on from it. What is found is smallest of what was tried, not of all there is.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

LEAST_BUDGET = 16
"""Tokens; a smaller step tells an engineer nothing more."""


STEPS = (
    "the whole case again",
    "fewer prompts",
    "larger steps",
    "smaller steps",
    "shorter prompts",
)
"""What `reduce` tries, in order."""


class OutOfTime(Exception):
    """There is no time for another trial."""


@dataclass(frozen=True)
class Case:
    """Which part of the workload is served, and how it is cut."""

    prompts: tuple[int, ...]
    """Indices in the workload, in the order of submission."""
    length: int
    """Tokens beyond which prompts are cut off."""
    budget: int
    """Most tokens of a step."""


@dataclass(frozen=True)
class Reduction:
    """What is known so far."""

    smallest: Case
    reproduced: bool | None = None
    """Whether the whole case failed again, served by itself; None: not tried yet."""
    alone: bool | None = None
    """Whether one request fails by itself; False where only a batch does; None: not known."""
    largest_budget: int | None = None
    """The largest budget tried that fails; None where budgets play no part, or were not tried."""
    passing_budget: int | None = None
    """The smallest one above that was tried and does not fail; None: every one fails."""
    trials: int = 0
    finished: bool = False
    """Whether every step was tried before time was up."""
    ended: bool = False
    """Whether nothing more will be tried."""


@dataclass(frozen=True)
class Task:
    """A failing case, and what may be tried with it."""

    case: Case
    lengths: tuple[int, ...]
    """Tokens of each prompt of the workload."""
    suspects: tuple[int, ...]
    """Prompts that are known to be wrong, worst first."""
    budgets: bool
    """Whether the budget is what cuts the prompts."""
    stride: int = 1
    """Tokens by which to shorten first, such as a cache block, so that what is left over stays."""


def reduce(task: Task, fails: Callable[[Case], bool]) -> Iterator[Reduction]:
    """What is known after every step, better and better; ends early where `fails` raises OutOfTime.
    Raises ValueError for a case without a prompt."""
    if not task.case.prompts:
        raise ValueError("a case needs a prompt")
    reducer = _Reducer(task, fails)
    ways = (reducer.again, reducer.fewer, reducer.widest, reducer.finer, reducer.shorter)
    for step, way in zip(STEPS, ways, strict=True):
        try:
            way()
        except OutOfTime:
            yield replace(reducer.found(), ended=True)
            return
        last = step == STEPS[-1] or not reducer.reproduced
        yield replace(reducer.found(), finished=last, ended=last)
        if last:
            return


class _Reducer:
    def __init__(self, task: Task, fails: Callable[[Case], bool]) -> None:
        self.task, self.case = task, task.case
        self.reproduced: bool | None = None
        self.alone: bool | None = None
        self.largest: int | None = None
        self.passing: int | None = None
        self._fails = fails
        self._tried: dict[Case, bool] = {}

    def found(self) -> Reduction:
        return Reduction(
            smallest=self.case,
            reproduced=self.reproduced,
            alone=self.alone,
            largest_budget=self.largest,
            passing_budget=self.passing,
            trials=len(self._tried),
        )

    def again(self) -> None:
        """The whole case by itself: else what came before it in its engine plays a part."""
        self.reproduced = self._try(self.case)

    def fewer(self) -> None:
        """One suspect alone; where none fails so, halves and remainders of the batch."""
        known = [p for p in self.task.suspects if p in self.case.prompts]
        if len(self.case.prompts) == 1:
            self.alone = True
            return
        for prompt in (*known, *self.case.prompts[:1])[:3]:
            if self._keep(self._with(prompts=(prompt,))):
                self.alone = True
                return
        self._delta_debug()
        self.alone = len(self.case.prompts) == 1

    def _delta_debug(self) -> None:
        parts = 2
        while len(self.case.prompts) > 1:
            every = self.case.prompts
            size = -(-len(every) // parts)
            pieces = [every[i : i + size] for i in range(0, len(every), size)]
            rests = [tuple(p for p in every if p not in piece) for piece in pieces]
            smaller = [*pieces, *(rests if parts > 2 else [])]
            if any(self._keep(self._with(prompts=some)) for some in smaller):
                parts = 2
            elif parts >= len(every):
                return
            else:
                parts = min(len(every), 2 * parts)

    def widest(self) -> None:
        """The largest budget that still cuts a prompt, and fails."""
        if not self.task.budgets:
            return
        low, high = self.case.budget, self._longest() - 1
        self.largest = low
        if high <= low:
            return
        if self._try(self._with(budget=high)):
            self.largest = high
            return
        while high - low > max(1, low // 16):  # near enough to name it
            middle = (low + high) // 2
            low, high = (middle, high) if self._try(self._with(budget=middle)) else (low, middle)
            self.largest, self.passing = low, high

    def finer(self) -> None:
        """Budget and prompts halved together, or else the budget alone."""
        while self.task.budgets and self.case.budget >= 2 * LEAST_BUDGET:
            half = self.case.budget // 2
            both = self._with(budget=half, length=max(self._longest() // 2, half + 1))
            if not (self._keep(both) or self._keep(self._with(budget=half))):
                return

    def shorter(self) -> None:
        """The shortest prompt: whole strides first, then single tokens."""
        for stride in dict.fromkeys((self.task.stride, 1)):
            least = self.case.budget if self.task.budgets else 0
            low, high = 0, (self._longest() - least - 1) // stride
            while low < high:  # so many strides less
                middle = (low + high + 1) // 2
                shorter = self._with(length=self._longest() - stride * middle)
                if self._try(shorter):
                    self._keep(shorter)
                    low, high = 0, high - middle
                else:
                    high = middle - 1

    def _longest(self) -> int:
        return min(self.case.length, max(self.task.lengths[p] for p in self.case.prompts))

    def _with(
        self,
        prompts: tuple[int, ...] | None = None,
        length: int | None = None,
        budget: int | None = None,
    ) -> Case:
        case = self.case
        return Case(prompts or case.prompts, length or case.length, budget or case.budget)

    def _keep(self, case: Case) -> bool:
        if self._try(case):
            self.case = case
            return True
        return False

    def _try(self, case: Case) -> bool:
        if case not in self._tried:
            self._tried[case] = self._fails(case)
        return self._tried[case]
