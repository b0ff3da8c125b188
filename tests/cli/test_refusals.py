"""Requests that are refused before anything starts: exit code 2, what to change, nothing left."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Command, Ended


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
    }


@pytest.fixture(autouse=True)
def no_engine_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not refused would start an engine: fail instead."""

    def fail(*arguments: object, **named: object) -> None:
        pytest.fail("the request was accepted")

    monkeypatch.setattr("linattn_verify.cli.run_command._run", fail)


def refused(command: "Command", home: Path, *arguments: str) -> "Ended":
    before = everything(home)
    ended = command("run", *arguments)
    assert ended.code == 2, ended
    assert ended.err.startswith(("Error: ", "Usage: "))
    assert "Traceback" not in ended.err
    assert ended.out == ""
    assert everything(home) == before
    return ended


FLAGS = {
    "a-floor-for-no-score": (
        ["--only", "prefix_cache", "--min-score", "0.5"],
        ["--min-score: no task is asked"],
    ),
    "a-task-that-is-left-out": (
        ["--skip", "task_score", "--task", "arc_easy", "--gsm8k-data", "."],
        ["--task, --gsm8k-data: no task is asked"],
    ),
    "thinking-without-a-template": (["--enable-thinking"], ["give --chat-template too"]),
    "budgets-in-words": (["--budgets", "37,x"], ["--budgets: 'x' is not a whole number"]),
    "no-budgets": (["--budgets", ""], ["--budgets: '' is not a whole number"]),
    "zero-budget": (["--budgets", "37,0"], ["budget 0 is not a positive number of tokens"]),
    "budget-twice": (["--budgets", "37,11,37"], ["budget 37 appears twice"]),
    "profile": (["--profile", "quikc"], ["Unknown profile 'quikc'. Did you mean 'quick'?"]),
    "profile-file": (["--profile", "mine.yaml"], ["profile mine.yaml: cannot be read"]),
    "only": (
        ["--only", "chunkd_prefill"],
        ["Unknown check 'chunkd_prefill'. Did you mean 'chunked_prefill'?", "Known: "],
    ),
    "skip": (["--skip", "prefix_cash"], ["Unknown check 'prefix_cash'. Did you mean"]),
    "nothing-left": (
        ["--only", "prefix_cache", "--skip", "prefix_cache"],
        ["No check is left to run"],
    ),
    "fault": (
        ["--inject", "warm=logit_swapped"],
        ["Unknown fault 'logit_swapped'. Did you mean 'logits_swapped'?"],
    ),
    "fault-for-nothing": (["--inject", "warm"], ["expected SCENARIO=FAULT"]),
    "engine-arg": (["--engine-arg", "block_size"], ["expected KEY=VALUE"]),
    "engine-arg-twice": (
        ["--engine-arg", "seed=1", "--engine-arg", "seed=2"],
        ["--engine-arg seed: given twice"],
    ),
    "negative-seed": (["--seed", "-1"], ["command line: seed", "(got -1)"]),
    "seed-in-words": (["--seed", "one"], ["--seed", "'one' is not a valid integer"]),
    "tiny-model-len": (["--max-model-len", "7"], ["command line: max_model_len"]),
    "one-output-token": (["--decode-tokens", "1"], ["command line: decode_tokens"]),
    "no-time": (["--timeout", "0"], ["command line: scenario_timeout"]),
    "unknown-dtype": (["--dtype", "foo"], ["command line: dtype", "bfloat16"]),
    "huge-budget": (["--budgets", "99999999999999999999"], ["more tokens than any engine"]),
    "revision-of-nothing": (["--revision", "main"], ["--revision: needs --model"]),
    "unknown-option": (["--modle", "x"], ["No such option", "--model"]),
    "no-question": (["--limit", "0"], ["command line: task.limit", "greater than or equal to 1"]),
    "fewer-than-no-examples": (
        ["--num-fewshot", "-1"],
        ["command line: task.num_fewshot", "greater than or equal to 0"],
    ),
    "no-answer": (
        ["--max-gen-toks", "0"],
        ["command line: task.max_gen_toks", "greater than or equal to 1"],
    ),
    "more-than-all-right": (
        ["--min-score", "2"],
        ["command line: min_score", "less than or equal to 1", "(got 2.0)"],
    ),
    "less-than-none-right": (["--min-score", "-0.1"], ["command line: min_score"]),
    "score-in-words": (["--min-score", "most"], ["--min-score", "'most' is not a valid float"]),
    "fault-for-no-scenario-of-a-task": (
        ["--inject", "gsm8k/chunked@57=logits_swapped", "--budgets", "37"],
        ["Unknown scenario 'gsm8k/chunked@57' in --inject. Did you mean 'gsm8k/chunked@37'?"],
    ),
    "fault-for-a-task-that-is-not-asked": (
        ["--inject", "gsm8k/warm=restored_state_lost", "--skip", "task_score"],
        ["Unknown scenario 'gsm8k/warm' in --inject.", "Known: "],
    ),
    "unknown-fault-in-a-task": (
        ["--inject", "gsm8k/warm=restored_state_lots"],
        ["Unknown fault 'restored_state_lots'. Did you mean 'restored_state_lost'?"],
    ),
    "revision-of-random-weights": (
        ["--model", "random", "--revision", "main"],
        ["--revision: needs --model", "have no revisions"],
    ),
    "prompts-missing": (["--prompts", "nowhere.jsonl"], ["nowhere.jsonl does not exist"]),
    "prompts-folder": (["--prompts", "."], [". is a directory"]),
}


