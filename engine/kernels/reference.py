"""The published recurrences in float64, one token after the other: slow, and plain to read.

Every function takes the tensors of one sequence and returns the outputs and the state that is
carried on. Nothing is rounded on the way, and nothing is chunked.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def causal_conv(
    x: "Tensor", weight: "Tensor", bias: "Tensor | None", window: "Tensor", silu: bool
) -> "tuple[Tensor, Tensor]":
    """Depthwise causal convolution (Mamba, arXiv:2312.00752, section 3.4 and its figure 3).

    x: [T, D], weight: [D, W], bias: [D], window: [W-1, D], the inputs before x. Returns y: [T, D]
    and the window after x. y[t] = bias + sum over j of weight[:, j] * input[t - W + 1 + j].
    """
    import torch

    width = weight.shape[1]
    inputs = torch.cat([window, x]).double()
    taps = weight.double().T
    outputs = torch.stack([(inputs[t : t + width] * taps).sum(0) for t in range(len(x))])
    if bias is not None:
        outputs = outputs + bias.double()
    if silu:
        outputs = outputs * torch.sigmoid(outputs)
    return outputs, inputs[len(x) :]


def gated_delta_rule(
    q: "Tensor", k: "Tensor", v: "Tensor", g: "Tensor", beta: "Tensor", state: "Tensor", eps: float
) -> "tuple[Tensor, Tensor]":
    """Gated delta rule (Gated DeltaNet, arXiv:2412.06464, equation 10).

    q, k: [T, Hk, K], normalised here by x / sqrt(|x|² + eps); v: [T, Hv, V]; g, the logarithm of
    the decay, and beta: [T, Hv]; state: [Hv, K, V]. Value heads share key heads in runs. With the
    state transposed against the paper's, S[t] = exp(g) (I - beta k kᵀ) S[t-1] + beta k vᵀ, and
    o[t] = Sᵀ q / sqrt(K). Returns o: [T, Hv, V] and the last state.
    """
    import torch

    q, k, v, g, beta, state = (x.double() for x in (q, k, v, g, beta, state))
    share = v.shape[1] // k.shape[1]
    q, k = (x / (x.square().sum(-1, keepdim=True) + eps).sqrt() for x in (q, k))
    q, k = (x.repeat_interleave(share, dim=1) for x in (q * q.shape[-1] ** -0.5, k))
    outputs = []
    for t in range(len(q)):
        decayed = g[t].exp()[:, None, None] * state
        seen = torch.einsum("hk,hkv->hv", k[t], decayed)
        change = beta[t][:, None] * (v[t] - seen)
        state = decayed + torch.einsum("hk,hv->hkv", k[t], change)
        outputs.append(torch.einsum("hk,hkv->hv", q[t], state))
    return torch.stack(outputs), state


def gates(a: "Tensor", b: "Tensor", a_log: "Tensor", dt_bias: "Tensor") -> "tuple[Tensor, Tensor]":
    """Decay and write strength of Gated DeltaNet (arXiv:2412.06464, section 3.4, which takes the
    decay from Mamba-2): g = -exp(a_log) softplus(a + dt_bias), beta = sigmoid(b).

    a, b: [T, Hv]; a_log, dt_bias: [Hv].
    """
    import torch

    step = torch.nn.functional.softplus(a.double() + dt_bias.double(), threshold=1e9)
    return -a_log.double().exp() * step, torch.sigmoid(b.double())


def mamba2_scan(
    x: "Tensor",
    dt: "Tensor",
    a: "Tensor",
    b: "Tensor",
    c: "Tensor",
    d: "Tensor",
    dt_bias: "Tensor",
    state: "Tensor",
) -> "tuple[Tensor, Tensor]":
    """Selective state space with a scalar decay a head (Mamba-2, arXiv:2405.21060, section 2 and
    equation 16), discretised as Mamba does (arXiv:2312.00752, section 3.2).

    x: [T, H, P]; dt: [T, H] before softplus; a, d, dt_bias: [H]; b, c: [T, G, N]; state: [H, P, N].
    S[t] = exp(dt a) S[t-1] + dt x bᵀ and y[t] = S c + d x. Returns y: [T, H, P] and the last state.
    """
    import torch

    x, dt, a, b, c, d, state = (y.double() for y in (x, dt, a, b, c, d, state))
    share = x.shape[1] // b.shape[1]
    b, c = (y.repeat_interleave(share, dim=1) for y in (b, c))
    step = torch.nn.functional.softplus(dt + dt_bias.double(), threshold=1e9)
    outputs = []
    for t in range(len(x)):
        written = torch.einsum("hp,hn->hpn", step[t][:, None] * x[t], b[t])
        state = (step[t] * a).exp()[:, None, None] * state + written
        outputs.append(torch.einsum("hpn,hn->hp", state, c[t]) + d[:, None] * x[t])
    return torch.stack(outputs), state
