"""Prompt files: what is read, and what each error says."""

import errno
from pathlib import Path

import pytest

from linattn_verify.configs.errors import UsageError
from linattn_verify.workloads.prompts import Prompt, read_prompts

TOKENS = '{"prompt_token_ids": [3, 1, 2]}'


def _file(folder: Path, content: str | bytes, name: str = "prompts.jsonl") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_jsonl_with_text_and_token_ids(tmp_path: Path) -> None:
    path = _file(tmp_path, '{"prompt": "Ein Weg"}\n\n' + TOKENS + '\n{"id": "x", "prompt": "b"}')
    assert read_prompts(path) == [
        Prompt("p1", text="Ein Weg"),
        Prompt("p2", token_ids=(3, 1, 2)),
        Prompt("x", text="b"),
    ]


def test_jsonl_keeps_the_spaces_and_line_ends_of_a_prompt(tmp_path: Path) -> None:
    path = _file(tmp_path, '{"prompt": "  a\\n b \\u2028"}\r\n')
    assert read_prompts(path) == [Prompt("p1", text="  a\n b \u2028")]


def test_other_keys_are_let_through(tmp_path: Path) -> None:
    path = _file(tmp_path, '{"prompt": "a", "answer": 7}')
    assert read_prompts(path) == [Prompt("p1", text="a")]


@pytest.mark.parametrize("name", ["prompts.txt", "prompts", "prompts.md"])
def test_any_other_suffix_is_one_prompt_a_line(tmp_path: Path, name: str) -> None:
    path = _file(tmp_path, b"\xef\xbb\xbffirst\r\n \n  zweite \x0c Zeile\n", name)
    assert read_prompts(path) == [Prompt("p1", "first"), Prompt("p2", "  zweite \x0c Zeile")]


def test_the_suffix_may_be_in_capitals(tmp_path: Path) -> None:
    assert read_prompts(_file(tmp_path, TOKENS, "P.JSONL"))[0].token_ids == (3, 1, 2)


BAD_LINES = {
    "not-json": ('{"prompt": }', ["line 2", "not valid JSON", "column 12", "one object a line"]),
    "json-list": ("[1, 2]", ["line 2", "expected a JSON object, found a list"]),
    "json-number": ("12", ["line 2", "found a number"]),
    "misspelt": (
        '{"promt": "a"}',
        ["line 2", "keys found: 'promt'", "Did you mean 'prompt'?", "id, prompt, prompt_token_ids"],
    ),
    "misspelt-ids": ('{"token_ids": [1]}', ["line 2", "Did you mean 'prompt_token_ids'?"]),
    "no-keys": ("{}", ["line 2", "keys found: none", "Known keys: id, prompt, prompt_token_ids"]),
    "both": ('{"prompt": "a", "prompt_token_ids": [1]}', ["line 2", "both", "Keep one"]),
    "number-as-text": ('{"prompt": 7}', ["line 2", "must be a string, found a number"]),
    "ids-as-text": ('{"prompt": [1]}', ["line 2", "found a list", "under 'prompt_token_ids'"]),
    "null": ('{"prompt": null}', ["line 2", "must be a string, found null"]),
    "empty": ('{"prompt": ""}', ["line 2", "'prompt' is empty", "remove the line"]),
    "blank": ('{"prompt": " \\n"}', ["line 2", "'prompt' is empty"]),
    "text-as-ids": ('{"prompt_token_ids": "a"}', ["line 2", "list of whole numbers", "a string"]),
    "empty-ids": ('{"prompt_token_ids": []}', ["line 2", "'prompt_token_ids' is empty"]),
    "negative": ('{"prompt_token_ids": [4, -1]}', ["line 2", "item 2", "is -1", "from 0 up"]),
    "fraction": ('{"prompt_token_ids": [4, 1.0]}', ["line 2", "item 2", "is 1.0"]),
    "boolean": ('{"prompt_token_ids": [true]}', ["line 2", "item 1", "is True"]),
    "number-id": ('{"id": 4, "prompt": "a"}', ["line 2", "'id' must be a string", "a number"]),
    "empty-id": ('{"id": "", "prompt": "a"}', ["line 2", "'id'", "an empty string"]),
    "boolean-id": ('{"id": false, "prompt": "a"}', ["line 2", "'id'", "a boolean"]),
    "too-deep": ("[" * 100_000, ["line 2", "JSON"]),
}


@pytest.mark.parametrize(("line", "said"), BAD_LINES.values(), ids=BAD_LINES.keys())
def test_a_bad_line_is_named_with_its_remedy(tmp_path: Path, line: str, said: list[str]) -> None:
    path = _file(tmp_path, f"{TOKENS}\n{line}\n")
    with pytest.raises(UsageError) as caught:
        read_prompts(path)
    assert str(caught.value).startswith(f"{path}, line 2: ")
    for part in said:
        assert part in str(caught.value)


@pytest.mark.parametrize("name", ["prompts.jsonl", "prompts.txt"])
def test_bytes_that_are_not_utf8_are_named_by_line(tmp_path: Path, name: str) -> None:
    path = _file(tmp_path, TOKENS.encode() + b"\n\nab\xe9c\n", name)
    with pytest.raises(UsageError, match=r"line 3: not UTF-8 \(byte 3 of the line is 0xe9\)"):
        read_prompts(path)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("p.jsonl", "", r"is empty\. Write one JSON object a line"),
        ("p.txt", "", r"is empty\. Write one prompt a line"),
        ("p.txt", " \n\n", r"holds no prompts, only blank lines\. Write one prompt a line"),
    ],
)
def test_a_file_without_prompts(tmp_path: Path, name: str, content: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_prompts(_file(tmp_path, content, name))


def test_an_id_given_twice_names_both_lines(tmp_path: Path) -> None:
    path = _file(tmp_path, '{"id": "p2", "prompt": "a"}\n\n{"prompt": "b"}\n')
    with pytest.raises(UsageError, match=r"line 3: the id 'p2' is taken by line 1\. Give each"):
        read_prompts(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.jsonl does not exist\. Check the path"):
        read_prompts(tmp_path / "none.jsonl")


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is a directory\. Name a \.jsonl or \.txt file"):
        read_prompts(tmp_path)


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    path = _file(tmp_path, TOKENS)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(UsageError, match="cannot be read: Permission denied"):
        read_prompts(path)


def test_a_path_below_a_file(tmp_path: Path) -> None:
    path = _file(tmp_path, TOKENS) / "more.jsonl"
    with pytest.raises(UsageError, match=r"cannot be read: Not a directory\. Check its perm"):
        read_prompts(path)


def test_a_prompt_is_either_text_or_tokens() -> None:
    for text, tokens in ((None, None), ("a", (1,))):
        with pytest.raises(ValueError, match="either a text or token ids"):
            Prompt("x", text, tokens)
