"""Faults that a run can put into the engine on purpose, by name, and how much of each."""

from linattn_verify.configs.errors import UsageError, unknown
from linattn_verify.configs.strict import Strict

FAULTS: dict[str, str] = {
    "state_lost_at_edges": "a continued prefill starts from zeros, in convolution and recurrence",
    "conv_state_lost_at_edges": "a continued prefill loses its convolution window only, as "
    "with a kernel that ignores has_initial_state",
    "recurrent_state_lost_at_edges": "a continued prefill loses its recurrent state only",
    "one_layer_state_lost_at_edges": "a continued prefill loses the state of the last layer only",
    "one_request_state_lost_at_edges": "one request's continued prefills start from zeros, those "
    "of all others do not",
    "last_chunk_state_lost": "the last chunk of a prefill starts from zeros",
    "state_rounded_at_edges": "a continued prefill goes on from a state rounded to half its bits",
    "has_initial_state_ignored": "a continued prefill is taken for a fresh one",
    "one_token_chunk_as_decode": "a request whose first chunk has one token is taken for a decode "
    "step, and goes on from what the last request has left",
    "stale_state_read": "a fresh prefill goes on from what the last request has left",
    "unwritten_state_read": "a fresh prefill goes on from whatever its block holds",
    "blocks_not_zeroed": "blocks are handed out as they are, not zeroed",
    "restored_state_off_by_one_block": "a state restored from the prefix cache is that of the "
    "block beside it",
    "restored_state_lost": "a state restored from the prefix cache is zeros",
    "state_published_late": "the cache keeps, as the state of a block boundary, that of the chunk "
    "after it",
    "copy_drops_last_item": "copying states between blocks leaves out the last of them",
    "decode_state_stuck": "decode steps after the first leave the state as it was",
    "nan_state_at_edges": "a continued prefill reads NaN, as from memory that nobody wrote",
    "logits_swapped": "each request of a batch gets the logits of its neighbour",
    "crash_at_edges": "the engine process dies by SIGSEGV at the first continued prefill",
    "raise_at_edges": "the engine raises at the first continued prefill",
    "hang_at_edges": "the engine hangs at the first continued prefill",
}
"""Every fault, with what it does."""


class Injected(Strict):
    """A fault, and how much of it."""

    name: str
    dose: float = 1.0
    """Of a state or logits that are wrong, the share of the wrong one in what is read; of what
    happens or does not, the share of the occasions on which it does."""


def parse_fault(text: str) -> Injected:
    """`NAME` or `NAME@10%`; raises UsageError for a fault that is none or a dose that is none."""
    name, at, dose = text.partition("@")
    if name not in FAULTS:
        raise unknown("fault", name, FAULTS)
    if not at:
        return Injected(name=name)
    try:
        share = float(dose.removesuffix("%")) / 100
    except ValueError:
        share = float("nan")
    if not (dose.endswith("%") and 0 < share <= 1):
        raise UsageError(f"fault {text!r}: give a dose above 0% and up to 100%, as in {name}@10%.")
    return Injected(name=name, dose=share)