@pytest.mark.parametrize(("flags", "parts"), FLAGS.values(), ids=FLAGS.keys())
def test_a_bad_flag(command: "Command", home: Path, flags: list[str], parts: list[str]) -> None:
    text = refused(command, home, *flags).err
    for part in parts:
        assert part in text


PROMPTS = {
    "empty": ("", "p.jsonl is empty"),
    "blank": ("\n \n", "p.jsonl holds no prompts"),
    "not-json": ('{"prompt": "a"}\n{"prompt": \n', "p.jsonl, line 2: not valid JSON"),
    "half-a-character": ('{"prompt": "\\ud800 x"}\n', "p.jsonl, line 1: holds half of a surrogate"),
    "misspelt": ('\n{"promt": "a"}\n', "p.jsonl, line 2: neither 'prompt' nor"),
    "id-twice": ('{"id": "a", "prompt": "x"}\n' * 2, "p.jsonl, line 2: the id 'a' is taken"),
}


@pytest.mark.parametrize(("content", "part"), PROMPTS.values(), ids=PROMPTS.keys())
def test_a_bad_prompt_file_is_refused_by_line(
    command: "Command", home: Path, content: str, part: str
) -> None:
    (home / "p.jsonl").write_text(content)
    assert part in refused(command, home, "--prompts", "p.jsonl").err


def test_a_model_folder_that_is_not_there(command: "Command", home: Path) -> None:
    text = refused(command, home, "--model", "./nowhere").err
    assert "--model ./nowhere: no such folder" in text
    assert "hub name" in text


@pytest.mark.parametrize("name", ["", "  "], ids=["empty", "blank"])
def test_a_model_without_a_name(command: "Command", home: Path, name: str) -> None:
    text = refused(command, home, "--model", name).err
    assert f"--model {name}: no such folder" in text


def test_a_model_folder_of_a_user_that_does_not_exist(command: "Command", home: Path) -> None:
    text = refused(command, home, "--model", "~nobody-of-this-name/model").err
    assert "--model ~nobody-of-this-name/model" in text


def test_a_model_name_that_is_longer_than_a_path_can_be(command: "Command", home: Path) -> None:
    text = refused(command, home, "--model", "./" + "m" * 5000).err
    assert "--model ./mmm" in text
    assert len(text) < 6000


