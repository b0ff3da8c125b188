"""Which layers keep a state, whose slot is whose, and who is called when; no engine."""

from types import SimpleNamespace
from typing import Any

import pytest

from linattn_verify.traces.states import Part
from tests.engine.made_runner import ATTENTION, STATES, runner_of


def test_layers_come_in_the_models_order_whatever_the_groups_say(parts: Any) -> None:
    runner = runner_of(parts)
    layers = parts.steps.state_layers(runner)
    assert [(layer.name, layer.index) for layer in layers] == [(STATES[0], 0), (STATES[1], 1)]
    assert {layer.kind for layer in layers} == {"mamba2"}
    for layer in layers:
        assert layer.parts == (Part.CONVOLUTION, Part.RECURRENT)
        own = runner.compilation_config.static_forward_context[layer.name].kv_cache
        assert all(a is b for a, b in zip(layer.states, own, strict=True))


def test_a_short_convolution_keeps_a_window_alone(parts: Any) -> None:
    for layer in parts.steps.state_layers(runner_of(parts, shapes=((3, 4),))):
        assert (layer.parts, len(layer.states)) == ((Part.CONVOLUTION,), 1)


def test_a_linear_attention_keeps_a_state_alone(parts: Any) -> None:
    for layer in parts.steps.state_layers(runner_of(parts, shapes=((2, 3, 4),))):
        assert layer.parts == (Part.RECURRENT,)


def test_where_the_model_says_how_a_part_is_copied_that_counts(parts: Any) -> None:
    """A window of three dimensions, a state of two."""
    window = parts.steps.get_conv_copy_spec

    def ask(kinds: set[Any]) -> dict[Any, tuple[Any, ...]]:
        (kind,) = kinds
        return {kind: (lambda: None, window)}

    model = SimpleNamespace(get_mamba_state_copy_funcs=ask)
    for layer in parts.steps.state_layers(runner_of(parts, model)):
        assert layer.parts == (Part.RECURRENT, Part.CONVOLUTION)


def test_what_a_layer_keeps_beside_its_state_is_neither_part(parts: Any) -> None:
    """A buffer that the model does not say how to copy."""

    def ask(kinds: set[Any]) -> dict[Any, tuple[Any, ...]]:
        (kind,) = kinds
        return {kind: (parts.steps.get_conv_copy_spec, lambda: None)}

    model = SimpleNamespace(get_mamba_state_copy_funcs=ask)
    runner = runner_of(parts, model, shapes=((3, 4), (2, 2, 3), (7, 3)))
    for layer in parts.steps.state_layers(runner):
        assert layer.parts == (Part.CONVOLUTION, Part.RECURRENT, Part.OTHER)
    assert parts.memory.tensors(runner) == {
        "attention": 2, "convolution": 2, "recurrent": 2, "other": 2,
    }  # fmt: skip


def test_a_group_of_several_specs_is_asked_for_each_layers_own(parts: Any) -> None:
    runner = runner_of(parts)
    attention, states = runner.kv_cache_config.kv_cache_groups
    specs = {STATES[1]: states.kv_cache_spec, ATTENTION[0]: SimpleNamespace()}
    mixed = SimpleNamespace(kv_cache_specs=specs)
    attention.layer_names = [STATES[1], ATTENTION[0]]
    attention.kv_cache_spec = mixed
    states.layer_names = [STATES[0]]
    assert [layer.name for layer in parts.steps.state_layers(runner)] == list(STATES)


def test_slots_of_a_gated_delta_net(parts: Any) -> None:
    slots = parts.torch.tensor([4, 2, 9])
    metadata = SimpleNamespace(non_spec_state_indices_tensor=slots, state_indices_tensor=slots + 1)
    assert parts.steps._slots(metadata).tolist() == [4, 2, 9]


MAMBA = {
    # decodes padded to the size of a captured graph; several blocks a request, of which the first
    "both": ([[7, 70], [5, 50], [0, 0]], 2, [3, 8], 2, [7, 5, 3, 8]),
    "decodes-alone": ([7, 5, 0], 2, [], 0, [7, 5]),
    "prefills-alone": (None, 0, [[3, 30], [8, 80]], 2, [3, 8]),
}


