"""Faults of the states that a step is about to read, or has just written.

Each blends what is right with what the fault would have left, in the share that its dose says.
"""

import math
from collections.abc import Callable, Iterable, Iterator

import torch

from linattn_verify.engine.steps import Held, Step
from linattn_verify.traces.states import Part

Where = Callable[[Held, Step], bool]


class StateFault:
    """One fault while it is active; `before` and `after` a step return how often it has struck."""

    def __init__(self, dose: float = 1.0) -> None:
        self.dose = dose

    def before(self, step: Step) -> int:
        """Right before the model."""
        return 0

    def after(self, step: Step) -> int:
        """Right after the model."""
        return 0

    def blend(self, right: torch.Tensor, wrong: torch.Tensor) -> None:
        """Put the dose's share of `wrong` into the engine's own memory."""
        if self.dose == 1:
            right.copy_(wrong)  # also where the right one is NaN
        else:
            mixed = torch.lerp(right.float(), wrong.to(right.device).float(), self.dose)
            right.copy_(mixed)


class Replaced(StateFault):
    """States that hold another content when they are read."""

    def __init__(
        self,
        where: Where,
        wrong: Callable[[torch.Tensor], torch.Tensor] = torch.zeros_like,
        parts: tuple[Part, ...] = (),
        dose: float = 1.0,
    ) -> None:
        super().__init__(dose)
        self.where, self.wrong, self.parts = where, wrong, parts

    def before(self, step: Step) -> int:
        hit = [h for h in step.held if self.where(h, step) and h.states(*self.parts)]
        for held in hit:
            for _, state in held.states(*self.parts):
                self.blend(state, self.wrong(state))
        return len(hit)


class OneRequest(Replaced):
    """The first request whose prefill goes on loses its states, no other does."""

    def __init__(self, dose: float) -> None:
        super().__init__(self._is_it, dose=dose)
        self._request: str | None = None

    def _is_it(self, held: Held, step: Step) -> bool:
        if not held.continued:
            return False
        self._request = self._request or held.request_id
        return held.request_id == self._request


class Neighbour(StateFault):
    """A restored state is that of the block beside its own."""

    def before(self, step: Step) -> int:
        hit = [held for held in step.held if held.continued and held.restored]
        for held in hit:
            for state in held.layer.states:
                self.blend(state[held.slot], state[held.slot - 1].clone())
        return len(hit)


class Stale(StateFault):
    """Requests that begin go on from what another has left: its slot's former owner, say."""

    def __init__(self, where: Where, dose: float) -> None:
        super().__init__(dose)
        self.where = where
        self._left: dict[str, tuple[str, list[torch.Tensor]]] = {}
        """By layer: who worked on it last, and the state left there."""

    def before(self, step: Step) -> int:
        return sum(self._strike(step, held) for held in step.held if self.where(held, step))

    def _strike(self, step: Step, held: Held) -> bool:
        former, states = self._left.get(held.layer.name, (held.request_id, []))
        if former == held.request_id:
            return False
        for (_, state), left in zip(held.states(), states, strict=True):
            self.blend(state, left)
        has_initial_state(step, True, [held])
        return True

    def after(self, step: Step) -> int:
        for held in step.held:
            left = [state.clone() for _, state in held.states()]
            self._left[held.layer.name] = (held.request_id, left)
        return 0


class PublishedLate(StateFault):
    """Where a request has moved on to another slot, the one it left, which the cache now holds,
    gets the state of the step after."""

    def __init__(self, dose: float) -> None:
        super().__init__(dose)
        self._slots: dict[tuple[str, str], int] = {}

    def after(self, step: Step) -> int:
        return sum(self._strike(held) for held in step.held)

    def _strike(self, held: Held) -> bool:
        key = held.layer.name, held.request_id
        before, self._slots[key] = self._slots.get(key), held.slot
        if before is None or before == held.slot or not held.continued:
            return False
        for state in held.layer.states:
            self.blend(state[before], state[held.slot])
        return True


class Stuck(StateFault):
    """Decode steps after the first leave the state as it was."""

    def __init__(self, dose: float) -> None:
        super().__init__(dose)
        self._was: list[tuple[torch.Tensor, torch.Tensor]] = []

    def before(self, step: Step) -> int:
        hit = [held for held in step.held if held.start > held.prompt_tokens]
        self._was = [(state, state.clone()) for held in hit for _, state in held.states()]
        return len(hit)

    def after(self, step: Step) -> int:
        for state, was in self._was:
            self.blend(state, was)
        self._was = []
        return 0


