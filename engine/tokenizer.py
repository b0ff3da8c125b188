"""The model's tokenizer, in the engine process and as seen from outside it."""

from typing import Any

from linattn_verify.configs.errors import UsageError
from linattn_verify.engine.messages import Chat, Chatted, Encode, Encoded, TokenizerFacts
from linattn_verify.engine.process import EngineFailure, EngineProcess
from linattn_verify.tasks.tokenizer import Message

_PATIENCE = 600.0  # seconds


class RemoteTokenizer:
    """Asks an engine process that has been prepared (`linattn_verify.tasks.tokenizer`)."""

    def __init__(self, process: EngineProcess, facts: TokenizerFacts, thinking: bool) -> None:
        self.eos_token = facts.eos_token
        self.eos_token_id = facts.eos_token_id
        self._process = process
        self._thinking = thinking

    def encode(self, texts: list[str], special_tokens: bool) -> list[tuple[int, ...]]:
        """Token ids of each text."""
        reply = self._ask(Encode(texts=tuple(texts), special_tokens=special_tokens))
        assert isinstance(reply, Encoded)
        return list(reply.token_ids)

    def chat(self, messages: list[Message], generation_prompt: bool) -> str:
        """The conversation in the model's chat template; raises UsageError where it has none."""
        reply = self._ask(
            Chat(
                messages=tuple(messages),
                generation_prompt=generation_prompt,
                thinking=self._thinking,
            )
        )
        assert isinstance(reply, Chatted)
        return reply.text

    def _ask(self, command: Encode | Chat) -> Any:
        try:
            return self._process.ask(command, _PATIENCE)
        except EngineFailure as error:
            if error.failure.usage:
                raise UsageError(error.failure.message) from error
            raise


def tokenizer_facts(tokenizer: Any) -> TokenizerFacts:
    """What the tokenizer says of itself."""
    return TokenizerFacts(
        eos_token=getattr(tokenizer, "eos_token", None),
        eos_token_id=getattr(tokenizer, "eos_token_id", None),
    )


def encode(tokenizer: Any, command: Encode) -> Encoded:
    """Token ids of the texts; a text that begins with the beginning-of-text token gets no other."""
    bos = getattr(tokenizer, "bos_token", None)
    return Encoded(
        token_ids=tuple(
            tuple(
                tokenizer.encode(
                    text,
                    add_special_tokens=command.special_tokens
                    and not (bos and text.startswith(bos)),
                )
            )
            for text in command.texts
        )
    )


def chat(tokenizer: Any, command: Chat) -> Chatted:
    """The conversation in the tokenizer's template; raises UsageError where that fails."""
    if not getattr(tokenizer, "chat_template", None):
        raise UsageError(
            "--chat-template: this model's tokenizer has no chat template. Leave the flag out."
        )
    try:
        text = tokenizer.apply_chat_template(
            list(command.messages),
            tokenize=False,
            add_generation_prompt=command.generation_prompt,
            continue_final_message=not command.generation_prompt,
            enable_thinking=command.thinking,
        )
    except Exception as error:
        raise UsageError(
            f"--chat-template: the model's template refuses the conversation: {error}"
        ) from error
    return Chatted(text=text)
