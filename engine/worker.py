"""Methods added to vLLM's worker (`worker_extension_cls`), reached by `collective_rpc`."""

from typing import Any

from linattn_verify.configs.plan import Memory
from linattn_verify.engine import forcing, memory
from linattn_verify.engine.faults import Faults
from linattn_verify.engine.memory import HandOut
from linattn_verify.engine.observe import count_compiled
from linattn_verify.engine.states import Row, StateReader
from linattn_verify.engine.steps import cache_tensors, watch
from linattn_verify.traces.observed import ATTENTION
from linattn_verify.traces.states import Part


class WorkerExtension:
    """What only the worker can tell, or do. Every name begins with `linattn_`: vLLM refuses an
    extension that shadows a method of the worker."""

    def linattn_take_top_logits(self) -> list[float]:
        """Largest |logit| of each position generated since the last call."""
        taken = list(forcing.top_logits)
        forcing.top_logits.clear()
        return taken

    def linattn_layers(self) -> list[dict[str, Any]]:
        """Each layer with a cache: name, backend, and dtypes of its tensors by what they hold."""
        runner: Any = self.model_runner  # type: ignore[attr-defined]
        context = runner.compilation_config.static_forward_context
        tensors = cache_tensors(runner)
        return [
            {
                "name": name,
                "kind": _kind(context[name]),
                "backend": _backend(context[name]),
                "block_size": group.kv_cache_spec.block_size,
                "forward": getattr(
                    getattr(context[name], "_forward_method", None), "__name__", None
                ),
                "prefill_backend": getattr(context[name], "gdn_prefill_backend", None),
                "dtypes": {p.value: str(t.dtype).removeprefix("torch.") for p, t in tensors[name]},
            }
            for group in runner.kv_cache_config.kv_cache_groups
            for name in group.layer_names
        ]

    def linattn_install(self) -> None:
        """Step in around every forward pass, once the engine is loaded."""
        runner: Any = self.model_runner  # type: ignore[attr-defined]
        self._linattn_faults = Faults(runner)
        self._linattn_reader = StateReader(rank=self.rank)  # type: ignore[attr-defined]
        self._linattn_hand_out = HandOut()
        # The reader sees what a fault has done, as the model does.
        watch(runner, (self._linattn_hand_out, self._linattn_faults, self._linattn_reader))

    def linattn_compiled(self) -> dict[str, int]:
        """How many modules can be compiled, are meant to be, and have run compiled."""
        runner: Any = self.model_runner  # type: ignore[attr-defined]
        return count_compiled(runner.get_model().modules())

    def linattn_inject(self, names: list[str]) -> None:
        """Make these faults, and no others, active (`linattn_verify.engine.faults`)."""
        self._linattn_faults.activate(names)

    def linattn_fired(self) -> dict[str, int]:
        """How often each injected fault has fired."""
        return dict(self._linattn_faults.fired)

    def linattn_fill(self, content: str) -> dict[str, Any]:
        """Fill every cache tensor: `bytes`, `tensors` by what they hold, and which of them read
        back as NaN (`poisoned`)."""
        runner: Any = self.model_runner  # type: ignore[attr-defined]
        return {
            "bytes": memory.fill(runner, Memory(content)),
            "tensors": memory.tensors(runner),
            "poisoned": memory.poisoned(runner),
        }

    def linattn_hand_out(self, content: str | None, cleaned: list[str]) -> None:
        """Fill blocks as they are handed out from now on, those of the kinds `cleaned` with zeros;
        without `content` they are left as they are."""
        memory = Memory(content) if content else None
        self._linattn_hand_out.begin(memory, frozenset(map(Part, cleaned)))

    def linattn_handed_out(self) -> int:
        """Blocks filled so since then."""
        return self._linattn_hand_out.blocks

    def linattn_read_states(self, most_bytes: int) -> None:
        """Read the states of marked requests from now on."""
        self._linattn_reader.begin(most_bytes)

    def linattn_take_states(self) -> list[Row]:
        """The states read since then."""
        return self._linattn_reader.take()


def _kind(layer: Any) -> str:
    """Linear-attention layers name their kind (`mamba_type`); the others are attention."""
    kind = getattr(layer, "mamba_type", None)
    return str(getattr(kind, "name", kind)).lower() if kind is not None else ATTENTION


def _backend(layer: Any) -> str:
    get = getattr(layer, "get_attn_backend", None)
    try:
        backend = get() if get else None
    except (NotImplementedError, ValueError):
        backend = None
    return backend.get_name() if backend is not None else type(layer).__name__
