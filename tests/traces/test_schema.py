"""What a request's record says of its prefill."""

from linattn_verify.configs.legs import Leg
from linattn_verify.traces.schema import RequestRecord, Slice


def request(*slices: tuple[int, int, int]) -> RequestRecord:
    return RequestRecord(
        request=0,
        leg=Leg.FREE,
        prompt_tokens=17,
        output_tokens=3,
        cached_tokens=0,
        slices=tuple(Slice(step=a, start=b, tokens=c) for a, b, c in slices),
    )


def test_prefill_ends_where_the_prompt_ends() -> None:
    record = request((0, 0, 7), (2, 7, 7), (3, 14, 3), (4, 17, 1), (5, 18, 1))
    assert [s.step for s in record.prefill()] == [0, 2, 3]


def test_the_last_prompt_token_alone_is_prefill() -> None:
    assert [s.start for s in request((1, 16, 1), (2, 17, 1)).prefill()] == [16]


def test_a_request_that_computed_nothing_has_no_prefill() -> None:
    assert request().prefill() == ()
