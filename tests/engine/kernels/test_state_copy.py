"""The plain copy that the engine's is held against."""

from linattn_verify.engine.kernels.state_copy import Move, plain


def test_each_move_reads_its_whole_source_before_it_writes() -> None:
    assert plain(bytearray(b"abcdef"), [Move(0, 2, 4)]) == b"ababcd"
    assert plain(bytearray(b"abcdef"), [Move(2, 0, 4)]) == b"cdefef"


def test_moves_follow_each_other_and_empty_ones_do_nothing() -> None:
    assert plain(bytearray(b"abcdef"), [Move(0, 3, 1), Move(3, 5, 1), Move(1, 0, 0)]) == b"abcaea"
