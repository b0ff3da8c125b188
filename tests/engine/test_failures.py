"""What kind of failure an exception is."""

import pytest

from linattn_verify.engine.failures import failed, usage
from linattn_verify.traces.outcome import Status

CANNOT = {
    "by-type": NotImplementedError("no chunks here"),
    "dtype": ValueError("CPU GDN attention requires BF16 (bfloat16)."),
    "kernel": RuntimeError("Unexpected head dim size: 96"),
    "operator": AttributeError("'_OpNamespace' '_C' object has no attribute 'selective_scan_fwd'"),
    "not-supported": ValueError("Model architectures ['X'] are not supported for now"),
    "not-yet": ValueError("Prefix caching is not yet implemented for X"),
    "not-officially": ValueError("chunked prefill is not officially supported"),
    "unsupported": TypeError("Unsupported dtype int4"),
    "no-image": RuntimeError("CUDA error: no kernel image is available for execution"),
}


@pytest.mark.parametrize("error", CANNOT.values(), ids=CANNOT.keys())
def test_an_engine_that_says_it_cannot_is_unsupported(error: Exception) -> None:
    assert failed(error, Status.CRASHED).status is Status.UNSUPPORTED


FAULTS = {
    "index": IndexError("index 7 is out of bounds for dimension 0 with size 5"),
    "memory": MemoryError(),
    "assertion": AssertionError("num_tokens == 11"),
    "operating-system": OSError(28, "No space left on device"),
    "value": ValueError("the state is not finite"),
}


@pytest.mark.parametrize("otherwise", [Status.CRASHED, Status.ERROR])
@pytest.mark.parametrize("error", FAULTS.values(), ids=FAULTS.keys())
def test_any_other_exception_is_what_the_caller_says(error: Exception, otherwise: Status) -> None:
    assert failed(error, otherwise).status is otherwise


def test_the_message_names_the_type_and_the_traceback_the_place() -> None:
    def deep_inside() -> None:
        raise IndexError("index 7 is out of bounds")

    try:
        deep_inside()
    except IndexError as error:
        said = failed(error, Status.CRASHED)
    assert said.message == "IndexError: index 7 is out of bounds"
    assert "deep_inside" in said.traceback
    assert not said.usage


def test_a_long_message_is_cut() -> None:
    said = failed(RuntimeError("\n".join("abcdefg" for _ in range(99))), Status.CRASHED)
    assert said.message == "RuntimeError: " + "\n".join(["abcdefg"] * 4)
    assert (
        len(failed(RuntimeError("x" * 9999), Status.CRASHED).message) == len("RuntimeError: ") + 400
    )


def test_usage_is_the_users_to_change() -> None:
    said = usage("Unknown engine argument")
    assert (said.usage, said.status, said.message) == (
        True,
        Status.ERROR,
        "Unknown engine argument",
    )
