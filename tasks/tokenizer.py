"""What a task needs of the model's tokenizer, wherever that runs."""

from typing import Protocol

Message = dict[str, str]
"""One turn of a conversation: role and content."""


class Tokenizer(Protocol):
    """The tokenizer of the model under test."""

    eos_token: str | None
    eos_token_id: int | None

    def encode(self, texts: list[str], special_tokens: bool) -> list[tuple[int, ...]]:
        """Token ids of each text; `special_tokens`: add those that the tokenizer adds by itself,
        but never a second one for the beginning."""

    def chat(self, messages: list[Message], generation_prompt: bool) -> str:
        """The conversation in the model's chat template; raises UsageError where it has none."""
