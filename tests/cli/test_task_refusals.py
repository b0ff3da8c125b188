"""Requests about tasks that are refused once the engine process has read the model: exit code 2,
what to change, nothing left. The process is made up; lm-eval is the real one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import datasets
import lm_eval.tasks
import pytest

from linattn_verify.configs.errors import UsageError
from linattn_verify.engine.failures import usage
from linattn_verify.engine.messages import Encode, Encoded, ModelFacts, Prepared, TokenizerFacts
from linattn_verify.engine.process import EngineFailure
from linattn_verify.engine.tokenizer import chat

if TYPE_CHECKING:
    from tests.cli.conftest import Command

Refused = Callable[..., str]
HOME = Path(lm_eval.tasks.__file__).parent
REAL = lm_eval.tasks.TaskManager


class Process:
    """Reads any model, whose tokens are bytes; loads no engine."""

    alive = 0

    def __init__(self, log: Path, environment: dict[str, str]) -> None:
        Process.alive += 1

    def ask(self, command: Any, timeout: float, progress: object = None) -> Any:
        if command.type == "prepare":
            return Prepared(
                model=ModelFacts(
                    name=command.model,
                    path=None,
                    revision=None,
                    architecture="Made",
                    vocab_size=300,
                    max_position_embeddings=4096,
                    experts=False,
                ),
                tokenizer=TokenizerFacts(eos_token="<eos>", eos_token_id=257),
                token_ids=tuple((1, 2, 3) for _ in command.prompts),
            )
        if isinstance(command, Encode):
            return Encoded(token_ids=tuple(tuple(text.encode()) for text in command.texts))
        try:
            return chat(object(), command)
        except UsageError as error:
            raise EngineFailure(usage(str(error)), ()) from error

    def kill(self) -> None:
        Process.alive -= 1


@pytest.fixture
def refused(command: "Command", home: Path, monkeypatch: pytest.MonkeyPatch) -> Refused:
    """What the command says as it refuses, with GSM8K's own folder for all of lm-eval's."""

    def manager(**named: Any) -> lm_eval.tasks.TaskManager:
        return REAL(**named or {"include_path": HOME / "gsm8k", "include_defaults": False})

    def call(*arguments: str) -> str:
        before = sorted(home.rglob("*"))
        ended = command("run", "--out", "run", "--skip", "kernels", *arguments)
        assert ended.code == 2, ended
        assert "Error: " in ended.err
        assert "Traceback" not in ended.err
        assert sorted(home.rglob("*")) == before
        assert Process.alive == 0
        return ended.err

    monkeypatch.setattr("linattn_verify.cli.pipeline.EngineProcess", Process)
    monkeypatch.setattr(Process, "alive", 0)
    monkeypatch.setattr(lm_eval.tasks, "TaskManager", manager)
    return call


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with GSM8K's files, of three examples and two questions."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name, size in (("train", 3), ("test", 2)):
        rows = [{"question": f"{i} and 3?", "answer": f"#### {i + 3}"} for i in range(size)]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def test_a_task_that_is_none(refused: Refused) -> None:
    assert "Unknown task 'gsm8kk' in --task. Did you mean 'gsm8k'?" in refused("--task", "gsm8kk")


def test_a_folder_without_questions(refused: Refused, tmp_path: Path) -> None:
    text = refused("--gsm8k-data", str(tmp_path))
    assert f"--gsm8k-data: {tmp_path / 'train.jsonl'} cannot be read" in text
    assert "Give the folder that holds train.jsonl and test.jsonl" in text


def test_fewer_examples_than_a_prompt_needs(refused: Refused, data: Path) -> None:
    text = refused("--gsm8k-data", str(data))
    assert "Task 'gsm8k' cannot be asked: " in text
    assert "fewer --num-fewshot" in text


def test_questions_that_the_hub_does_not_give(
    refused: Refused, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(**_: object) -> None:
        raise ConnectionError("Couldn't reach 'openai/gsm8k' on the Hub")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    text = refused("--model", str(model))
    assert "Task 'gsm8k' cannot be loaded: Couldn't reach 'openai/gsm8k'" in text
    for way in ("network", "--gsm8k-data DIR", "--skip task_score"):
        assert way in text


def test_a_template_that_the_model_does_not_have(refused: Refused, data: Path) -> None:
    text = refused("--gsm8k-data", str(data), "--num-fewshot", "1", "--chat-template")
    assert "--chat-template: this model's tokenizer has no chat template. Leave the flag" in text


def test_a_fault_for_a_task_that_is_not_asked(refused: Refused, data: Path) -> None:
    flags = ["--gsm8k-data", str(data), "--num-fewshot", "1"]
    text = refused(*flags, "--inject", "gsm8/warm=restored_state_lost")
    assert "Unknown scenario 'gsm8/warm' in --inject. Did you mean 'gsm8k/warm'?" in text


def test_a_request_that_is_longer_than_the_model(refused: Refused, data: Path) -> None:
    flags = ["--gsm8k-data", str(data), "--num-fewshot", "1", "--max-gen-toks", "37"]
    text = refused(*flags, "--max-model-len", "90")
    # "Question: 0 and 3?\nAnswer: #### 3\n\nQuestion: 0 and 3?\nAnswer:" has 61 bytes
    assert "Request 1 of gsm8k has 61 tokens; with 37 output tokens it needs 98" in text
    assert "--max-model-len is 90. Give fewer --num-fewshot or --max-gen-toks" in text


def test_a_task_that_draws_its_answers(refused: Refused) -> None:
    text = refused("--task", "gsm8k_cot_self_consistency", "--limit", "3")
    assert "draws its answers at random (do_sample)" in text
    assert "Give a task that decodes greedily" in text