@pytest.mark.parametrize(
    ("decodes", "many", "prefills", "more", "expected"), MAMBA.values(), ids=MAMBA.keys()
)
def test_slots_of_a_mamba(
    parts: Any, decodes: Any, many: int, prefills: Any, more: int, expected: list[int]
) -> None:
    made = [None if slots is None else parts.torch.tensor(slots) for slots in (decodes, prefills)]
    metadata = SimpleNamespace(
        state_indices_tensor_d=made[0],
        state_indices_tensor_p=made[1],
        num_decodes=many,
        num_prefills=more,
    )
    assert parts.steps._slots(metadata).tolist() == expected


def test_slots_of_a_linear_attention(parts: Any) -> None:
    metadata = SimpleNamespace(state_indices_tensor=parts.torch.tensor([6, 1]))
    assert parts.steps._slots(metadata).tolist() == [6, 1]


@pytest.fixture
def step(parts: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Request b decodes, a goes on from a restored prefix; c, beyond the slots, is padding."""
    runner = runner_of(parts)
    runner.input_batch = SimpleNamespace(
        req_ids=["b", "a", "c"],
        num_computed_tokens_cpu=[23, 16, 0],
        num_prompt_tokens=[21, 20, 9],
    )
    shared = SimpleNamespace(state_indices_tensor=parts.torch.tensor([4, 2]))
    context = SimpleNamespace(attn_metadata=dict.fromkeys((*STATES, ATTENTION[0]), shared))
    monkeypatch.setattr(parts.steps, "get_forward_context", lambda: context)
    scheduled = SimpleNamespace(
        scheduled_new_reqs=[
            SimpleNamespace(req_id="a", num_computed_tokens=16),
            SimpleNamespace(req_id="c", num_computed_tokens=0),
        ],
        num_scheduled_tokens={"a": 4, "b": 1, "c": 9},
    )
    return parts.steps.Step(runner, parts.steps.state_layers(runner), scheduled)


def test_a_step_knows_whose_state_is_where_and_what_it_has_seen(step: Any) -> None:
    found = [(h.layer.index, h.request_id, h.slot, h.start, h.tokens) for h in step.held]
    assert found == [
        *((0, "b", 4, 23, 1), (0, "a", 2, 16, 4)),
        *((1, "b", 4, 23, 1), (1, "a", 2, 16, 4)),
    ]
    assert [(h.restored, h.continued, h.prompt_tokens) for h in step.held[:2]] == [
        (False, False, 21),  # a decode step continues no prefill
        (True, True, 20),
    ]


def test_restored_is_what_is_new_and_has_been_computed(step: Any) -> None:
    assert step.restored == {"a"}  # c begins, b has been here before


def test_a_state_is_the_engines_own_memory(step: Any) -> None:
    ((part, state),) = step.held[0].states(Part.RECURRENT)
    state.fill_(7)
    assert part is Part.RECURRENT
    context = step.runner.compilation_config.static_forward_context
    assert context[STATES[0]].kv_cache[1][4].unique().tolist() == [7]


def test_metadata_that_layers_share_is_given_once(step: Any) -> None:
    assert len(step.metadata()) == 1


def test_without_metadata_nothing_is_held(
    parts: Any, step: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = SimpleNamespace(attn_metadata=None)
    monkeypatch.setattr(parts.steps, "get_forward_context", lambda: context)
    assert (step.held, step.metadata()) == ((), [])


class Calls:
    """A watcher that writes down when it is called."""

    def __init__(self, name: str, log: list[str], active: bool = True) -> None:
        self.name, self.log, self.active = name, log, active

    def scheduled(self, step: Any) -> None:
        self.log.append(f"{self.name} scheduled {step.scheduled.name}")

    def before(self, step: Any) -> None:
        self.log.append(f"{self.name} before")

    def after(self, step: Any) -> None:
        self.log.append(f"{self.name} after")


def test_watchers_are_called_in_order_around_the_model_and_only_while_active(parts: Any) -> None:
    log: list[str] = []
    runner = runner_of(parts)
    runner._model_forward = lambda: log.append("model")
    runner.execute_model = lambda scheduled: runner._model_forward()
    idle = Calls("idle", log, active=False)
    parts.steps.watch(runner, (Calls("a", log), idle, Calls("b", log)))
    runner._model_forward()  # a warm-up of the engine's own
    assert log == ["model"]
    log.clear()
    runner.execute_model(SimpleNamespace(name="one", scheduled_new_reqs=[]))
    assert log == [
        *("a scheduled one", "b scheduled one", "a before", "b before", "model"),
        *("a after", "b after"),
    ]