def test_a_file_as_model(command: "Command", home: Path) -> None:
    (home / "model.safetensors").write_bytes(b"x")
    text = refused(command, home, "--model", "model.safetensors").err
    assert "--model model.safetensors: is a file. Give the folder" in text


def test_a_model_folder_without_a_configuration(
    command: "Command", home: Path, model: Path
) -> None:
    (model / "config.json").unlink()
    assert "has no config.json" in refused(command, home, "--model", str(model)).err


def test_a_model_folder_without_weights(command: "Command", home: Path, model: Path) -> None:
    (model / "model.safetensors").unlink()
    text = refused(command, home, "--model", str(model)).err
    assert "has no weights (*.safetensors," in text


def test_no_engine_beside_the_tool(
    command: "Command", home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linattn_verify.cli.model.find_spec", lambda name: None)
    text = refused(command, home).err
    assert "vLLM is not installed beside linattn-verify" in text
    assert "pip install 'linattn-verify[cpu]'" in text


def missing_harness(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything but lm-eval is installed."""
    monkeypatch.setattr(
        "linattn_verify.cli.model.find_spec", lambda name: None if name == "lm_eval" else object()
    )


def test_no_harness_beside_the_tool(
    command: "Command", home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing_harness(monkeypatch)
    text = refused(command, home).err
    assert "lm-eval is not installed" in text
    assert "pip install 'linattn-verify[gsm8k]'" in text
    assert "--skip task_score" in text


@pytest.mark.parametrize(
    "flags", [["--skip", "task_score"], ["--only", "prefix_cache"]], ids=["left-out", "not-asked"]
)
def test_without_a_task_no_harness_is_missed(
    command: "Command", home: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str]
) -> None:
    class Accepted(Exception):
        pass

    def accept(*_: object) -> None:
        raise Accepted

    missing_harness(monkeypatch)
    monkeypatch.setattr("linattn_verify.cli.run_command._run", accept)
    ended = command("run", "--out", "run", *flags)
    assert (ended.code, "Error: Accepted" in ended.err) == (4, True)


def test_an_output_folder_that_is_a_file(command: "Command", home: Path, model: Path) -> None:
    (home / "taken").write_text("mine")
    text = refused(command, home, "--model", str(model), "--out", "taken").err
    assert "--out taken: is a file. Give a folder." in text


def test_an_output_folder_below_a_file(command: "Command", home: Path, model: Path) -> None:
    (home / "taken").write_text("mine")
    text = refused(command, home, "--model", str(model), "--out", "taken/run").err
    assert "--out taken/run: cannot be written to" in text


def test_an_output_folder_that_holds_an_earlier_run(
    command: "Command", home: Path, model: Path
) -> None:
    run = home / "run"
    (run / "traces").mkdir(parents=True)
    (run / "report.json").write_text("{}")
    text = refused(command, home, "--model", str(model), "--out", "run").err
    assert "--out run: holds an earlier run (report.json, traces)" in text
    assert "--force" in text


@pytest.mark.parametrize("place", ["taken/report.json", "folder"], ids=["below-a-file", "folder"])
def test_a_place_for_the_json_that_cannot_be_written(
    command: "Command", home: Path, model: Path, place: str
) -> None:
    """Said before the run, not after minutes of it."""
    (home / "taken").write_text("mine")
    (home / "folder").mkdir()
    text = refused(command, home, "--model", str(model), "--json", place).err
    assert f"--json {place}" in text


def test_a_fault_for_a_scenario_that_no_budget_makes(
    command: "Command", home: Path, model: Path
) -> None:
    flags = ["--model", str(model), "--budgets", "37", "--inject", "chunked@38=logits_swapped"]
    text = refused(command, home, *flags).err
    assert "Unknown scenario 'chunked@38' in --inject. Did you mean 'chunked@37'?" in text
