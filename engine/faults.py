"""Faults put in on purpose, to see whether a check turns red. Each counts how often it fired.

A fault sits between the model runner and the model: the metadata and the state tensors that the
layers are about to read are the engine's own, whatever the layer's kind.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from vllm.forward_context import get_forward_context

from linattn_verify.configs.faults import FAULTS

fired: dict[str, int] = {}
"""How often each active fault has fired since it was activated."""
_active: list[str] = []
_installed: set[int] = set()


@dataclass(frozen=True)
class _Continued:
    """A prefill slice that continues a state: its layer's state tensors and its slot in them."""

    request_id: str
    restored: bool
    """The state was restored from the prefix cache in this very step."""
    states: tuple[torch.Tensor, ...]
    """[slots, …] each: convolution first, then recurrent."""
    slot: int


def activate(names: list[str], worker: Any) -> None:
    """Make the faults named, and no others, active in this worker."""
    _active[:] = names
    fired.clear()
    fired.update(dict.fromkeys(names, 0))
    if names and id(worker) not in _installed:
        _installed.add(id(worker))
        _hook(worker.model_runner)


def _hook(runner: Any) -> None:
    """Step in before every forward pass and after every computation of logits."""
    execute, forward = runner.execute_model, runner._model_forward
    compute_logits = runner.model.compute_logits
    restored: set[str] = set()

    def execute_model(scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
        restored.clear()
        restored.update(
            r.req_id for r in scheduler_output.scheduled_new_reqs if r.num_computed_tokens
        )
        return execute(scheduler_output, *args, **kwargs)

    def model_forward(*args: Any, **kwargs: Any) -> Any:
        for name in _active:
            if name in _BEFORE_FORWARD:
                fired[name] += _BEFORE_FORWARD[name](list(_continued(runner, restored)))
        return forward(*args, **kwargs)

    def logits_of(hidden: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        logits = compute_logits(hidden, *args, **kwargs)
        if "logits_swapped" in _active and 2 <= len(logits) == len(runner.input_batch.req_ids):
            fired["logits_swapped"] += 1
            logits = logits.roll(1, dims=0)
        return logits

    runner.execute_model, runner._model_forward = execute_model, model_forward
    runner.model.compute_logits = logits_of


def _continued(runner: Any, restored: set[str]) -> Iterator[_Continued]:
    """Every (layer, request) of this step whose prefill goes on from a state."""
    context = get_forward_context()
    for name, metadata in (context.attn_metadata or {}).items():
        rows = _state_rows(metadata)
        if rows is None:
            continue
        first, has_state, slots = rows
        states = tuple(context.no_compile_layers[name].kv_cache)
        for index in torch.nonzero(has_state).flatten().tolist():
            request_id = runner.input_batch.req_ids[first + index]
            slot = int(slots[index])
            yield _Continued(request_id, request_id in restored, states, slot)


def _state_rows(metadata: Any) -> tuple[int, torch.Tensor, torch.Tensor] | None:
    """Of a layer's metadata: index of the first prefill in the batch, `has_initial_state` [P] and
    state slots [P] of the prefills; None where the layer has no prefill or keeps no state."""
    if not getattr(metadata, "num_prefills", 0):
        return None
    first = metadata.num_decodes
    if getattr(metadata, "has_initial_state", None) is not None:  # Gated DeltaNet, linear
        slots = metadata.non_spec_state_indices_tensor
        return first, metadata.has_initial_state[first:], slots[first:]
    if getattr(metadata, "has_initial_states_p", None) is not None:  # Mamba, short convolution
        slots = metadata.state_indices_tensor_p
        return first, metadata.has_initial_states_p, slots.reshape(len(slots), -1)[:, 0]
    return None


def _zero(parts: slice, only_restored: bool = False) -> Callable[[list[_Continued]], int]:
    def act(continued: list[_Continued]) -> int:
        hit = [c for c in continued if c.restored or not only_restored]
        for item in hit:
            for state in item.states[parts]:
                state[item.slot].zero_()
        return len(hit)

    return act


def _poison(continued: list[_Continued]) -> int:
    for item in continued:
        item.states[-1][item.slot].fill_(float("nan"))
    return len(continued)


def _crash(continued: list[_Continued]) -> int:
    if continued:
        os.kill(os.getpid(), signal.SIGSEGV)
    return len(continued)


def _raise(continued: list[_Continued]) -> int:
    if continued:
        raise RuntimeError("fault 'raise_at_edges', injected on purpose")
    return 0


def _hang(continued: list[_Continued]) -> int:
    if continued:
        time.sleep(3600)
    return len(continued)


_BEFORE_FORWARD: dict[str, Callable[[list[_Continued]], int]] = {
    "state_lost_at_edges": _zero(slice(None)),
    "conv_state_lost_at_edges": _zero(slice(0, 1)),
    "recurrent_state_lost_at_edges": _zero(slice(1, None)),
    "restored_state_lost": _zero(slice(None), only_restored=True),
    "nan_state_at_edges": _poison,
    "crash_at_edges": _crash,
    "raise_at_edges": _raise,
    "hang_at_edges": _hang,
}
assert set(_BEFORE_FORWARD) | {"logits_swapped"} == set(FAULTS)
