"""What a step does to the states of its requests, seen from between the model runner and the model.

Nothing here depends on the kind of layer: which layers keep a state, in which tensors, is read from
the engine's KV-cache groups, and which slot belongs to whom from the metadata that the layers read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import torch
from vllm.forward_context import get_forward_context
from vllm.model_executor.layers.mamba.mamba_utils import get_conv_copy_spec
from vllm.v1.kv_cache_interface import MambaSpec

from linattn_verify.traces.states import Part

LABEL = "linattn_request"
"""Key in SamplingParams.extra_args: index of a request whose states are wanted."""


@dataclass(frozen=True)
class StateLayer:
    """A layer that keeps a state, with its tensors."""

    name: str
    index: int
    """Place among the layers that keep a state, in the model's order."""
    kind: str
    parts: tuple[Part, ...]
    states: tuple[torch.Tensor, ...]
    """[slots, …] each, one for each of `parts`."""


@dataclass(frozen=True)
class Held:
    """One request's state in one layer, in this step."""

    layer: StateLayer
    request_id: str
    slot: int
    start: int
    """Tokens that the state has seen before this step."""
    tokens: int
    """Tokens that this step adds."""
    prompt_tokens: int
    restored: bool
    """The state was restored from the prefix cache in this very step."""

    @property
    def continued(self) -> bool:
        """Whether a prefill goes on from a state."""
        return 0 < self.start < self.prompt_tokens

    def states(self, *parts: Part) -> list[tuple[Part, torch.Tensor]]:
        """The engine's own memory of these parts, not copies; of every part where none is named."""
        both = zip(self.layer.parts, self.layer.states, strict=True)
        return [(part, state[self.slot]) for part, state in both if part in (parts or Part)]


class Step:
    """One forward pass: what it was scheduled to do, and the states that it works on."""

    def __init__(self, runner: Any, layers: tuple[StateLayer, ...], scheduled: Any) -> None:
        self.runner = runner
        self.layers = layers
        self.scheduled = scheduled
        new = scheduled.scheduled_new_reqs
        self.restored = frozenset(r.req_id for r in new if r.num_computed_tokens)

    @cached_property
    def held(self) -> tuple[Held, ...]:
        """Every (layer, request) of this step, layers in the model's order."""
        metadata = get_forward_context().attn_metadata or {}
        return tuple(
            held
            for layer in self.layers
            if layer.name in metadata
            for held in self._rows(layer, metadata[layer.name])
        )

    def metadata(self) -> list[Any]:
        """The metadata of each state layer, each object once."""
        found = get_forward_context().attn_metadata or {}
        read = [found[layer.name] for layer in self.layers if layer.name in found]
        return list({id(one): one for one in read}.values())

    def _rows(self, layer: StateLayer, metadata: Any) -> Iterator[Held]:
        batch = self.runner.input_batch
        slots = _slots(metadata).tolist()
        for row, request_id in enumerate(batch.req_ids[: len(slots)]):
            yield Held(
                layer=layer,
                request_id=request_id,
                slot=int(slots[row]),
                start=int(batch.num_computed_tokens_cpu[row]),
                tokens=self.scheduled.num_scheduled_tokens[request_id],
                prompt_tokens=int(batch.num_prompt_tokens[row]),
                restored=request_id in self.restored,
            )


class Watcher(Protocol):
    """Something that steps in around the forward passes; it does nothing while it is not active."""

    @property
    def active(self) -> bool:
        """Whether it wants to be called."""
        ...

    def scheduled(self, step: Step) -> None:
        """Before the runner prepares its inputs: no forward context yet."""

    def before(self, step: Step) -> None:
        """After the inputs are prepared, and restored states copied, right before the model."""

    def after(self, step: Step) -> None:
        """Right after the model."""


