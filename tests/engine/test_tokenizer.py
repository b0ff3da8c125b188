"""The model's tokenizer, in the engine process and seen from outside it."""

from types import SimpleNamespace
from typing import Any

import pytest

from linattn_verify.configs.errors import UsageError
from linattn_verify.engine.failures import usage
from linattn_verify.engine.messages import (
    COMMANDS,
    Chat,
    Chatted,
    Encode,
    Encoded,
    Failed,
    TokenizerFacts,
)
from linattn_verify.engine.process import EngineFailure
from linattn_verify.engine.tokenizer import RemoteTokenizer, chat, encode, tokenizer_facts
from linattn_verify.traces.outcome import Status

TALK: tuple[dict[str, str], ...] = (
    {"role": "user", "content": "3 + 4?"},
    {"role": "assistant", "content": "7"},
)


class Bytes:
    """A token a byte, 256 for the beginning of a text; `<s>` in a text is that token too."""

    bos_token: str | None = "<s>"
    eos_token, eos_token_id = "</s>", 257
    chat_template: str | None = "made"

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        first = [256] if add_special_tokens else []
        if text.startswith("<s>"):
            return [*first, 256, *text.removeprefix("<s>").encode()]
        return [*first, *text.encode()]

    def apply_chat_template(self, messages: list[dict[str, str]], **named: Any) -> str:
        self.asked.append(named)
        return "|".join(f"{turn['role']}: {turn['content']}" for turn in messages)


def ids(text: str, special: bool, tokenizer: Any = None) -> tuple[int, ...]:
    (found,) = encode(tokenizer or Bytes(), Encode(texts=(text,), special_tokens=special)).token_ids
    return found


def test_texts_are_encoded_one_by_one_in_their_order() -> None:
    command = Encode(texts=("ab", "", "é"), special_tokens=False)
    assert encode(Bytes(), command) == Encoded(token_ids=((97, 98), (), (195, 169)))


def test_special_tokens_are_added_where_they_are_asked_for() -> None:
    assert ids("ab", special=True) == (256, 97, 98)
    assert ids("ab", special=False) == (97, 98)


def test_the_beginning_of_a_text_is_marked_once() -> None:
    assert ids("<s>ab", special=True) == (256, 97, 98)
    assert ids("<s>ab", special=False) == (256, 97, 98)


def test_what_begins_a_text_elsewhere_does_not_count() -> None:
    assert ids("a<s>", special=True) == (256, *b"a<s>")


@pytest.mark.parametrize("beginning", [None, ""], ids=["none", "empty"])
def test_a_tokenizer_without_a_beginning_adds_what_it_adds(beginning: str | None) -> None:
    tokenizer = Bytes()
    tokenizer.bos_token = beginning
    assert ids("<s>a", special=True, tokenizer=tokenizer) == (256, 256, 97)


def test_what_a_tokenizer_says_of_itself() -> None:
    assert tokenizer_facts(Bytes()) == TokenizerFacts(eos_token="</s>", eos_token_id=257)
    assert tokenizer_facts(object()) == TokenizerFacts(eos_token=None, eos_token_id=None)


@pytest.mark.parametrize("prompt", [True, False])
@pytest.mark.parametrize("thinking", [True, False])
def test_a_conversation_goes_through_the_models_template(prompt: bool, thinking: bool) -> None:
    tokenizer = Bytes()
    command = Chat(messages=TALK, generation_prompt=prompt, thinking=thinking)
    assert chat(tokenizer, command) == Chatted(text="user: 3 + 4?|assistant: 7")
    assert tokenizer.asked == [
        {
            "tokenize": False,
            "add_generation_prompt": prompt,
            # An answer that has been begun is gone on with.
            "continue_final_message": not prompt,
            "enable_thinking": thinking,
        }
    ]


@pytest.mark.parametrize("template", [None, ""], ids=["none", "empty"])
def test_a_tokenizer_without_a_template_is_refused(template: str | None) -> None:
    tokenizer = Bytes()
    tokenizer.chat_template = template
    with pytest.raises(UsageError, match=r"--chat-template: .* has no chat template\."):
        chat(tokenizer, Chat(messages=TALK, generation_prompt=True, thinking=False))
    assert tokenizer.asked == []


def test_a_template_that_refuses_the_conversation_says_why() -> None:
    def refuse(*_: object, **__: object) -> str:
        raise ValueError("roles must alternate")

    tokenizer = SimpleNamespace(chat_template="made", apply_chat_template=refuse)
    with pytest.raises(UsageError, match=r"--chat-template: .*roles must alternate"):
        chat(tokenizer, Chat(messages=TALK, generation_prompt=True, thinking=False))


class Process:
    """An engine process that answers out of a tokenizer of its own, by way of the wire's form."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def ask(self, command: Any, timeout: float) -> Any:
        sent: Any = COMMANDS.validate_json(command.model_dump_json())
        try:
            return (
                encode(self.tokenizer, sent)
                if sent.type == "encode"
                else chat(self.tokenizer, sent)
            )
        except UsageError as error:
            raise EngineFailure(usage(str(error)), ()) from error
        except ZeroDivisionError as error:
            raise EngineFailure(Failed(status=Status.CRASHED, message="gone"), ()) from error


def remote(tokenizer: Any, thinking: bool = False) -> RemoteTokenizer:
    process: Any = Process(tokenizer)
    return RemoteTokenizer(process, TokenizerFacts(eos_token="</s>", eos_token_id=257), thinking)


def test_from_outside_it_is_the_same_tokenizer() -> None:
    tokenizer = Bytes()
    seen = remote(tokenizer, thinking=True)
    assert (seen.eos_token, seen.eos_token_id) == ("</s>", 257)
    assert seen.encode(["ab", "<s>c"], special_tokens=True) == [(256, 97, 98), (256, 99)]
    assert seen.chat(list(TALK), generation_prompt=False) == "user: 3 + 4?|assistant: 7"
    assert tokenizer.asked[0]["enable_thinking"] is True
    assert tokenizer.asked[0]["add_generation_prompt"] is False


def test_from_outside_a_refusal_is_the_users_to_act_on() -> None:
    tokenizer = Bytes()
    tokenizer.chat_template = None
    with pytest.raises(UsageError, match="has no chat template"):
        remote(tokenizer).chat(list(TALK), generation_prompt=True)


def test_from_outside_any_other_failure_stays_what_it_is() -> None:
    def crash(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(EngineFailure, match="gone"):
        remote(SimpleNamespace(encode=crash)).encode(["ab"], special_tokens=True)
