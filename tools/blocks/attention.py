"""Blocks of transformers: attention of every kind, positions, caches, feed-forward networks."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812  the usual name
from torch import Tensor, nn

from blocks.catalog import Inputs, block, function

ATEN = torch.ops.aten


def tokens() -> Inputs:
    return (torch.randn(2, 6, 16),)


def heads(count: int = 4, length: int = 6) -> Tensor:
    return torch.randn(2, count, length, 8)


def qkv() -> Inputs:
    return heads(), heads(), heads()


class SelfAttention(nn.Module):
    """Attention in its usual parts, with a hook for the scores."""

    def __init__(self, kv_heads: int = 4, is_causal: bool = False, bias: bool = True) -> None:
        super().__init__()
        self.q, self.o = nn.Linear(16, 16, bias), nn.Linear(16, 16, bias)
        self.k, self.v = nn.Linear(16, 4 * kv_heads, bias), nn.Linear(16, 4 * kv_heads, bias)
        self.kv_heads, self.is_causal = kv_heads, is_causal

    def split(self, x: Tensor, count: int) -> Tensor:
        return x.view(*x.shape[:2], count, 4).transpose(1, 2)

    def rotated(self, x: Tensor) -> Tensor:
        return x

    def bias(self, length: int) -> Tensor | None:
        return None

    def forward(self, x: Tensor) -> Tensor:
        q, k = self.rotated(self.split(self.q(x), 4)), self.rotated(self.split(self.k(x), self.kv_heads))
        k, v = (
            each.repeat_interleave(4 // self.kv_heads, 1)
            for each in (k, self.split(self.v(x), self.kv_heads))
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(4)
        bias = self.bias(x.shape[1])
        if bias is not None:
            scores = scores + bias
        if self.is_causal:
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(mask, float("-inf"))
        mixed = scores.softmax(-1, dtype=torch.float32).to(x.dtype) @ v
        return self.o(mixed.transpose(1, 2).reshape(x.shape))


class Rotary(SelfAttention):
    """Llama: rotary positions, grouped heads."""

    def __init__(self) -> None:
        super().__init__(kv_heads=2, is_causal=True, bias=False)

    def rotated(self, x: Tensor) -> Tensor:
        angles = torch.outer(torch.arange(x.shape[2]).float(), 1 / 10000 ** (torch.arange(0, 4, 2) / 4))
        angles = torch.cat([angles, angles], -1)
        half = torch.cat([-x[..., 2:], x[..., :2]], -1)
        return x * angles.cos() + half * angles.sin()


class Interleaved(Rotary):
    """GPT-J: rotary positions of neighboring pairs."""

    def rotated(self, x: Tensor) -> Tensor:
        angles = torch.outer(torch.arange(x.shape[2]).float(), 1 / 10000 ** (torch.arange(0, 4, 2) / 4))
        even, odd = x[..., ::2], x[..., 1::2]
        pairs = (even * angles.cos() - odd * angles.sin(), odd * angles.cos() + even * angles.sin())
        return torch.stack(pairs, -1).flatten(-2)


class Alibi(SelfAttention):
    """BLOOM: a slope of distances for each head."""

    def bias(self, length: int) -> Tensor:
        apart = torch.arange(length)[None, :] - torch.arange(length)[:, None]
        return -apart.abs() * torch.tensor([2.0 ** -(2 * head) for head in range(1, 5)]).view(4, 1, 1)


class Buckets(SelfAttention):
    """T5: a learned bias for each bucket of distances."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(8, 4)

    def bias(self, length: int) -> Tensor:
        apart = torch.arange(length)[None, :] - torch.arange(length)[:, None]
        side, far = (apart > 0).long() * 4, apart.abs()
        large = 2 + (torch.log(far.float().clamp(min=1) / 2) / math.log(8) * 2).long()
        bucket = side + torch.where(far < 2, far, torch.minimum(large, torch.full_like(large, 3)))
        return self.table(bucket).permute(2, 0, 1)


class SlidingWindow(SelfAttention):
    """Mistral: each token sees its last three."""

    def bias(self, length: int) -> Tensor:
        places = torch.arange(length)
        apart = places[:, None] - places[None, :]
        return torch.zeros(length, length).masked_fill(
            (apart < 0) | (apart >= 3), torch.finfo(torch.float32).min
        )


class Layer(nn.Module):
    """A layer: attention and a feed-forward network, each beside a shortcut."""

    def __init__(self, attention: nn.Module, feed: nn.Module, norm: type[nn.Module], is_first: bool) -> None:
        super().__init__()
        self.attention, self.feed, self.is_first = attention, feed, is_first
        self.norms = nn.ModuleList([norm(16), norm(16)])

    def forward(self, x: Tensor) -> Tensor:
        for norm, part in zip(self.norms, (self.attention, self.feed), strict=True):
            x = x + part(norm(x)) if self.is_first else norm(x + part(x))
        return x


