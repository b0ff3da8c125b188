"""Profiles: the built-in ones, `extends`, and what is refused."""

import math
from pathlib import Path

import pytest

from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.metrics import STATISTICS
from linattn_verify.configs.profile import BUILT_IN, Profile, load_profile

SMALL = """\
name: small
description: made up
budgets: [37, 11]
limits:
  float32:
    mean: {limit: 0.5, origin: guessed}
    max: {limit: 3, origin: guessed}
engine_args:
  enforce_eager: true
  compilation_config: {level: 3, cache_dir: a}
"""


def written(folder: Path, text: str, name: str = "small.yaml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def refusal(name: str) -> str:
    with pytest.raises(UsageError) as caught:
        load_profile(name)
    return str(caught.value)


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_profiles_load_under_their_own_name(name: str) -> None:
    profile = load_profile(name)
    assert profile.name == name
    assert profile.budgets
    assert set(profile.limits["bfloat16"]) >= set(STATISTICS) - {"near_ties"}
    assert all(limit.origin for limits in profile.limits.values() for limit in limits.values())


def test_every_profile_file_is_a_built_in_profile() -> None:
    import linattn_verify.configs as package

    folder = Path(next(iter(package.__path__))) / "profiles"
    assert {file.stem for file in folder.iterdir()} == set(BUILT_IN)


def test_a_file_gives_its_own_values_and_the_defaults(tmp_path: Path) -> None:
    profile = load_profile(written(tmp_path, SMALL))
    assert profile.budgets == (37, 11)
    assert profile.limits["float32"]["max"].limit == 3.0
    assert (profile.min_chunks, profile.top_k, profile.isolate) == (3, 8, False)
    assert profile.cut_offsets == (1, 2, 3, "half", "block")


def test_a_profile_of_no_name_does_not_go_by_that_of_another(tmp_path: Path) -> None:
    profile = load_profile(written(tmp_path, "extends: quick\nbudgets: [5]\n", "mine.yaml"))
    assert profile.name == "mine.yaml (extends quick)"
    assert profile.description == "As quick, with changes."


def test_extends_merges_mappings_and_replaces_the_rest(tmp_path: Path) -> None:
    base = written(tmp_path, SMALL)
    over = f"""\
extends: {base}
name: over
budgets: [5]
limits:
  float32:
    max: {{limit: 7, origin: measured}}
engine_args:
  compilation_config: {{cache_dir: b}}
  seed: 3
"""
    profile = load_profile(written(tmp_path, over, "over.yaml"))
    assert (profile.name, profile.description) == ("over", "made up")
    assert profile.budgets == (5,)
    limits = profile.limits["float32"]
    assert (limits["max"].limit, limits["max"].origin) == (7.0, "measured")
    assert (limits["mean"].limit, limits["mean"].origin) == (0.5, "guessed")
    assert profile.engine_args == {
        "enforce_eager": True,
        "compilation_config": {"level": 3, "cache_dir": "b"},
        "seed": 3,
    }


def test_extends_reaches_through_several_files_to_a_built_in_one(tmp_path: Path) -> None:
    middle = written(tmp_path, "extends: quick\ntop_k: 5\ndecode_tokens: 9\n", "middle.yaml")
    top = written(tmp_path, f"extends: {middle}\ndecode_tokens: 11\n", "top.yaml")
    profile = load_profile(top)
    assert (profile.top_k, profile.decode_tokens) == (5, 11)
    assert profile.limits == load_profile("quick").limits


def test_a_profile_that_extends_itself_by_way_of_another(tmp_path: Path) -> None:
    first, second = str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")
    written(tmp_path, f"extends: {second}\n", "a.yaml")
    written(tmp_path, f"extends: {first}\n", "b.yaml")
    text = refusal(first)
    assert "extends itself" in text
    assert f"{first} → {second} → {first}" in text


@pytest.mark.parametrize(
    ("name", "meant"), [("quik", "quick"), ("relase", "release")], ids=["quik", "relase"]
)
def test_an_unknown_profile_suggests_the_nearest(name: str, meant: str) -> None:
    text = refusal(name)
    assert f"Unknown profile {name!r}. Did you mean {meant!r}?" in text
    assert "Known: ci, quick, release." in text


def test_an_unknown_base_suggests_the_nearest(tmp_path: Path) -> None:
    text = refusal(written(tmp_path, "extends: quikc\n"))
    assert "Unknown profile 'quikc'. Did you mean 'quick'?" in text


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "nowhere.yaml")
    assert f"profile {missing}: cannot be read" in refusal(missing)
    assert f"profile {tmp_path}: cannot be read" in refusal(str(tmp_path))


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "bytes.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    assert f"profile {path}: cannot be read" in refusal(str(path))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("budgets: [1, 2\nname: {", "not valid YAML"),
        ("- quick\n- ci\n", "expected a mapping"),
        ("just words", "expected a mapping"),
        ("", "expected a mapping"),
    ],
    ids=["broken-yaml", "list", "scalar", "empty"],
)
def test_a_file_that_is_no_mapping(tmp_path: Path, text: str, part: str) -> None:
    path = written(tmp_path, text)
    assert refusal(path).startswith(f"profile {path}: {part}")


