"""Prompts: the embedded ones, and those read from a file."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from linattn_verify.configs.errors import UsageError, nearest
from linattn_verify.workloads.corpus import embedded_texts

KEYS = ("id", "prompt", "prompt_token_ids")
EXAMPLE = '{"id": "p1", "prompt": "Once upon a time"}'


@dataclass(frozen=True)
class Prompt:
    """What one request sends: a text or its token ids, never both.

    `max_tokens`: the prompt is cut to so many tokens once it is tokenized; None leaves it whole.
    """

    id: str
    text: str | None = None
    token_ids: tuple[int, ...] | None = None
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        if (self.text is None) == (self.token_ids is None):
            raise ValueError(f"prompt {self.id!r} needs either a text or token ids")


def embedded_prompts() -> list[Prompt]:
    """The project's own ten prompts, the same on every machine.

    Three share a first prefix and two a second one, each of some 600 tokens.
    """
    return [Prompt(text.id, text.text, None, text.max_tokens) for text in embedded_texts()]


def read_prompts(path: Path) -> list[Prompt]:
    """The prompts in a file: `.jsonl` holds one object a line, any other suffix one text a line.

    Lines without content are skipped; an object without `id` is called p1, p2, … by its place
    among the prompts. Raises UsageError, with file, line and remedy, for what cannot be read.
    """
    lines = _filled_lines(path)
    read = _from_object if path.suffix.lower() == ".jsonl" else _from_text
    prompts = [
        read(line, f"p{place}", f"{path}, line {number}")
        for place, (number, line) in enumerate(lines, start=1)
    ]
    _refuse_duplicates(path, zip(prompts, (number for number, _ in lines), strict=True))
    return prompts


def _filled_lines(path: Path) -> list[tuple[int, str]]:
    """The lines with content, each with its number, counted from 1."""
    raw = _read_bytes(path)
    lines = [(number, _decode(line, path, number)) for number, line in _numbered(raw)]
    filled = [(number, line) for number, line in lines if line.strip()]
    if not filled:
        what = "is empty" if not raw else "holds no prompts, only blank lines"
        raise UsageError(f"{path} {what}. {_wanted(path)}")
    return filled


def _read_bytes(path: Path) -> bytes:
    if path.is_dir():
        raise UsageError(f"{path} is a directory. Name a .jsonl or .txt file of prompts inside it.")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist. Check the path of the prompt file.") from None
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}. Check its permissions, or name another file."
        ) from None


def _numbered(raw: bytes) -> Iterable[tuple[int, bytes]]:
    return enumerate(raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1)


def _decode(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8").rstrip("\r")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}, line {number}: not UTF-8 (byte {error.start + 1} of the line is "
            f"0x{line[error.start]:02x}). Save the file as UTF-8."
        ) from None


def _wanted(path: Path) -> str:
    if path.suffix.lower() == ".jsonl":
        return f"Write one JSON object a line, such as {EXAMPLE}."
    return "Write one prompt a line."


def _from_text(line: str, name: str, where: str) -> Prompt:
    return Prompt(name, text=line)


def _from_object(line: str, name: str, where: str) -> Prompt:
    record = _parse(line, where)
    _refuse_keys(record, where)
    name = _name(record.get("id", name), where)
    if "prompt" in record:
        return Prompt(name, text=_text(record["prompt"], where))
    return Prompt(name, token_ids=_token_ids(record["prompt_token_ids"], where))


def _refuse_surrogates(line: str, where: str) -> None:
    try:
        json.dumps(json.loads(line), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"{where}: holds half of a surrogate pair (\\ud800 to \\udfff alone), which is no "
            "text. Write the whole character."
        ) from None


def _parse(line: str, where: str) -> dict[str, object]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{where}: not valid JSON ({error.msg}, column {error.colno}). "
            f"Write one object a line, such as {EXAMPLE}."
        ) from None
    except (RecursionError, ValueError) as error:
        raise UsageError(f"{where}: cannot be read as JSON ({error}). Simplify the line.") from None
    _refuse_surrogates(line, where)
    if not isinstance(record, dict):
        raise UsageError(
            f"{where}: expected a JSON object, found {_kind(record)}. Write it as {EXAMPLE}."
        )
    return record


def _refuse_keys(record: dict[str, object], where: str) -> None:
    if "prompt" in record and "prompt_token_ids" in record:
        raise UsageError(
            f"{where}: both 'prompt' and 'prompt_token_ids' are given. Keep one of the two."
        )
    if "prompt" not in record and "prompt_token_ids" not in record:
        close = next((key for word in record if (key := nearest(word, KEYS[1:]))), None)
        hint = f" Did you mean {close!r}?" if close else ""
        found = ", ".join(map(repr, record)) or "none"
        raise UsageError(
            f"{where}: neither 'prompt' nor 'prompt_token_ids' is given (keys found: {found})."
            f"{hint} Known keys: {', '.join(KEYS)}."
        )


def _name(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UsageError(
            f"{where}: 'id' must be a string that is not empty, found {_kind(value)}. "
            "Correct it, or leave it out."
        )
    return value


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise UsageError(
            f"{where}: 'prompt' must be a string, found {_kind(value)}. "
            "Put the text in quotes; token ids belong under 'prompt_token_ids'."
        )
    if not value.strip():
        raise UsageError(f"{where}: 'prompt' is empty. Give it a text, or remove the line.")
    return value


def _token_ids(value: object, where: str) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise UsageError(
            f"{where}: 'prompt_token_ids' must be a list of whole numbers, found {_kind(value)}. "
            "Write it as [12, 7, 401]; a text belongs under 'prompt'."
        )
    for place, item in enumerate(value, start=1):
        if not isinstance(item, int) or isinstance(item, bool) or item < 0:
            raise UsageError(
                f"{where}: item {place} of 'prompt_token_ids' is {item!r}. "
                "Token ids are whole numbers from 0 up."
            )
    if not value:
        raise UsageError(f"{where}: 'prompt_token_ids' is empty. Add ids, or remove the line.")
    return tuple(value)


def _kind(value: object) -> str:
    names = {str: "a string", bool: "a boolean", list: "a list", dict: "an object"}
    if value == "":
        return "an empty string"
    return "null" if value is None else names.get(type(value), "a number")


def _refuse_duplicates(path: Path, numbered: Iterable[tuple[Prompt, int]]) -> None:
    first: dict[str, int] = {}
    for prompt, number in numbered:
        if prompt.id in first:
            raise UsageError(
                f"{path}, line {number}: the id {prompt.id!r} is taken by line {first[prompt.id]}. "
                "Give each prompt an id of its own."
            )
        first[prompt.id] = number
