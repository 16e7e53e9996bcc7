"""Language models: BERT, GPT-2, Llama with a key-value cache, T5."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from architectures.layers import Attention, FeedForward, PreNormBlock, RootMeanSquareNorm, split_heads


class BertBlock(nn.Module):
    """Attention and feed-forward, each normalized after its residual sum."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads)
        self.attention_norm = nn.LayerNorm(width, eps=1e-12)
        self.feed_forward = FeedForward(width, 4 * width, nn.GELU())
        self.feed_forward_norm = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.attention_norm(x + self.attention(x, mask=mask))
        return self.feed_forward_norm(x + self.feed_forward(x))


class Bert(nn.Module):
    """Token ids, mask and segment ids (N, T) to states (N, T, width) and the pooled first (N, width).

    Source: Devlin et al., 2018, arXiv:1810.04805.
    """

    def __init__(self, vocabulary: int, positions: int, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(positions, width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.blocks = nn.ModuleList(BertBlock(width, heads) for _ in range(layers))
        self.pooler = nn.Linear(width, width)

    def forward(self, ids: Tensor, mask: Tensor, segments: Tensor) -> tuple[Tensor, Tensor]:
        places = torch.arange(ids.shape[1])
        x = self.norm(self.tokens(ids) + self.positions(places) + self.segments(segments))
        for block in self.blocks:
            x = block(x, mask[:, None, None].bool())
        return x, torch.tanh(self.pooler(x[:, 0]))


class Gpt2(nn.Module):
    """Token ids (N, T) to logits (N, T, vocabulary); the embedding is also the last layer.

    Source: Radford et al., 2019, Language Models are Unsupervised Multitask Learners.
    """

    def __init__(self, vocabulary: int, positions: int, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(positions, width)
        self.blocks = nn.Sequential(
            *(PreNormBlock(width, heads, nn.GELU("tanh"), is_causal=True) for _ in range(layers))
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        return functional.linear(self.norm(self.blocks(x)), self.tokens.weight)


class LlamaAttention(nn.Module):
    """Grouped-query attention with rotary positions; keys and values stay in buffers between calls."""

    def __init__(self, width: int, heads: int, cached_heads: int, context: int) -> None:
        super().__init__()
        self.heads, self.cached_heads = heads, cached_heads
        head_width = width // heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, cached_heads * head_width, bias=False)
        self.value = nn.Linear(width, cached_heads * head_width, bias=False)
        self.output = nn.Linear(width, width, bias=False)
        self.register_buffer("keys", torch.zeros(1, cached_heads, context, head_width))
        self.register_buffer("values", torch.zeros(1, cached_heads, context, head_width))

    def forward(self, x: Tensor, places: Tensor, angles: Tensor, mask: Tensor) -> Tensor:
        query = rotate(split_heads(self.query(x), self.heads), angles)
        self.keys[:, :, places] = rotate(split_heads(self.key(x), self.cached_heads), angles)
        self.values[:, :, places] = split_heads(self.value(x), self.cached_heads)
        repeats = self.heads // self.cached_heads
        attended = functional.scaled_dot_product_attention(
            query,
            self.keys.repeat_interleave(repeats, dim=1),
            self.values.repeat_interleave(repeats, dim=1),
            attn_mask=mask,
        )
        return self.output(attended.transpose(1, 2).flatten(2))


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    """Rotate pairs (i, i + half) of the last dimension by `angles` (T, half)."""
    cosine, sine = angles.cos().type_as(x), angles.sin().type_as(x)
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)


class LlamaBlock(nn.Module):
    """Attention and a gated feed-forward layer, each after root-mean-square norm."""

    def __init__(self, width: int, heads: int, cached_heads: int, hidden: int, context: int) -> None:
        super().__init__()
        self.attention_norm = RootMeanSquareNorm(width)
        self.attention = LlamaAttention(width, heads, cached_heads, context)
        self.feed_forward_norm = RootMeanSquareNorm(width)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor, places: Tensor, angles: Tensor, mask: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x), places, angles, mask)
        normed = self.feed_forward_norm(x)
        return x + self.down(functional.silu(self.gate(normed)) * self.up(normed))


class Llama(nn.Module):
    """Token ids (1, T) at places (T) to logits (1, T, vocabulary), given all calls before.

    Source: Touvron et al., 2023, arXiv:2307.09288.
    """

    def __init__(
        self,
        vocabulary: int,
        context: int,
        width: int,
        layers: int,
        heads: int,
        cached_heads: int,
        hidden: int,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(
            LlamaBlock(width, heads, cached_heads, hidden, context) for _ in range(layers)
        )
        self.norm = RootMeanSquareNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        half = width // heads // 2
        frequencies = 10_000.0 ** (-torch.arange(half) / half)
        self.register_buffer("angles", torch.arange(context)[:, None] * frequencies)
        self.register_buffer("mask", torch.ones(context, context, dtype=torch.bool).tril())

    def forward(self, ids: Tensor, places: Tensor) -> Tensor:
        x = self.tokens(ids)
        angles, mask = self.angles[places], self.mask[places]
        for block in self.blocks:
            x = block(x, places, angles, mask)
        return self.head(self.norm(x))


class T5Bias(nn.Module):
    """The bias of attention for the distance between query and key: a value per head and bucket."""

    def __init__(self, heads: int, *, is_causal: bool, buckets: int = 32, farthest: int = 128) -> None:
        super().__init__()
        self.is_causal, self.buckets, self.farthest = is_causal, buckets, farthest
        self.bias = nn.Embedding(buckets, heads)

    def forward(self, length: int) -> Tensor:
        """Return (1, heads, length, length), with minus infinity for masked keys."""
        places = torch.arange(length)
        offset = places[None] - places[:, None]
        bias = self.bias(self._bucket(offset)).permute(2, 0, 1)[None]
        return bias.masked_fill(offset > 0, -math.inf) if self.is_causal else bias

    def _bucket(self, offset: Tensor) -> Tensor:
        """Return one bucket for each small distance, then buckets that grow logarithmically."""
        half = self.buckets if self.is_causal else self.buckets // 2
        start = torch.zeros_like(offset) if self.is_causal else (offset > 0).long() * half
        distance = (-offset).clamp(min=0) if self.is_causal else offset.abs()
        exact = half // 2
        growth = torch.log(distance.clamp(min=1).float() / exact) / math.log(self.farthest / exact)
        far = (exact + (growth * (half - exact)).long()).clamp(max=half - 1)
        return start + torch.where(distance < exact, distance, far)


class T5Block(nn.Module):
    """Self-attention, attention to the encoder if there is one, feed-forward."""

    def __init__(self, width: int, heads: int, *, is_decoder: bool) -> None:
        super().__init__()
        self.attention_norm = RootMeanSquareNorm(width)
        self.attention = Attention(width, heads, bias=False)
        self.is_decoder = is_decoder
        if is_decoder:
            self.cross_norm = RootMeanSquareNorm(width)
            self.cross_attention = Attention(width, heads, bias=False)
        self.feed_forward_norm = RootMeanSquareNorm(width)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor, bias: Tensor, encoded: Tensor | None = None) -> Tensor:
        x = x + self.attention(self.attention_norm(x), mask=bias, scale=1.0)
        if self.is_decoder:
            x = x + self.cross_attention(self.cross_norm(x), encoded, scale=1.0)
        return x + self.down(torch.relu(self.up(self.feed_forward_norm(x))))


class T5(nn.Module):
    """Ids of a source (N, S) and of what is decoded so far (N, T) to logits (N, T, vocabulary).

    Source: Raffel et al., 2019, arXiv:1910.10683.
    """

    def __init__(self, vocabulary: int, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.scale = width**-0.5
        self.tokens = nn.Embedding(vocabulary, width)
        self.encoder_bias = T5Bias(heads, is_causal=False)
        self.encoder = nn.ModuleList(T5Block(width, heads, is_decoder=False) for _ in range(layers))
        self.encoder_norm = RootMeanSquareNorm(width)
        self.decoder_bias = T5Bias(heads, is_causal=True)
        self.decoder = nn.ModuleList(T5Block(width, heads, is_decoder=True) for _ in range(layers))
        self.decoder_norm = RootMeanSquareNorm(width)

    def forward(self, source: Tensor, decoded: Tensor) -> Tensor:
        encoded = self.tokens(source)
        bias = self.encoder_bias(source.shape[1])
        for block in self.encoder:
            encoded = block(encoded, bias)
        encoded = self.encoder_norm(encoded)
        x = self.tokens(decoded)
        bias = self.decoder_bias(decoded.shape[1])
        for block in self.decoder:
            x = block(x, bias, encoded)
        return functional.linear(self.decoder_norm(x) * self.scale, self.tokens.weight)