def watch(runner: Any, watchers: tuple[Watcher, ...]) -> None:
    """Have the `watchers` called around every step of `runner`, in their order."""
    execute, forward = runner.execute_model, runner._model_forward
    layers = state_layers(runner)
    current: list[Step] = []

    def execute_model(scheduled: Any, *args: Any, **kwargs: Any) -> Any:
        current[:] = [Step(runner, layers, scheduled)]
        for watcher in watchers:
            if watcher.active:
                watcher.scheduled(current[0])
        return execute(scheduled, *args, **kwargs)

    def model_forward(*args: Any, **kwargs: Any) -> Any:
        if not current:  # a warm-up of the engine's own
            return forward(*args, **kwargs)
        acting = [watcher for watcher in watchers if watcher.active]
        for watcher in acting:
            watcher.before(current[0])
        output = forward(*args, **kwargs)
        for watcher in acting:
            watcher.after(current[0])
        return output

    runner.execute_model, runner._model_forward = execute_model, model_forward


def state_layers(runner: Any) -> tuple[StateLayer, ...]:
    """Every layer that keeps a state, in the model's order, from the KV-cache groups."""
    context = runner.compilation_config.static_forward_context
    specs = state_specs(runner)
    ordered = [name for name in context if name in specs]
    return tuple(
        StateLayer(
            name=name,
            index=index,
            kind=str(specs[name].mamba_type.name).lower(),
            parts=_parts(runner, specs[name], len(context[name].kv_cache)),
            states=tuple(context[name].kv_cache),
        )
        for index, name in enumerate(ordered)
    )


def state_specs(runner: Any) -> dict[str, MambaSpec]:
    """What the KV-cache groups say of each layer that keeps a state."""
    every = {
        name: getattr(group.kv_cache_spec, "kv_cache_specs", {}).get(name, group.kv_cache_spec)
        for group in runner.kv_cache_config.kv_cache_groups
        for name in group.layer_names
    }
    return {name: spec for name, spec in every.items() if isinstance(spec, MambaSpec)}


def cache_tensors(runner: Any) -> dict[str, list[tuple[Part, torch.Tensor]]]:
    """Every cache tensor, by layer, with what it holds."""
    context = runner.compilation_config.static_forward_context
    found = {
        layer.name: list(zip(layer.parts, layer.states, strict=True))
        for layer in state_layers(runner)
    }
    for group in runner.kv_cache_config.kv_cache_groups:
        for name in group.layer_names:
            cache = context[name].kv_cache
            own = list(cache) if isinstance(cache, (list, tuple)) else [cache]
            found.setdefault(name, [(Part.ATTENTION, tensor) for tensor in own])
    return found


def _parts(runner: Any, spec: MambaSpec, count: int) -> tuple[Part, ...]:
    """What each of `count` tensors is: the model says how each is copied on a prefix hit, a window
    of inputs or a state (`get_mamba_state_copy_funcs`). Else a window has two dimensions."""
    ask = getattr(runner.model, "get_mamba_state_copy_funcs", None)
    if ask is not None:
        copies = ask({spec.mamba_type})[spec.mamba_type]
        parts = [Part.CONVOLUTION if c is get_conv_copy_spec else Part.RECURRENT for c in copies]
    else:
        parts = [Part.CONVOLUTION if len(s) == 2 else Part.RECURRENT for s in spec.shapes]
    return (*parts[:count], *[Part.OTHER] * (count - len(parts)))


def _slots(metadata: Any) -> torch.Tensor:
    """State slot of each request in the batch's order, decodes first: [B]."""
    if hasattr(metadata, "non_spec_state_indices_tensor"):  # Gated DeltaNet
        return metadata.non_spec_state_indices_tensor
    if hasattr(metadata, "state_indices_tensor_p"):  # Mamba, short convolution
        kinds = (metadata.state_indices_tensor_d, metadata.state_indices_tensor_p)
        counts = (metadata.num_decodes, metadata.num_prefills)
        found = [t.reshape(len(t), -1)[:n, 0] for t, n in zip(kinds, counts, strict=True) if n]
        return torch.cat(found)
    return metadata.state_indices_tensor  # linear attention
