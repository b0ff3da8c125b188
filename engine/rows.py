"""From the engine's outputs to the rows of a trace."""

from collections.abc import Callable, Iterator
from typing import Any

from linattn_verify.configs.legs import Leg
from linattn_verify.engine.passes import Ask
from linattn_verify.traces.schema import RequestRecord, Slice

Row = dict[str, object]


def record_of(ask: Ask, output: Any, slices: list[Slice]) -> RequestRecord:
    """What the engine did with one request."""
    completion = output.outputs[0]
    return RequestRecord(
        request=ask.request,
        leg=ask.leg,
        prompt_tokens=len(ask.token_ids),
        output_tokens=len(completion.token_ids),
        cached_tokens=output.num_cached_tokens or 0,
        slices=tuple(slices),
        finish_reason=completion.finish_reason,
    )


class RowMaker:
    """Turns one request's output into rows; `top_k` alternatives are kept."""

    def __init__(self, top_k: int, text: Callable[[int], str]) -> None:
        self.top_k = top_k
        self.text = text

    def rows(self, ask: Ask, output: Any, record: RequestRecord) -> Iterator[Row]:
        """Rows of every leg that the request yields."""
        if ask.prompt_logprobs:
            yield from self._prompt(ask, output.prompt_logprobs or [], record)
        if ask.leg is Leg.PREFIX:  # its state is what it was for
            return
        completion = output.outputs[0]
        generated = list(zip(completion.token_ids, completion.logprobs, strict=True))
        for leg in _generated_legs(ask):
            for index, (token, entries) in enumerate(generated):
                position = len(ask.token_ids) + index
                yield self._row(ask.request, leg, position, token, entries, record)

    def _prompt(self, ask: Ask, entries: list[Any], record: RequestRecord) -> Iterator[Row]:
        for position in range(1, len(ask.token_ids)):
            entry = entries[position] if position < len(entries) else None
            token = ask.token_ids[position]
            yield self._row(ask.request, Leg.PROMPT, position, token, entry, record)

    def _row(
        self, request: int, leg: Leg, position: int, token: int, entries: Any, record: RequestRecord
    ) -> Row:
        computing = position - 1
        cached = computing < record.cached_tokens
        # A cached position was not computed: vLLM leaves that memory unwritten.
        known = {} if cached or entries is None else entries
        chosen = known.get(token)
        best = sorted(known.items(), key=lambda item: -item[1].logprob)[: self.top_k]
        step, chunk, distance = _place(record, computing)
        return {
            "request": request,
            "leg": leg.value,
            "position": position,
            "token": int(token),
            "text": self.text(int(token)),
            "logprob": chosen.logprob if chosen else None,
            "rank": chosen.rank if chosen else None,
            "top_tokens": [int(t) for t, _ in best],
            "top_logprobs": [e.logprob for _, e in best],
            "step": step,
            "chunk": chunk,
            "edge_distance": distance,
            "cached": cached,
        }


def _generated_legs(ask: Ask) -> tuple[Leg, ...]:
    """The reference generates freely, and that is the path that the others are forced along: its
    output is both legs."""
    if ask.leg is Leg.FREE and ask.prompt_logprobs:
        return (Leg.DECODE, Leg.FREE)
    return (ask.leg,)


def _place(record: RequestRecord, computing: int) -> tuple[int | None, int | None, int | None]:
    """Step, chunk and distance from the last prefill edge of the position that computed a row."""
    edge = None
    for chunk, piece in enumerate(record.slices):
        if 0 < piece.start < record.prompt_tokens:
            edge = piece.start
        if piece.start <= computing < piece.start + piece.tokens:
            return piece.step, chunk, None if edge is None else computing - edge
    return None, None, None
