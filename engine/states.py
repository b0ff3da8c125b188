"""Reads the states of marked requests where steps end, and where the next ones begin."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

import torch

from linattn_verify.engine.steps import LABEL, Held, Step
from linattn_verify.traces.states import Moment, Part

Row = dict[str, Any]


@dataclass
class StateReader:
    """Keeps the states of requests that carry `LABEL` at the end of the 1st, 2nd, 4th, 8th … chunk,
    of the prefill, and of the first and last decode step; and what the next step finds there.
    Bounded: beyond `bytes_left` a state leaves its digest alone."""

    active: bool = False
    rank: int = 0
    bytes_left: int = 0
    rows: list[Row] = field(default_factory=list)
    _steps: dict[str, int] = field(default_factory=dict)
    """Steps of each marked request so far."""
    _wanted: set[str] = field(default_factory=set)
    """Requests whose state at the end of their last step was kept."""

    def begin(self, most_bytes: int) -> None:
        """Read from now on; `most_bytes` of state are kept."""
        self.active, self.bytes_left, self.rows = True, most_bytes, []
        self._steps.clear()
        self._wanted.clear()

    def take(self) -> list[Row]:
        """The rows since `begin`, and no more from now on."""
        taken, self.rows, self.active = self.rows, [], False
        return taken

    def scheduled(self, step: Step) -> None: ...

    def before(self, step: Step) -> None:
        """Keep what a step finds: the state that the last one left, or that was restored."""
        for held in step.held:
            label = _label(step, held)
            first = held.request_id not in self._steps and held.start > 0
            if label is not None and (held.request_id in self._wanted or first):
                self._keep(held, label, held.start, Moment.FOUND)

    def after(self, step: Step) -> None:
        """Keep what the step left."""
        for request_id in dict.fromkeys(held.request_id for held in step.held):
            self._steps[request_id] = self._steps.get(request_id, 0) + 1
            self._wanted.discard(request_id)
        for held in step.held:
            label = _label(step, held)
            if label is not None and self._is_an_edge(step, held):
                self._wanted.add(held.request_id)
                self._keep(held, label, held.start + held.tokens, Moment.LEFT)

    def _is_an_edge(self, step: Step, held: Held) -> bool:
        count, end = self._steps[held.request_id], held.start + held.tokens
        if end < held.prompt_tokens:
            return count & (count - 1) == 0
        most = step.runner.requests[held.request_id].sampling_params.max_tokens
        last = most - 1  # the last token generated is never fed back
        return end - held.prompt_tokens in (0, 1, last)

    def _keep(self, held: Held, label: int, position: int, moment: Moment) -> None:
        for part, memory in held.states(Part.CONVOLUTION, Part.RECURRENT):
            state = memory.detach().to("cpu").contiguous()
            data = state.reshape(-1).view(torch.uint8).numpy().tobytes()
            keep = moment is Moment.LEFT and len(data) <= self.bytes_left
            self.bytes_left -= len(data) if keep else 0
            self.rows.append(
                {
                    "request": label,
                    "position": position,
                    "edge": self._steps.get(held.request_id, 0),
                    "moment": moment.value,
                    "rank": self.rank,
                    "layer": held.layer.name,
                    "index": held.layer.index,
                    "kind": held.layer.kind,
                    "part": part.value,
                    "dtype": str(state.dtype).removeprefix("torch."),
                    "norm": float(torch.linalg.vector_norm(state.double())),
                    "digest": hashlib.blake2b(data, digest_size=16).hexdigest(),
                    "data": data if keep else None,
                }
            )


def _label(step: Step, held: Held) -> int | None:
    """Index of the request where its states are wanted."""
    parameters = step.runner.requests[held.request_id].sampling_params
    label: int | None = (parameters.extra_args or {}).get(LABEL) if parameters else None
    return label
