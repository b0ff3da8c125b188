"""What the flags say, parsed."""

import re
from typing import Any

import pytest

from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.profile import load_profile
from linattn_verify.configs.request import (
    Request,
    overridden,
    parse_budgets,
    parse_engine_args,
    parse_inject,
)
from linattn_verify.configs.strict import validated


@pytest.mark.parametrize(
    ("text", "expected"),
    [("512", (512,)), ("37, 11,5", (37, 11, 5)), (" 7 ", (7,))],
    ids=["one", "several", "spaces"],
)
def test_budgets(text: str, expected: tuple[int, ...]) -> None:
    assert parse_budgets(text) == expected


@pytest.mark.parametrize(
    ("text", "culprit"),
    [("37,x,5", "'x'"), ("", "''"), ("37,,5", "''"), ("2.5", "'2.5'"), ("37;5", "'37;5'")],
    ids=["word", "empty", "gap", "fraction", "semicolon"],
)
def test_budgets_that_are_no_numbers(text: str, culprit: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"--budgets: {culprit} is not a whole number")):
        parse_budgets(text)


def test_engine_args_are_typed_as_yaml_types_them() -> None:
    pairs = (
        "enforce_eager=false",
        "gpu_memory_utilization=0.5",
        "block_size=48",
        "load_format=dummy",
        "compilation_config={level: 3, sizes: [1, 7]}",
        "quantization=",
        "tokenizer=a=b",
        "kv-cache-dtype='8'",
    )
    assert parse_engine_args(pairs) == {
        "enforce_eager": False,
        "gpu_memory_utilization": 0.5,
        "block_size": 48,
        "load_format": "dummy",
        "compilation_config": {"level": 3, "sizes": [1, 7]},
        "quantization": None,
        "tokenizer": "a=b",
        "kv_cache_dtype": "8",
    }


ENGINE_ARGS = {
    "no-equals": (("block_size",), "--engine-arg 'block_size': expected KEY=VALUE"),
    "no-key": (("=5",), "--engine-arg '=5': expected KEY=VALUE"),
    "twice": (("block_size=1", "block_size=2"), "--engine-arg block_size: given twice"),
    "twice-by-dash": (("block-size=1", "block_size=1"), "--engine-arg block_size: given twice"),
    "not-yaml": (("sizes=[1, 2",), "--engine-arg 'sizes=[1, 2': the value is not valid"),
}


@pytest.mark.parametrize(("pairs", "part"), ENGINE_ARGS.values(), ids=ENGINE_ARGS.keys())
def test_engine_args_that_are_refused(pairs: tuple[str, ...], part: str) -> None:
    with pytest.raises(UsageError, match=re.escape(part)):
        parse_engine_args(pairs)


def test_faults_are_gathered_by_scenario_in_order() -> None:
    pairs = ("warm=restored_state_lost", "chunked@7=nan_state_at_edges", "warm=logits_swapped")
    assert parse_inject(pairs) == {
        "warm": ("restored_state_lost", "logits_swapped"),
        "chunked@7": ("nan_state_at_edges",),
    }


def test_a_fault_may_be_for_a_scenario_of_a_task() -> None:
    pairs = ("gsm8k/warm=restored_state_lost", "warm=logits_swapped")
    assert parse_inject(pairs) == {
        "gsm8k/warm": ("restored_state_lost",),
        "warm": ("logits_swapped",),
    }


@pytest.mark.parametrize(
    ("pair", "part"),
    [
        ("warm", "--inject 'warm': expected SCENARIO=FAULT"),
        ("warm=logit_swapped", "Unknown fault 'logit_swapped'. Did you mean 'logits_swapped'?"),
        ("warm=", "Unknown fault ''"),
    ],
    ids=["no-equals", "unknown-fault", "no-fault"],
)
def test_faults_that_are_refused(pair: str, part: str) -> None:
    with pytest.raises(UsageError, match=re.escape(part)):
        parse_inject((pair,))


def test_a_flag_that_was_given_replaces_the_profiles_value() -> None:
    quick = load_profile("quick")
    changed = overridden(quick, budgets=(33,), decode_tokens=None, isolate=False)
    assert changed.budgets == (33,)
    assert changed.model_copy(update={"budgets": quick.budgets}) == quick


def test_a_flag_about_tasks_replaces_that_rule_alone() -> None:
    quick = load_profile("quick")
    changed = overridden(quick, task={"limit": 7, "num_fewshot": 0, "max_gen_toks": None})
    assert (changed.task.limit, changed.task.num_fewshot, changed.task.max_gen_toks) == (7, 0, None)
    assert changed.task.concurrency == quick.task.concurrency
    assert changed.model_copy(update={"task": quick.task}) == quick


def test_a_rule_of_the_profile_stays_where_no_flag_was_given() -> None:
    own = overridden(load_profile("quick"), task={"limit": 11, "max_gen_toks": 90})
    again = overridden(own, budgets=(33,), task={"limit": None, "max_gen_toks": 41})
    assert (again.task.limit, again.task.max_gen_toks) == (11, 41)


def test_a_profile_is_not_changed_by_its_flags() -> None:
    quick = load_profile("quick")
    overridden(quick, budgets=(33,), task={"limit": 7})
    assert quick == load_profile("quick")


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        ({"budgets": (5, 5)}, "command line: budgets: Value error, budget 5 appears twice"),
        ({"budgets": (0,)}, "budget 0 is not a positive number"),
        ({"decode_tokens": 1}, "command line: decode_tokens: "),
        ({"scenario_timeout": 0.0}, "command line: scenario_timeout: "),
        ({"task": {"limit": 0}}, "command line: task.limit: "),
        ({"task": {"num_fewshot": -1}}, "command line: task.num_fewshot: "),
        ({"task": {"max_gen_toks": 0}}, "command line: task.max_gen_toks: "),
        ({"task": {"limt": 3}}, "unknown key 'task.limt'. Did you mean 'limit'?"),
    ],
    ids=[
        "budget-twice",
        "zero-budget",
        "one-token",
        "no-time",
        "no-question",
        "fewer-than-no-examples",
        "no-answer",
        "unknown-rule",
    ],
)
def test_a_flag_is_held_to_the_profiles_rules(flags: dict[str, Any], part: str) -> None:
    with pytest.raises(UsageError, match=re.escape(part)):
        overridden(load_profile("quick"), **flags)


def made(**changes: Any) -> Request:
    document = {"model": "made", "profile": load_profile("quick"), **changes}
    return validated(Request, document, where="command line")


def test_what_is_asked_of_tasks_where_no_flag_says_otherwise() -> None:
    request = made()
    assert request.tasks == ("gsm8k",)
    assert not request.chat_template and not request.enable_thinking
    assert (request.gsm8k_data, request.min_score) == (None, None)


@pytest.mark.parametrize("score", [0, 1, 0.37])
def test_a_least_score_is_a_share(score: float) -> None:
    assert made(min_score=score).min_score == score


@pytest.mark.parametrize("score", [-0.01, 1.01, 37, "most"])
def test_a_least_score_that_is_no_share(score: object) -> None:
    with pytest.raises(UsageError, match="command line: min_score: "):
        made(min_score=score)


def test_a_request_survives_being_written_and_read() -> None:
    request = made(tasks=("gsm8k", "made"), gsm8k_data="a/folder", min_score=0.37)
    assert Request.model_validate_json(request.model_dump_json()) == request
