"""What the engine's log says it did, against what was asked for."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from linattn_verify.checks.inside import asked_backend
from linattn_verify.checks.preconditions import wants_compilation
from linattn_verify.checks.settings import Change, agree, in_words, open_to
from linattn_verify.traces.guard import Did, Guard


def contradictions(
    requested: Mapping[str, Any],
    resolved: Mapping[str, Any],
    guards: Sequence[Guard],
    seen: Collection[str],
) -> Iterator[Change]:
    """Settings that the log says are not as asked for, the last word on each.

    `seen`: settings that were compared with what the engine has, which outweighs its log.
    """
    last = {guard.setting: guard for guard in guards if guard.did is not Did.WARNED}
    for name, guard in last.items():
        asked = _asked(name, requested, resolved)
        if name not in seen and not open_to(asked) and _against(guard, asked):
            claim = f"engine resolved {in_words(resolved[name])}, but " if name in resolved else ""
            got = False if guard.did is Did.OFF else guard.value
            told = "refuses" if guard.did is Did.REFUSED else "says"
            yield Change(name, asked, got, source=f"{claim}its log {told}")


def _asked(name: str, requested: Mapping[str, Any], resolved: Mapping[str, Any]) -> Any:
    if name == "compilation":
        return True if wants_compilation(requested, resolved) else None
    if name == "attention_backend":
        return asked_backend(requested)
    return requested.get(name)


def _against(guard: Guard, asked: Any) -> bool:
    match guard.did:
        case Did.OFF:
            return asked is True
        case Did.SET:
            return not agree(asked, guard.value)
        case Did.REFUSED:
            return guard.value is None or agree(asked, guard.value)
        case Did.WARNED:
            return False