REFUSED = {
    "misspelt-key": ("budget: [5]", ["unknown key 'budget'", "Did you mean 'budgets'?"]),
    "misspelt-in-a-limit": (
        "limits: {float32: {max: {limt: 2}}}",
        ["unknown key 'limits.float32.max.limt'", "Did you mean 'limit'?"],
    ),
    "unknown-statistic": (
        "limits: {float32: {maxx: {limit: 2, origin: a}}}",
        ["Unknown statistic 'maxx' in maxx", "Did you mean 'max'?", "kl_top_k"],
    ),
    "unknown-statistic-of-a-leg": (
        "limits: {float32: {prompt.meen: {limit: 2, origin: a}}}",
        ["Unknown statistic 'meen' in prompt.meen", "Did you mean 'mean'?"],
    ),
    "unknown-leg": (
        "limits: {float32: {promt.max: {limit: 2, origin: a}}}",
        ["'promt'", "promt.max", "Did you mean 'prompt'?"],
    ),
    "unknown-segment-of-a-leg": (
        "limits: {float32: {prompt.latr.max: {limit: 2, origin: a}}}",
        ["'latr'", "prompt.latr.max", "Did you mean 'later'?"],
    ),
    "unknown-dtype": ("limits: {bf16: {}}", ["limits.bf16", "bfloat16"]),
    "negative-limit": ("limits: {float32: {max: {limit: -1}}}", ["limits.float32.max.limit"]),
    "limit-without-origin": (
        "limits: {bfloat16: {max: {limit: 1}}}",
        ["limits.bfloat16.max.origin: Field required"],
    ),
    "empty-origin": (
        "limits: {float32: {max: {origin: ''}}}",
        ["limits.float32.max.origin", "at least 1 character"],
    ),
    "zero-budget": ("budgets: [5, 0]", ["budget 0 is not a positive number"]),
    "negative-budget": ("budgets: [-7]", ["budget -7 is not a positive number"]),
    "budget-twice": ("budgets: [5, 9, 5]", ["budget 5 appears twice"]),
    "budget-in-words": ("budgets: [5, many]", ["budgets.1", "valid integer", "(got 'many')"]),
    "half-a-token": ("budgets: [5.5]", ["budgets.0", "valid integer"]),
    "no-budgets": ("budgets: []", ["budgets", "at least 1 item"]),
    "one-top-token": ("top_k: 1", ["top_k", "greater than or equal to 2"]),
    "unknown-offset": ("cut_offsets: [1, third]", ["cut_offsets.1", "'half' or 'block'"]),
    "misspelt-rule-of-tasks": (
        "task: {concurency: 5}",
        ["unknown key 'task.concurency'", "Did you mean 'concurrency'?", "near_zero"],
    ),
    "rules-of-tasks-misspelt": (
        "tasks: {limit: 5}",
        ["unknown key 'tasks'", "Did you mean 'task'"],
    ),
    "endless-timeout": ("scenario_timeout: .inf", ["scenario_timeout", "finite"]),
}


