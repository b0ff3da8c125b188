"""The faults of the run in which every scenario but the references has one of its own."""

TASK = {
    "gsm8k/chunked@512": "recurrent_state_lost_at_edges",
    "gsm8k/chunked@256": "state_lost_at_edges",
    "gsm8k/chunked@100": "logits_swapped",
    "gsm8k/warm": "restored_state_lost",
}
"""Faults that cost answers. A lost convolution window costs too few for a score to find it."""
STATES = {
    "chunked@512": "conv_state_lost_at_edges",
    "chunked@384": "has_initial_state_ignored",
    "chunked@256": "recurrent_state_lost_at_edges",
    "chunked@192": "one_layer_state_lost_at_edges",
    "chunked@128": "nan_state_at_edges",
    "warm": "restored_state_lost",
    "warm-2": "restored_state_off_by_one_block",
}
"""Faults of the state itself."""
MEMORY = {"full-nan": "blocks_not_zeroed", "cold-nan": "unwritten_state_read"}
"""Faults that only show where memory does not happen to be zero."""
INJECTED = {**TASK, **STATES, "chunked@100": "logits_swapped", **MEMORY}
