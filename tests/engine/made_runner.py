"""A model runner made of a few tensors: one attention group, two layers that keep a state."""

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

BLOCKS = 5
CONVOLUTION, RECURRENT = (3, 4), (2, 2, 3)
"""Shapes of a state's parts."""
STATES = ("model.layers.0", "model.layers.2")
ATTENTION = ("model.layers.1", "model.layers.3")


def runner_of(parts: Any, model: Any = None, shapes: Any = (CONVOLUTION, RECURRENT)) -> Any:
    """Attention in float16, keys and values first, and in FP8, two blocks to a block of the pool;
    states in bfloat16 and float32."""
    torch = parts.torch
    states = [
        (
            torch.zeros(BLOCKS, *shapes[0], dtype=torch.bfloat16),
            *(torch.zeros(BLOCKS, *shape, dtype=torch.float32) for shape in shapes[1:]),
        )
        for _ in STATES
    ]
    caches = (
        torch.zeros(2, BLOCKS, 3, dtype=torch.float16),
        torch.zeros(2 * BLOCKS, 3, dtype=torch.float8_e4m3fn),
    )
    spec = parts.steps.MambaSpec(
        block_size=16, shapes=shapes, dtypes=(torch.bfloat16, torch.float32)[: len(shapes)]
    )
    names = {STATES[0]: states[0], ATTENTION[0]: caches[0], STATES[1]: states[1]}
    layers = {**names, ATTENTION[1]: caches[1]}
    return SimpleNamespace(
        model=model or SimpleNamespace(),
        compilation_config=SimpleNamespace(
            static_forward_context={n: SimpleNamespace(kv_cache=t) for n, t in layers.items()}
        ),
        kv_cache_config=SimpleNamespace(
            num_blocks=BLOCKS,
            kv_cache_groups=[
                # In another order than the model's.
                SimpleNamespace(layer_names=list(ATTENTION), kv_cache_spec=SimpleNamespace()),
                SimpleNamespace(layer_names=list(reversed(STATES)), kv_cache_spec=spec),
            ],
        ),
        requests={},
    )


class Steps:
    """Steps of requests over the runner's state layers; `forward` stands for the model."""

    def __init__(self, parts: Any, reader: Any) -> None:
        self.parts, self.reader = parts, reader
        self.runner = runner_of(parts)
        self.layers = parts.steps.state_layers(self.runner)
        self.done: dict[str, int] = {}
        self.prompts: dict[str, int] = {}

    def ask(
        self, name: str, prompt: int, most: int = 5, label: int | None = 0, restored: int = 0
    ) -> None:
        """A request of `prompt` tokens; its slot is its number."""
        marks = None if label is None else {self.parts.steps.LABEL: label}
        sampling = SimpleNamespace(max_tokens=most, extra_args=marks)
        self.runner.requests[name] = SimpleNamespace(sampling_params=sampling)
        self.prompts[name], self.done[name] = prompt, restored

    def step(self, **tokens: int) -> None:
        """One step of so many tokens of each request; the model adds 1 to what it touches."""
        new = [
            SimpleNamespace(req_id=n, num_computed_tokens=self.done[n], block_ids=([], []))
            for n in tokens
        ]
        step = self.parts.steps.Step(
            self.runner, self.layers, SimpleNamespace(scheduled_new_reqs=new)
        )
        step.__dict__["held"] = tuple(self._held(tokens))
        self.reader.before(step)
        for held in step.held:
            for _, state in held.states():
                state.add_(1)
        self.reader.after(step)
        for name, number in tokens.items():
            self.done[name] += number

    def serve(self, name: str, sizes: Sequence[int]) -> None:
        """Steps of this request alone."""
        for size in sizes:
            self.step(**{name: size})

    def slot(self, name: str) -> int:
        return list(self.prompts).index(name) + 1

    def _held(self, tokens: dict[str, int]) -> Iterator[Any]:
        for layer in self.layers:
            for name, number in tokens.items():
                yield self.parts.steps.Held(
                    layer=layer,
                    request_id=name,
                    slot=self.slot(name),
                    start=self.done[name],
                    tokens=number,
                    prompt_tokens=self.prompts[name],
                    restored=False,
                )
