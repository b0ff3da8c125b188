"""Which scenarios the checks that are asked for bring along."""

from typing import TYPE_CHECKING, Any

import pytest

from linattn_verify.cli.needs import kinds, needs
from linattn_verify.configs.planning import prompt_scenario_names

if TYPE_CHECKING:
    from tests.cli.conftest import Command

OUTPUTS = {"full", "chunked@37", "chunked@11", "cold", "warm", "warm-2"}
TWINS = {"full-nan", "cold-nan", "warm-nan"}
FLOOR = {"full-again"}
TIGHT = {"chunked@11-tight", "chunked@11-tight-nan", "cold-tight", "cold-tight-nan"}
WHOLE = OUTPUTS | FLOOR | TWINS | TIGHT | {"prefixes"}
SHORT = ("--out", "run", "--budgets", "37,11", "--skip", "task_score")


@pytest.fixture
def accepted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The request and the checks of a command that would start an engine."""
    found: list[Any] = []

    class Accepted(Exception):
        pass

    def accept(asked: Any, *_: object) -> None:
        found.extend([asked.request, asked.specs])
        raise Accepted

    monkeypatch.setattr("linattn_verify.cli.run_command.measure", accept)
    return found


def planned(command: "Command", accepted: list[Any], *flags: str) -> set[str]:
    ended = command("run", *SHORT, *flags)
    assert "Error: Accepted" in ended.err, ended.err
    request, specs = accepted
    return set(prompt_scenario_names(request, kinds(specs), needs(specs)))


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([], WHOLE),
        (["--skip", "cache_hygiene"], OUTPUTS | FLOOR | {"prefixes"}),
        (["--skip", "state_equivalence"], OUTPUTS | FLOOR | TWINS | TIGHT),
        (["--skip", "state_equivalence", "--skip", "cache_hygiene"], OUTPUTS | FLOOR),
        (["--only", "state_equivalence"], OUTPUTS | {"prefixes"}),
        (["--only", "cache_hygiene"], OUTPUTS | TWINS | TIGHT),
        (["--only", "chunked_prefill"], {"full", "chunked@37", "chunked@11"} | FLOOR),
        (["--profile", "ci"], WHOLE | {"chunked@37-nan", "chunked@11-nan"}),
    ],
    ids=lambda value: " ".join(value) or "all" if isinstance(value, list) else "",
)
def test_the_checks_that_are_asked_for_make_the_plan(
    command: "Command", accepted: list[Any], flags: list[str], expected: set[str]
) -> None:
    assert planned(command, accepted, *flags) == expected


@pytest.mark.parametrize("name", ["full-nan", "prefixes", "chunked@11-tight", "cold-tight-nan"])
def test_a_fault_may_be_put_into_an_aside(
    command: "Command", accepted: list[Any], name: str
) -> None:
    assert name in planned(command, accepted, "--inject", f"{name}=logits_swapped")
    assert accepted[0].inject == {name: ("logits_swapped",)}


@pytest.mark.parametrize(
    ("name", "check"), [("full-nan", "cache_hygiene"), ("prefixes", "state_equivalence")]
)
def test_a_fault_for_an_aside_of_a_check_that_is_left_out_is_refused(
    command: "Command", accepted: list[Any], name: str, check: str
) -> None:
    ended = command("run", *SHORT, "--skip", check, "--inject", f"{name}=logits_swapped")
    assert ended.code == 2
    assert f"Unknown scenario '{name}' in --inject" in ended.err
    assert accepted == []