class Flags(StateFault):
    """The layers are told that prefills have, or have no, initial state; on a share of steps."""

    def __init__(self, value: bool, where: Callable[[Held], bool], dose: float) -> None:
        super().__init__(dose)
        self.value, self.where = value, where
        self._due = Due(dose)

    def before(self, step: Step) -> int:
        hit = [held for held in step.held if self.where(held)]
        if not hit or not self._due():
            return 0
        has_initial_state(step, self.value)
        return len(hit)


class Due:
    """Says of each occasion whether it belongs to the share that is struck, evenly spread; the
    first one always does."""

    def __init__(self, share: float) -> None:
        self.share, self.occasions = share, 0

    def __call__(self) -> bool:
        before = math.ceil(self.occasions * self.share)
        self.occasions += 1
        return before < math.ceil(self.occasions * self.share)


def has_initial_state(step: Step, value: bool, only: Iterable[Held] | None = None) -> None:
    """Set the flags of the step's prefills, all, or those of `only` these requests."""
    ids = None if only is None else {held.request_id for held in only}
    for metadata in step.metadata():
        for name in ("has_initial_state", "has_initial_states_p"):
            flags = getattr(metadata, name, None)
            if flags is not None:
                for row in _rows(step, flags, ids):
                    flags[row] = value


def _rows(step: Step, flags: torch.Tensor, ids: set[str] | None) -> Iterator[int]:
    """Rows of `flags` that belong to these requests. A step's decodes come first; flags are either
    of all its requests or of its prefills alone."""
    layer = step.held[0].layer
    requests = [held.request_id for held in step.held if held.layer is layer]
    skipped = max(len(requests) - len(flags), 0)
    for row in range(len(flags)):
        place = row + skipped
        if ids is None or (place < len(requests) and requests[place] in ids):
            yield row


def _continued(held: Held, step: Step) -> bool:
    return held.continued


def _last_layer(held: Held, step: Step) -> bool:
    return held.continued and held.layer is step.layers[-1]


def _last_chunk(held: Held, step: Step) -> bool:
    return held.continued and held.start + held.tokens == held.prompt_tokens


def _restored(held: Held, step: Step) -> bool:
    return held.continued and held.restored


def _fresh(held: Held, step: Step) -> bool:
    return held.start == 0


def _one_token(held: Held, step: Step) -> bool:
    return held.tokens == 1 and (held.start == 0 or _restored(held, step))


def _half_the_bits(state: torch.Tensor) -> torch.Tensor:
    """float32 as bfloat16 has it, 16-bit numbers as FP8 (E5M2) has them."""
    coarse = torch.bfloat16 if state.dtype == torch.float32 else torch.float8_e5m2
    return state.to(coarse).to(state.dtype)


def _nan(state: torch.Tensor) -> torch.Tensor:
    return torch.full_like(state, float("nan"))


def _replaced(
    where: Where,
    *parts: Part,
    wrong: Callable[[torch.Tensor], torch.Tensor] = torch.zeros_like,
) -> Callable[[float], StateFault]:
    return lambda dose: Replaced(where, wrong, parts, dose)


STATE_FAULTS: dict[str, Callable[[float], StateFault]] = {
    "state_lost_at_edges": _replaced(_continued),
    "conv_state_lost_at_edges": _replaced(_continued, Part.CONVOLUTION),
    "recurrent_state_lost_at_edges": _replaced(_continued, Part.RECURRENT),
    "one_layer_state_lost_at_edges": _replaced(_last_layer),
    "one_request_state_lost_at_edges": OneRequest,
    "last_chunk_state_lost": _replaced(_last_chunk),
    "state_rounded_at_edges": _replaced(_continued, wrong=_half_the_bits),
    "nan_state_at_edges": _replaced(_continued, wrong=_nan),
    "restored_state_lost": _replaced(_restored),
    "restored_state_off_by_one_block": Neighbour,
    "has_initial_state_ignored": lambda dose: Flags(False, lambda held: held.continued, dose),
    "unwritten_state_read": lambda dose: Flags(True, lambda held: held.start == 0, dose),
    "stale_state_read": lambda dose: Stale(_fresh, dose),
    "one_token_chunk_as_decode": lambda dose: Stale(_one_token, dose),
    "state_published_late": PublishedLate,
    "decode_state_stuck": Stuck,
}
"""By name, what makes the fault at a dose."""