@pytest.mark.parametrize(("change", "parts"), REFUSED.values(), ids=REFUSED.keys())
def test_a_refused_profile_says_where_and_why(
    tmp_path: Path, change: str, parts: list[str]
) -> None:
    base = written(tmp_path, SMALL)
    path = written(tmp_path, f"extends: {base}\n{change}\n", "changed.yaml")
    text = refusal(path)
    assert f"profile {path}: " in text
    for part in parts:
        assert part in text


@pytest.mark.parametrize(
    "key",
    ["max", "decode.max", "edge+1..3.max", "prompt.edge+1..3.max", "later.mean", "cut.all.p99_9"],
)
def test_a_limit_may_be_narrowed_by_leg_and_segment(tmp_path: Path, key: str) -> None:
    base = written(tmp_path, SMALL)
    change = f"limits: {{float32: {{{key}: {{limit: 2, origin: a}}}}}}"
    profile = load_profile(written(tmp_path, f"extends: {base}\n{change}\n", "changed.yaml"))
    assert profile.limits["float32"][key].limit == 2.0


OUT_OF_RANGE = {
    "limit": ["0", "-3", "2.5", "many"],
    "num_fewshot": ["-1", "1.5"],
    "max_gen_toks": ["0", "-256"],
    "concurrency": ["0", "null"],
    "margin": ["0", "1", "-0.02", ".nan"],
    "near_zero": ["-0.05", "1"],
    "most_unusable": ["-0.1", "1"],
}


@pytest.mark.parametrize(
    ("rule", "value"), [(rule, value) for rule, values in OUT_OF_RANGE.items() for value in values]
)
def test_a_rule_of_tasks_out_of_its_range(tmp_path: Path, rule: str, value: str) -> None:
    change = f"extends: quick\ntask: {{{rule}: {value}}}\n"
    assert f"task.{rule}: " in refusal(written(tmp_path, change))


EDGES = {
    "limit": 1,
    "num_fewshot": 0,
    "max_gen_toks": 1,
    "concurrency": 1,
    "margin": 0.001,
    "near_zero": 0,
    "most_unusable": 0,
}


@pytest.mark.parametrize(("rule", "value"), EDGES.items(), ids=EDGES.keys())
def test_a_rule_of_tasks_at_the_edge_of_its_range_leaves_the_others(
    tmp_path: Path, rule: str, value: float
) -> None:
    change = f"extends: quick\ntask: {{{rule}: {value}}}\n"
    profile = load_profile(written(tmp_path, change))
    expected = load_profile("quick").task.model_dump() | {rule: value}
    assert profile.task.model_dump() == expected


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_profiles_ask_tasks_as_they_define_themselves(name: str) -> None:
    """The task's own examples and lengths: the score that people know."""
    rules = load_profile(name).task
    assert (rules.num_fewshot, rules.max_gen_toks) == (None, None)


def test_built_in_profiles_differ_in_how_small_a_drop_they_exclude() -> None:
    """A smaller one takes more questions."""
    rules = [load_profile(name).task for name in ("quick", "ci", "release")]
    margins = [rule.margin for rule in rules]
    limits = [rule.limit or math.inf for rule in rules]
    assert margins == sorted(margins, reverse=True) and len(set(margins)) == 3
    assert limits == sorted(limits) and limits[2] == math.inf


def test_a_profile_survives_being_written_and_read() -> None:
    profile = load_profile("ci")
    assert Profile.model_validate_json(profile.model_dump_json()) == profile


@pytest.mark.parametrize("offsets", ["[-5, 1]", "[0]", "[]", "[middle]"])
def test_cut_offsets_that_cut_nowhere(tmp_path: Path, offsets: str) -> None:
    text = refusal(written(tmp_path, f"extends: quick\ncut_offsets: {offsets}\n"))
    assert "cut_offsets" in text
