"""Layers by likeness, states by part, modules that have run compiled."""

from types import SimpleNamespace
from typing import Any

import pytest

from linattn_verify.engine.observe import count_compiled, layer_groups, observe

GDN = {
    "kind": "gdn_attn",
    "backend": "GDN_ATTN",
    "block_size": 48,
    "forward": "forward_cpu",
    "prefill_backend": "triton",
    "dtypes": {"convolution": "bfloat16", "recurrent": "float32"},
}
FULL = {
    "kind": "attention",
    "backend": "CPU_ATTN",
    "block_size": 32,
    "forward": None,
    "prefill_backend": None,
    "dtypes": {"attention": "float16"},
}


def test_layers_that_are_alike_are_counted() -> None:
    other = {**GDN, "dtypes": {"convolution": "bfloat16", "recurrent": "bfloat16"}}
    layers = [{"name": str(i), **layer} for i, layer in enumerate([GDN, FULL, GDN, other])]
    groups = layer_groups(layers)
    assert [(g.kind, g.layers, g.block_size, g.prefill_backend) for g in groups] == [
        ("gdn_attn", 2, 48, "triton"),
        ("attention", 1, 32, None),
        ("gdn_attn", 1, 48, "triton"),
    ]
    assert [g.forward for g in groups] == ["forward_cpu", None, "forward_cpu"]
    assert groups[0].dtypes == {"convolution": "bfloat16", "recurrent": "float32"}
    assert groups[2].dtypes == {"convolution": "bfloat16", "recurrent": "bfloat16"}


def llm(scheduler: Any, cache: Any) -> Any:
    return SimpleNamespace(
        collective_rpc=lambda name: [{"compilable": 3, "wanted": 1, "done": 1}],
        llm_engine=SimpleNamespace(
            vllm_config=SimpleNamespace(cache_config=cache),
            engine_core=SimpleNamespace(engine_core=SimpleNamespace(scheduler=scheduler)),
        ),
    )


def test_the_schedulers_budget_and_the_hit_alignment_are_read() -> None:
    scheduler = SimpleNamespace(max_num_scheduled_tokens=37)
    seen = observe(llm(scheduler, SimpleNamespace(cache_hit_alignment_tokens=96)), [GDN])
    assert (seen.scheduler_budget, seen.hit_alignment) == (37, 96)
    assert seen.compiled is not None and seen.compiled.done == 1


def test_what_an_engine_does_not_hold_is_none() -> None:
    seen = observe(llm(SimpleNamespace(), SimpleNamespace()), [])
    assert (seen.scheduler_budget, seen.hit_alignment, seen.groups) == (None, None, ())


def module(**marks: Any) -> Any:
    return SimpleNamespace(**marks)


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        ([module(), module(do_not_compile=True)], (1, 0, 0)),
        ([module(do_not_compile=False, compiled=False)], (1, 1, 0)),
        ([module(do_not_compile=False, compiled=True), module(do_not_compile=True)], (2, 1, 1)),
        ([module(do_not_compile=False, compiled=False, aot_compiled_fn=len)], (1, 1, 1)),
        ([module(do_not_compile=True, _compiled_call_impl=len), module()], (1, 1, 1)),
        ([module(compiled=True)], (0, 0, 0)),
    ],
    ids=["eager", "not-yet", "compiled", "ahead-of-time", "stock", "unmarked"],
)
def test_modules_that_have_run_compiled_are_counted(
    modules: list[Any], expected: tuple[int, int, int]
) -> None:
    assert tuple(count_compiled(modules).values()) == expected
