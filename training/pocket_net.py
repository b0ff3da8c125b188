"""The pocket model for training: Qwen3.5's text model with transformers' names, fast on a CPU.

Projections run in bfloat16, as they will when the model is served; norms, gates and the state run
in float32.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

CHUNK = 64
"""Tokens that the gated delta rule takes at once; the result does not depend on it."""


class Norm(nn.Module):
    """RMS norm whose weight is stored as its distance from one."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x.float(), x.shape[-1:], eps=self.eps) * (1.0 + self.weight)


class GatedNorm(nn.Module):
    """RMS norm of a head's output, times the silu of its gate."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor, gate: Tensor) -> Tensor:
        return F.rms_norm(x, x.shape[-1:], eps=self.eps) * self.weight * F.silu(gate.float())


class Linear(nn.Linear):
    """A projection without bias, computed in bfloat16."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x.bfloat16(), self.weight.bfloat16())


class GatedDeltaNet(nn.Module):
    """A linear-attention layer: short convolution, gated delta rule, gated norm."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        hidden, self.dim = config["hidden_size"], config["linear_key_head_dim"]
        self.key_heads, self.heads = (
            config["linear_num_key_heads"],
            config["linear_num_value_heads"],
        )
        self.sizes = [self.key_heads * self.dim, self.key_heads * self.dim, self.heads * self.dim]
        channels, self.width = sum(self.sizes), config["linear_conv_kernel_dim"]
        self.conv1d = nn.Conv1d(channels, channels, self.width, groups=channels, bias=False)
        self.dt_bias = nn.Parameter(torch.zeros(self.heads))
        self.A_log = nn.Parameter(torch.zeros(self.heads))
        self.norm = GatedNorm(self.dim, config["rms_norm_eps"])
        self.in_proj_qkv = Linear(hidden, channels)
        self.in_proj_z = Linear(hidden, self.sizes[2])
        self.in_proj_b = Linear(hidden, self.heads)
        self.in_proj_a = Linear(hidden, self.heads)
        self.out_proj = Linear(self.sizes[2], hidden)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        query, key, value = self.convolve(self.in_proj_qkv(x)).split(self.sizes, dim=-1)
        query, key = (self.by_head(each, self.key_heads) for each in (query, key))
        query, key = (F.normalize(each, dim=-1, eps=1e-6) for each in (query, key))
        repeats = self.heads // self.key_heads
        query, key = (
            each.repeat_interleave(repeats, dim=1) for each in (query * self.dim**-0.5, key)
        )
        decay = -self.A_log.exp() * F.softplus(self.in_proj_a(x).float() + self.dt_bias)
        beta = self.in_proj_b(x).float().sigmoid()
        out = delta_rule(
            query, key, self.by_head(value, self.heads), decay.transpose(1, 2), beta.transpose(1, 2)
        )
        gate = self.in_proj_z(x).view(batch, length, self.heads, self.dim)
        return self.out_proj(self.norm(out.transpose(1, 2), gate).reshape(batch, length, -1))

    def convolve(self, x: Tensor) -> Tensor:
        """Each channel over its last few tokens, as shifted sums. x: [B, T, C]."""
        padded, taps = F.pad(x.float(), (0, 0, self.width - 1, 0)), self.conv1d.weight[:, 0]
        return F.silu(sum(padded[:, i : i + x.shape[1]] * taps[:, i] for i in range(self.width)))

    def by_head(self, x: Tensor, heads: int) -> Tensor:
        """[B, T, heads * D] -> [B, heads, T, D]."""
        return x.unflatten(-1, (heads, self.dim)).transpose(1, 2)


def delta_rule(query: Tensor, key: Tensor, value: Tensor, decay: Tensor, beta: Tensor) -> Tensor:
    """The gated delta rule in chunks (arXiv 2406.06484, 2412.06464); T is a multiple of CHUNK.

    query, key, value: [B, H, T, D]; decay (log), beta: [B, H, T].
    """
    shape = value.shape
    query, key, value = (x.unflatten(2, (-1, CHUNK)) for x in (query, key, value))
    decay, beta = (x.unflatten(2, (-1, CHUNK)) for x in (decay, beta))
    since = decay.cumsum(-1)
    upper = torch.ones(CHUNK, CHUNK, dtype=torch.bool, device=key.device).triu(1)
    pairwise = (since.unsqueeze(-1) - since.unsqueeze(-2)).masked_fill(upper, float("-inf")).exp()
    key_beta, transposed = key * beta.unsqueeze(-1), key.transpose(-1, -2)
    system = (key_beta @ transposed) * pairwise
    right = torch.cat((value * beta.unsqueeze(-1), key_beta * since.exp().unsqueeze(-1)), dim=-1)
    solved = torch.linalg.solve_triangular(system, right, upper=False, unitriangular=True)
    new_value, read = solved.chunk(2, dim=-1)
    inside, query = (query @ transposed) * pairwise, query * since.exp().unsqueeze(-1)
    key = (key * (since[..., -1:] - since).exp().unsqueeze(-1)).transpose(-1, -2)
    kept = since[..., -1].exp()[..., None, None]
    state, outs = torch.zeros_like(kept[:, :, 0] * key[:, :, 0, :, :1] * value[:, :, 0, :1]), []
    for i in range(query.shape[2]):
        fresh = new_value[:, :, i] - read[:, :, i] @ state
        outs.append(query[:, :, i] @ state + inside[:, :, i] @ fresh)
        state = state * kept[:, :, i] + key[:, :, i] @ fresh
    return torch.stack(outs, dim=2).reshape(shape)


class Attention(nn.Module):
    """Gated softmax attention with normed queries and keys, partly rotated by position."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        hidden, self.dim = config["hidden_size"], config["head_dim"]
        self.heads, self.kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
        self.q_proj = Linear(hidden, 2 * self.heads * self.dim)
        self.k_proj = Linear(hidden, self.kv_heads * self.dim)
        self.v_proj = Linear(hidden, self.kv_heads * self.dim)
        self.o_proj = Linear(self.heads * self.dim, hidden)
        self.q_norm = Norm(self.dim, config["rms_norm_eps"])
        self.k_norm = Norm(self.dim, config["rms_norm_eps"])
        rope = config["rope_parameters"]
        rotated = int(self.dim * rope["partial_rotary_factor"])
        self.frequencies = rope["rope_theta"] ** (-torch.arange(0, rotated, 2).float() / rotated)

    def forward(self, x: Tensor) -> Tensor:
        query, gate = self.q_proj(x).unflatten(-1, (self.heads, 2 * self.dim)).chunk(2, dim=-1)
        key = self.k_proj(x).unflatten(-1, (self.kv_heads, self.dim))
        value = self.v_proj(x).unflatten(-1, (self.kv_heads, self.dim)).transpose(1, 2)
        query, key = self.rotate(self.q_norm(query)), self.rotate(self.k_norm(key))
        query, key = (each.transpose(1, 2).bfloat16() for each in (query, key))
        key, value = (
            each.repeat_interleave(self.heads // self.kv_heads, dim=1) for each in (key, value)
        )
        out = F.scaled_dot_product_attention(query, key, value, is_causal=True).transpose(1, 2)
        return self.o_proj((out * gate.sigmoid()).flatten(2))

    def rotate(self, x: Tensor) -> Tensor:
        """Turn the first dimensions of every head by their position. x: [B, T, heads, D]."""
        angles = torch.outer(torch.arange(x.shape[1]).float(), self.frequencies)[:, None]
        cos, sin, half = angles.cos(), angles.sin(), angles.shape[-1]
        left, right, rest = x.split([half, half, x.shape[-1] - 2 * half], dim=-1)
        return torch.cat((left * cos - right * sin, right * cos + left * sin, rest), dim=-1)


class Mlp(nn.Module):
    """The gated feed-forward part of a layer."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        hidden, inner = config["hidden_size"], config["intermediate_size"]
        self.gate_proj, self.up_proj = Linear(hidden, inner), Linear(hidden, inner)
        self.down_proj = Linear(inner, hidden)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    """A token mixer and a feed-forward part, each behind a norm and beside a residual."""

    def __init__(self, config: dict[str, Any], kind: str) -> None:
        super().__init__()
        self.mixer_name = "linear_attn" if kind == "linear_attention" else "self_attn"
        self.add_module(
            self.mixer_name, (GatedDeltaNet if kind == "linear_attention" else Attention)(config)
        )
        self.mlp = Mlp(config)
        self.input_layernorm = Norm(config["hidden_size"], config["rms_norm_eps"])
        self.post_attention_layernorm = Norm(config["hidden_size"], config["rms_norm_eps"])

    def forward(self, x: Tensor) -> Tensor:
        x = x + getattr(self, self.mixer_name)(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class TextModel(nn.Module):
    """Tokens to hidden states."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config["vocab_size"], config["hidden_size"])
        self.layers = nn.ModuleList(Layer(config, kind) for kind in config["layer_types"])
        self.norm = Norm(config["hidden_size"], config["rms_norm_eps"])

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class PocketNet(nn.Module):
    """The model with its tied head; its state dict is a transformers checkpoint."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.model = TextModel(config)
        self.apply(initialise)

    def forward(self, tokens: Tensor) -> Tensor:
        """tokens: [B, T] -> logits: [B, T, V]."""
        return F.linear(
            self.model(tokens).bfloat16(), self.model.embed_tokens.weight.bfloat16()
        ).float()


def initialise(module: nn.Module) -> None:
    """Small weights, and gates that keep a state: half-lives of 70 to 700 tokens over the heads."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, GatedDeltaNet):
        step = torch.logspace(-3, -2, module.heads)
        module.dt_bias.data.copy_(step + torch.log(-torch.expm1(-step)))
        module.A_log.data.zero_()