class SwiGlu(nn.Module):
    """Llama's feed-forward network."""

    def __init__(self, act: object = F.silu) -> None:
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(16, 24), nn.Linear(16, 24), nn.Linear(24, 16)
        self.act = act

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.act(self.gate(x)) * self.up(x))


def mlp(act: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(16, 32), act, nn.Linear(32, 16))


class Experts(nn.Module):
    """Mixtral: the two best of four experts, weighted."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(16, 4, bias=False)
        self.weights = nn.Parameter(torch.randn(4, 16, 16))

    def forward(self, x: Tensor) -> Tensor:
        share, chosen = self.gate(x).softmax(-1).topk(2, -1)
        share = share / share.sum(-1, keepdim=True)
        all_results = torch.einsum("bti,eij->btej", x, self.weights)
        picked = all_results.gather(2, chosen.unsqueeze(-1).expand(-1, -1, -1, 16))
        return (picked * share.unsqueeze(-1)).sum(2)


class Cache(nn.Module):
    """A key cache that each call writes one place of; how it writes differs."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 4, 10, 8))
        self.how = how

    def forward(self, place: Tensor, key: Tensor) -> Tensor:
        if self.how == "index_put":
            self.keys[:, :, place] = key
        elif self.how == "index_copy":
            self.keys.index_copy_(2, place, key)
        elif self.how == "scatter":
            self.keys.scatter_(2, place.view(1, 1, 1, 1).expand(1, 4, 1, 8), key)
        elif self.how == "index_add":
            self.keys.index_add_(2, place, key)
        elif self.how == "where":
            is_there = torch.arange(10).view(1, 1, 10, 1) == place
            self.keys.copy_(torch.where(is_there, key, self.keys))
        elif self.how == "slice":
            self.keys[:, :, 3:4] = key
        else:
            self.keys.copy_(torch.cat([self.keys[:, :, 1:], key], 2))
        return self.keys.sum(-1) + self.keys.mean()


def cached() -> Inputs:
    return torch.randint(0, 10, (1,)), torch.randn(1, 4, 1, 8)


for name, attention in (
    *(
        ("plain", SelfAttention),
        ("causal", lambda: SelfAttention(is_causal=True)),
        ("rotary and grouped", Rotary),
    ),
    *(("rotary, interleaved", Interleaved), ("ALiBi", Alibi), ("relative buckets", Buckets)),
    *(("sliding window", SlidingWindow), ("one key for all (MQA)", lambda: SelfAttention(kv_heads=1))),
):
    block(f"Attention {name}", attention, tokens)
block("BERT layer", lambda: Layer(SelfAttention(), mlp(nn.GELU()), nn.LayerNorm, False), tokens)
block(
    "GPT-2 layer",
    lambda: Layer(SelfAttention(is_causal=True), mlp(nn.GELU("tanh")), nn.LayerNorm, True),
    tokens,
)
block("T5 layer", lambda: Layer(Buckets(), SwiGlu(F.gelu), nn.RMSNorm, True), tokens)
block("Llama layer", lambda: Layer(Rotary(), SwiGlu(), nn.RMSNorm, True), tokens)
block(
    "Llama layer in bfloat16",
    lambda: Layer(Rotary(), SwiGlu(), nn.RMSNorm, True).bfloat16(),
    lambda: (torch.randn(2, 6, 16).bfloat16(),),
)
block("Mistral layer", lambda: Layer(SlidingWindow(), SwiGlu(), nn.RMSNorm, True), tokens)
block("Mixture of experts", Experts, tokens)
block(
    "Gemma layer with soft caps",
    lambda: Layer(Rotary(), SwiGlu(lambda x: F.gelu(x, approximate="tanh")), nn.RMSNorm, True),
    tokens,
)
block(
    "ViT encoder of PyTorch",
    lambda: nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True),
    tokens,
)
block(
    "ViT layer with a dynamic batch",
    lambda: Layer(SelfAttention(), mlp(nn.GELU()), nn.LayerNorm, True),
    tokens,
    is_dynamic=True,
)
block(
    "CLIP layer with quick GELU",
    lambda: Layer(
        SelfAttention(is_causal=True), SwiGlu(lambda x: x * torch.sigmoid(1.702 * x)), nn.LayerNorm, True
    ),
    tokens,
)


class _CrossAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(16, 4, 32, batch_first=True)

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        return self.layer(x, memory)


block("Decoder of PyTorch", _CrossAttention, lambda: (torch.randn(2, 3, 16), torch.randn(2, 6, 16)))


