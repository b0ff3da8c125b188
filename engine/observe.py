"""What a loaded engine has, read from its layers, tensors, scheduler and modules."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from linattn_verify.traces.observed import Compiled, LayerGroup, Observed

_ALIKE = ("kind", "backend", "block_size", "forward", "prefill_backend")


def observe(llm: Any, layers: Sequence[Mapping[str, Any]]) -> Observed:
    """`layers`: what `linattn_layers` answers."""
    engine = llm.llm_engine
    compiled = llm.collective_rpc("linattn_compiled")[0]
    cache = engine.vllm_config.cache_config
    scheduler = engine.engine_core.engine_core.scheduler
    return Observed(
        groups=layer_groups(layers),
        scheduler_budget=getattr(scheduler, "max_num_scheduled_tokens", None),
        hit_alignment=getattr(cache, "cache_hit_alignment_tokens", None),
        compiled=Compiled(**compiled),
    )


def layer_groups(layers: Sequence[Mapping[str, Any]]) -> tuple[LayerGroup, ...]:
    """Layers alike in all but their name, counted, in the order in which they are met."""
    alike = Counter((*(x[name] for name in _ALIKE), tuple(x["dtypes"].items())) for x in layers)
    return tuple(
        LayerGroup(
            layers=count,
            dtypes=dict(dtypes),
            **dict(zip(_ALIKE, facts, strict=True)),
        )
        for (*facts, dtypes), count in alike.items()
    )


def count_compiled(modules: Iterable[Any]) -> dict[str, int]:
    """By the marks of `support_torch_compile` (vllm/compilation/decorators.py), and of
    `torch.nn.Module.compile` for the stock mode."""
    marked = [m for m in modules if hasattr(m, "do_not_compile") or _stock(m)]
    wanted = [m for m in marked if _stock(m) or not m.do_not_compile]
    return {"compilable": len(marked), "wanted": len(wanted), "done": sum(map(_ran, wanted))}


def _stock(module: Any) -> bool:
    return getattr(module, "_compiled_call_impl", None) is not None


def _ran(module: Any) -> bool:
    compiled = getattr(module, "compiled", False)
    return _stock(module) or bool(compiled) or getattr(module, "aot_compiled_fn", None) is not None
