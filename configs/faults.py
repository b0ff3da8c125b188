"""Faults that a run can put into the engine on purpose, by name."""

FAULTS: dict[str, str] = {
    "state_lost_at_edges": "a continued prefill starts from zeros, in convolution and recurrence",
    "conv_state_lost_at_edges": "a continued prefill loses its convolution window only, as "
    "with a kernel that ignores has_initial_state",
    "recurrent_state_lost_at_edges": "a continued prefill loses its recurrent state only",
    "one_layer_state_lost_at_edges": "a continued prefill loses the state of the last layer only",
    "has_initial_state_ignored": "a continued prefill is taken for a fresh one",
    "unwritten_state_read": "a fresh prefill goes on from whatever its block holds",
    "blocks_not_zeroed": "blocks are handed out as they are, not zeroed",
    "restored_state_off_by_one_block": "a state restored from the prefix cache is that of the "
    "block beside it",
    "restored_state_lost": "a state restored from the prefix cache is zeros",
    "nan_state_at_edges": "a continued prefill reads NaN, as from memory that nobody wrote",
    "logits_swapped": "each request of a batch gets the logits of its neighbour",
    "crash_at_edges": "the engine process dies by SIGSEGV at the first continued prefill",
    "raise_at_edges": "the engine raises at the first continued prefill",
    "hang_at_edges": "the engine hangs at the first continued prefill",
}
"""Every fault, with what it does."""