class _MultiHead(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(16, 4, batch_first=True)

    def forward(self, x: Tensor, padding: Tensor) -> tuple[Tensor, Tensor]:
        return self.layer(x, x, x, key_padding_mask=padding)


block(
    "Multi-head attention with padding mask",
    _MultiHead,
    lambda: (torch.randn(2, 6, 16), torch.tensor([[False] * 6, [False] * 4 + [True] * 2])),
)
function("SDPA", lambda q, k, v: F.scaled_dot_product_attention(q, k, v), qkv)
function("SDPA, causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), qkv)
function(
    "SDPA with boolean mask",
    lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
    lambda: (*qkv(), torch.rand(6, 6) < 0.7),
)
function(
    "SDPA with additive mask and scale",
    lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m, scale=0.3),
    lambda: (*qkv(), torch.randn(2, 1, 6, 6)),
)
function(
    "SDPA with grouped queries",
    lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
    lambda: (heads(), heads(2), heads(2)),
)
function("Linear attention", lambda q, k, v: (F.elu(q) + 1) @ ((F.elu(k) + 1).transpose(-2, -1) @ v), qkv)
function(
    "Sparse attention: the best keys only",
    lambda q, k, v: (lambda s: s.masked_fill(s < s.topk(3, -1).values[..., -1:], -1e9).softmax(-1) @ v)(
        q @ k.mT
    ),
    qkv,
)
function("Fourier mixing (FNet)", lambda x: torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real, tokens)
function(
    "Sinusoidal positions",
    lambda x: (
        x
        + torch.stack(
            [
                torch.sin(torch.outer(torch.arange(6.0), torch.pow(1e4, -torch.arange(8) / 8))),
                torch.cos(torch.outer(torch.arange(6.0), torch.pow(1e4, -torch.arange(8) / 8))),
            ],
            -1,
        ).flatten(-2)
    ),
    tokens,
)
function(
    "Rotary with complex numbers",
    lambda x: torch.view_as_real(
        torch.view_as_complex(x.reshape(2, 6, 8, 2))
        * torch.polar(torch.ones(6, 8), torch.outer(torch.arange(6.0), torch.arange(8.0)))
    ).flatten(2),
    tokens,
)
function(
    "Padding mask from lengths",
    lambda n: (
        torch.arange(6)[None] < n[:, None],
        (torch.arange(6)[None] < n[:, None]).cumsum(1),
        (1 - (torch.arange(6)[None] < n[:, None]).float()) * -1e4,
    ),
    lambda: (torch.randint(1, 6, (3,)),),
)
function(
    "Pooling by mask",
    lambda x, m: (
        (x * m.unsqueeze(-1)).sum(1) / m.sum(1, keepdim=True).clamp(min=1e-9),
        x[:, 0],
        x.max(1).values,
    ),
    lambda: (*tokens(), torch.randint(0, 2, (2, 6)).float()),
)
function(
    "Shifted tokens",
    lambda ids: (
        torch.cat([torch.zeros_like(ids[:, :1]), ids[:, :-1]], 1).masked_fill(ids == 3, 0),
        ids.roll(1, 1),
        (ids != 0).long().cumsum(1) * (ids != 0),
    ),
    lambda: (torch.randint(0, 5, (2, 6)),),
)
for how in ("index_put", "index_copy", "scatter", "index_add", "where", "slice", "shift"):
    block(f"Key cache by {how}", lambda how=how: Cache(how), cached)
function(
    "Continued cache (functional)",
    lambda c, k, p: (
        c.index_copy(2, p, k),
        c.index_put((torch.zeros(1, dtype=torch.long), torch.zeros(1, dtype=torch.long), p), k[0, :1, 0]),
        c.slice_scatter(k, 2, 2, 3),
        c.select_scatter(k[:, :, 0], 2, 1),
    ),
    lambda: (torch.randn(1, 4, 10, 8), torch.randn(1, 4, 1, 8), torch.tensor([4])),
)


class _Learned(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.types = (
            nn.Embedding(20, 8, padding_idx=0),
            nn.Embedding(6, 8),
            nn.Embedding(2, 8),
        )
        self.norm = nn.LayerNorm(8)

    def forward(self, ids: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1]).expand_as(ids)
        return (
            self.norm(self.words(ids) + self.places(places) + self.types(torch.zeros_like(ids)))
            @ self.words.weight.T
        )


block("Embeddings and tied head", _Learned, lambda: (torch.randint(0, 20, (2, 6)),))


class _Patches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project, self.token = nn.Conv2d(3, 16, 4, 4), nn.Parameter(torch.randn(1, 1, 16))
        self.places = nn.Parameter(torch.randn(1, 5, 16))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), self.project(x).flatten(2).transpose(1, 2)], 1)
        places = F.interpolate(
            self.places[:, 1:].reshape(1, 2, 2, 16).permute(0, 3, 1, 2).contiguous(), (2, 2), mode="bicubic"
        )
        return x + torch.cat([self.places[:, :1], places.flatten(2).transpose(1, 2)], 1)


block("Patch embedding with resized positions", _Patches, lambda: (torch.randn(2, 3, 8, 8),))
