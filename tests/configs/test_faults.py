"""Faults by name and dose."""

import pytest

from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.faults import FAULTS, parse_fault
from linattn_verify.configs.request import parse_inject


@pytest.mark.parametrize(
    ("text", "dose"),
    [
        ("decode_state_stuck", 1.0),
        ("decode_state_stuck@10%", 0.1),
        ("decode_state_stuck@0.5%", 0.005),
    ],
)
def test_a_fault_has_a_name_and_a_dose(text: str, dose: float) -> None:
    found = parse_fault(text)
    assert found.name == "decode_state_stuck" and found.dose == pytest.approx(dose)


@pytest.mark.parametrize("dose", ["", "10", "0%", "101%", "-5%", "nan%", "much%"])
def test_a_dose_that_is_none_is_refused_with_an_example(dose: str) -> None:
    with pytest.raises(UsageError, match="as in decode_state_stuck@10%"):
        parse_fault(f"decode_state_stuck@{dose}")


def test_a_fault_that_is_none_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="decode_state_stuck"):
        parse_fault("decode_state_stick")


def test_faults_are_kept_as_they_were_given() -> None:
    found = parse_inject(("warm=restored_state_lost@1%", "warm=logits_swapped"))
    assert found == {"warm": ("restored_state_lost@1%", "logits_swapped")}


def test_every_fault_is_described_in_a_line() -> None:
    assert len(FAULTS) == 22
    assert all(what and "\n" not in what for what in FAULTS.values())
