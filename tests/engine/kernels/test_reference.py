"""The references against numbers worked out by hand, and against another way to compute them."""

import math

import torch

from linattn_verify.engine.kernels import reference


def random(*shape: int, seed: int = 3) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def test_a_convolution_worked_out_by_hand() -> None:
    x = torch.tensor([[5.0], [7.0]])
    window = torch.tensor([[2.0], [3.0]])
    weight = torch.tensor([[1.0, 10.0, 100.0]])
    y, after = reference.causal_conv(x, weight, torch.tensor([0.5]), window, silu=False)
    # 2 + 30 + 500 and 3 + 50 + 700, each with the bias
    assert y.flatten().tolist() == [532.5, 753.5]
    assert after.flatten().tolist() == [5.0, 7.0]


def test_silu_is_x_times_the_logistic_function() -> None:
    y, _ = reference.causal_conv(
        torch.tensor([[2.0]]), torch.tensor([[1.0]]), None, torch.empty(0, 1), silu=True
    )
    assert math.isclose(y.item(), 2 / (1 + math.exp(-2)))


def test_a_convolution_is_what_torch_computes_over_padded_inputs() -> None:
    x, weight, window = random(11, 6), random(6, 4), random(3, 6)
    y, after = reference.causal_conv(x, weight, None, window, silu=False)
    padded = torch.cat([window, x]).T.unsqueeze(0)
    other = torch.nn.functional.conv1d(padded, weight.unsqueeze(1), groups=6)[0].T
    torch.testing.assert_close(y, other)
    assert torch.equal(after, x[-3:])


def test_a_window_longer_than_the_sequence_keeps_its_end() -> None:
    window = random(3, 2)
    _, after = reference.causal_conv(random(1, 2), random(2, 4), None, window, silu=False)
    assert torch.equal(after[:2], window[1:])


def test_one_step_of_the_delta_rule_worked_out_by_hand() -> None:
    q = k = torch.tensor([[[2.0]]])  # normalised: 1
    v, beta, g = torch.tensor([[[10.0]]]), torch.tensor([[0.25]]), torch.tensor([[math.log(0.5)]])
    o, state = reference.gated_delta_rule(q, k, v, g, beta, torch.tensor([[[4.0]]]), 0.0)
    # 4 decays to 2; a quarter of the way from 2 to 10 is 4
    assert math.isclose(state.item(), 4.0, rel_tol=1e-6)
    assert math.isclose(o.item(), 4.0, rel_tol=1e-6)


def test_value_heads_share_key_heads_in_runs() -> None:
    k = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    v, beta, g = torch.ones(1, 4, 1), torch.ones(1, 4), torch.zeros(1, 4)
    _, state = reference.gated_delta_rule(k, k, v, g, beta, torch.zeros(4, 2, 1), 0.0)
    assert state[..., 0].tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]


def test_the_delta_rule_is_what_its_parallel_form_computes() -> None:
    """All tokens at once, by a triangular system (arXiv:2412.06464, section 3.3): with G the
    cumulative decay, (I + tril(diag(beta) exp(Gi - Gj) k kᵀ, -1)) u = beta (v - exp(G) k S0)."""
    tokens, dim = 9, 5
    q, k, v = random(tokens, 1, dim), random(tokens, 1, dim, seed=4), random(tokens, 1, dim, seed=5)
    g, beta = -random(tokens, 1).abs(), torch.sigmoid(random(tokens, 1, seed=6))
    start = random(1, dim, dim)
    o, state = reference.gated_delta_rule(q, k, v, g, beta, start, 1e-6)
    qn, kn = (
        x[:, 0] / (x[:, 0].square().sum(-1, keepdim=True) + 1e-6).sqrt() for x in (q * 1.0, k)
    )
    total = g[:, 0].cumsum(0)
    decay = (total[:, None] - total[None, :]).tril().exp().tril()
    system = torch.eye(tokens, dtype=torch.float64) + (beta * (kn @ kn.T) * decay).tril(-1)
    right = beta * (v[:, 0] - total.exp()[:, None] * (kn @ start[0]))
    u = torch.linalg.solve_triangular(system, right, upper=False)
    kept = total.exp()[:, None] * (qn @ start[0])
    torch.testing.assert_close(o[:, 0], (kept + ((qn @ kn.T) * decay) @ u) * dim**-0.5)
    written = ((total[-1] - total).exp()[:, None] * kn).T @ u
    torch.testing.assert_close(state[0], total[-1].exp() * start[0] + written)


def test_gates_worked_out_by_hand() -> None:
    zero = torch.zeros(1, 1)
    g, beta = reference.gates(zero, zero, torch.tensor([math.log(3.0)]), torch.tensor([0.0]))
    # softplus(0) = log 2
    assert math.isclose(g.item(), -3 * math.log(2), rel_tol=1e-6)
    assert beta.item() == 0.5


def scan_inputs(tokens: int) -> tuple[torch.Tensor, ...]:
    x, dt, b, c = (
        random(tokens, 2, 3),
        random(tokens, 2),
        random(tokens, 1, 4),
        random(tokens, 1, 5),
    )
    return x, dt, torch.tensor([-0.5, -2.0]), b, c[..., :4], torch.tensor([1.0, 3.0])


def test_one_step_of_the_scan_worked_out_by_hand() -> None:
    one = torch.ones(1, 1, 1)
    dt = torch.zeros(1, 1)
    y, state = reference.mamba2_scan(
        *(5 * one, dt, torch.tensor([-1.0]), 2 * one, 3 * one),
        *(torch.tensor([7.0]), torch.tensor([0.0]), 4 * one),
    )
    # the step is log 2, so 4 decays to 2 and 2 * 5 * log 2 is written; the output adds 7 * 5
    assert math.isclose(state.item(), 2 + 10 * math.log(2), rel_tol=1e-6)
    assert math.isclose(y.item(), 3 * state.item() + 35, rel_tol=1e-6)


def test_the_scan_is_what_its_attention_form_computes() -> None:
    """Y = (L ∘ C Bᵀ) X, the dual form of arXiv:2405.21060, with nothing given to go on from."""
    x, dt, a, b, c, d = scan_inputs(8)
    start = torch.zeros(2, 3, 4, dtype=torch.float64)
    y, _ = reference.mamba2_scan(x, dt, a, b, c, d, torch.zeros(2), start)
    step = torch.nn.functional.softplus(dt)
    for head in range(2):
        total = (step[:, head] * a[head]).cumsum(0)
        mask = (total[:, None] - total[None, :]).tril().exp().tril()
        mixed = (mask * (c[:, 0] @ b[:, 0].T)) @ (step[:, head, None] * x[:, head])
        torch.testing.assert_close(y[:, head], mixed + d[head] * x[:, head])


def test_two_calls_with_the_state_carried_are_one() -> None:
    x, dt, a, b, c, d = scan_inputs(8)
    bias, start = random(2), random(2, 3, 4)
    y, state = reference.mamba2_scan(x, dt, a, b, c, d, bias, start)
    y1, half = reference.mamba2_scan(x[:3], dt[:3], a, b[:3], c[:3], d, bias, start)
    y2, end = reference.mamba2_scan(x[3:], dt[3:], a, b[3:], c[3:], d, bias, half)
    torch.testing.assert_close(torch.cat([y1, y2]), y, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(end, state, rtol=1e-12, atol=1e-12)
