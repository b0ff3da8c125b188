"""Our side of lm-eval's model interface: collects a task's requests, then plays back the answers.

lm-eval asks its model twice. The first time the requests are written down, so that every scenario
can serve the same ones on an engine that is running already; afterwards the answers of a scenario
are given back for lm-eval to filter and score. Nothing here waits for an engine.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from lm_eval.api.instance import Instance
from lm_eval.api.model import TemplateLM
from lm_eval.defaults import DEFAULT_MAX_GEN_TOKS
from lm_eval.models.utils import (
    handle_stop_sequences,
    normalize_gen_kwargs,
    postprocess_generated_text,
)

from linattn_verify.configs.errors import UsageError
from linattn_verify.tasks.request import Answer, TaskRequest
from linattn_verify.tasks.tokenizer import Message, Tokenizer

_BLANK = Answer(output="", logprob=0.0, greedy=False)
_THINK_END = "</think>"
T = TypeVar("T")


class Adapter(TemplateLM):  # type: ignore[misc]
    """The model that lm-eval sees.

    `max_gen_toks` replaces the task's own length of an answer. With `thinking` the text up to the
    end of the thoughts is no part of an answer, and no string in it ends the output.
    """

    def __init__(
        self, tokenizer: Tokenizer, chat: bool, thinking: bool, max_gen_toks: int | None
    ) -> None:
        super().__init__()
        self.requests: list[TaskRequest] = []
        """Collected, in the order in which lm-eval asks."""
        self._tokenizer = tokenizer
        self._chat = chat
        self._thinking = thinking
        self._max_gen_toks = max_gen_toks
        self._known: dict[Any, Any] = {}
        self._answers: list[Answer] | None = None
        self._next = 0

    def play(self, answers: list[Answer]) -> None:
        """Give back these from now on, one a request."""
        if len(answers) != len(self.requests):
            raise RuntimeError(f"{len(answers)} answers to {len(self.requests)} requests")
        self._answers, self._next = answers, 0

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        """The outputs, cut as lm-eval's own backends cut them."""
        arguments = [request.args for request in requests]
        self._encode_all([context for context, _ in arguments])
        asked = [self._generation(context, kwargs) for context, kwargs in arguments]
        think_end = _THINK_END if self._thinking else None
        return [
            postprocess_generated_text(answer.output, self._until(kwargs), think_end)
            for answer, (_, kwargs) in zip(self._answered(asked), arguments, strict=True)
        ]

    def loglikelihood(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """As lm-eval does it, but without its own bar."""
        found: list[tuple[float, bool]] = super().loglikelihood(requests, disable_tqdm=True)
        return found

    def _loglikelihood_tokens(
        self,
        requests: list[tuple[tuple[str, str], list[int], list[int]]],
        disable_tqdm: bool = False,
    ) -> list[tuple[float, bool]]:
        """Continuations are decoded along their tokens, so that the state is used as in serving,
        and a prefix may come from the cache (prompt log-probabilities would skip it)."""
        empty = next((texts for texts, _, tokens in requests if not tokens), None)
        if empty is not None:
            raise UsageError(
                f"This task asks how likely {empty[1]!r} is after {empty[0][-60:]!r}, which is no "
                "token to this tokenizer. Give another task."
            )
        asked = [
            TaskRequest(token_ids=tuple(context), forced=tuple(tokens), max_tokens=len(tokens))
            for _, context, tokens in requests
        ]
        return [(answer.logprob, answer.greedy) for answer in self._answered(asked)]

    def loglikelihood_rolling(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[float]:
        """Raises UsageError: whole texts are what the prompt leg is for."""
        raise UsageError(
            "This task asks for the likelihood of whole texts (loglikelihood_rolling). Give tasks "
            "that generate or choose; for whole texts use --prompts."
        )

    @property
    def eot_token_id(self) -> int:
        """The token that stands for an empty context."""
        if self._tokenizer.eos_token_id is None:
            raise UsageError("This task needs an end-of-text token; the tokenizer has none.")
        return self._tokenizer.eos_token_id

    def tok_encode(
        self, string: str, add_special_tokens: bool | None = None, **kwargs: Any
    ) -> list[int]:
        """Token ids of one text. A chat template brings its own special tokens."""
        special = not self._chat if add_special_tokens is None else add_special_tokens
        return list(
            self._remembered(
                (string, special), lambda: self._tokenizer.encode([string], special)[0]
            )
        )

    @property
    def tokenizer_name(self) -> str:
        """A part of lm-eval's cache key; its cache is not used."""
        return "engine"

    def apply_chat_template(
        self, chat_history: list[Message], add_generation_prompt: bool = True
    ) -> str:
        """The conversation in the model's own template."""
        turns = tuple(tuple(turn.items()) for turn in chat_history)
        return self._remembered(
            (turns, add_generation_prompt),
            lambda: self._tokenizer.chat(chat_history, add_generation_prompt),
        )

    def _answered(self, asked: list[TaskRequest]) -> list[Answer]:
        if self._answers is None:
            self.requests += asked
            return [_BLANK] * len(asked)
        first, self._next = self._next, self._next + len(asked)
        if self.requests[first : self._next] != asked:
            raise RuntimeError("lm-eval asks other requests for scoring than it asked before")
        return self._answers[first : self._next]

    def _generation(self, context: str, kwargs: dict[str, Any]) -> TaskRequest:
        settings = normalize_gen_kwargs(kwargs, DEFAULT_MAX_GEN_TOKS)
        if settings.get("do_sample"):
            raise UsageError(
                "This task draws its answers at random (do_sample), so they cannot be compared "
                "question by question. Give a task that decodes greedily."
            )
        return TaskRequest(
            token_ids=tuple(self.tok_encode(context)),
            until=() if self._thinking else tuple(self._until(kwargs)),
            max_tokens=self._max_gen_toks or settings["max_gen_toks"],
        )

    def _until(self, kwargs: dict[str, Any]) -> list[str]:
        until = list(normalize_gen_kwargs(kwargs)["until"])
        found: list[str] = handle_stop_sequences(until, self._tokenizer.eos_token)
        return [text for text in found if text]

    def _encode_all(self, texts: list[str]) -> None:
        """Encode the texts that are not known yet in one go."""
        new = [t for t in dict.fromkeys(texts) if (t, not self._chat) not in self._known]
        ids = self._tokenizer.encode(new, not self._chat) if new else []
        self._known |= {(t, not self._chat): i for t, i in zip(new, ids, strict=True)}

    def _remembered(self, key: Any, work: Callable[[], T]) -> T:
        """Scoring happens when the engine, and with it the tokenizer, may be gone."""
        if key not in self._known:
            self._known[key] = work()
        found: T = self._known[key]
        return found
