"""Attention and recurrence over images and sound: ViT, SegFormer, Whisper's encoder, LSTM."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from architectures.layers import ConvNormActivation, PreNormBlock, split_heads


class ViT(nn.Module):
    """Image (N, 3, size, size) to logits (N, classes).

    Source: Dosovitskiy et al., 2020, arXiv:2010.11929.
    """

    def __init__(self, size: int, patch: int, width: int, layers: int, heads: int, classes: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.first = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.positions = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.02)
        self.blocks = nn.Sequential(*(PreNormBlock(width, heads, nn.GELU()) for _ in range(layers)))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, classes)

    def forward(self, image: Tensor) -> Tensor:
        patches = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat((self.first.expand(image.shape[0], -1, -1), patches), dim=1)
        return self.head(self.norm(self.blocks(x + self.positions))[:, 0])


class ReducedAttention(nn.Module):
    """Attention with keys and values from a smaller image."""

    def __init__(self, width: int, heads: int, reduction: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.output = nn.Linear(width, width)
        self.reduce = nn.Conv2d(width, width, reduction, reduction) if reduction > 1 else None
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor, height: int, width: int) -> Tensor:
        context = x
        if self.reduce is not None:
            image = x.transpose(1, 2).unflatten(2, (height, width))
            context = self.norm(self.reduce(image).flatten(2).transpose(1, 2))
        key, value = self.key_value(context).chunk(2, dim=-1)
        attended = functional.scaled_dot_product_attention(
            *(split_heads(each, self.heads) for each in (self.query(x), key, value))
        )
        return self.output(attended.transpose(1, 2).flatten(2))


class SegFormerBlock(nn.Module):
    """Reduced attention, and a feed-forward layer that sees neighbors through a depthwise convolution."""

    def __init__(self, width: int, heads: int, reduction: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = ReducedAttention(width, heads, reduction)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, 4 * width)
        self.filter = nn.Conv2d(4 * width, 4 * width, 3, padding=1, groups=4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, x: Tensor, height: int, width: int) -> Tensor:
        x = x + self.attention(self.attention_norm(x), height, width)
        image = self.widen(self.feed_forward_norm(x)).transpose(1, 2).unflatten(2, (height, width))
        return x + self.narrow(functional.gelu(self.filter(image).flatten(2).transpose(1, 2)))


class SegFormerStage(nn.Module):
    """Overlapping patches, then blocks: an image with fewer pixels and more channels."""

    def __init__(
        self, inputs: int, width: int, depth: int, heads: int, reduction: int, patch: int, stride: int
    ) -> None:
        super().__init__()
        self.patches = nn.Conv2d(inputs, width, patch, stride, padding=patch // 2)
        self.patch_norm = nn.LayerNorm(width)
        self.blocks = nn.ModuleList(SegFormerBlock(width, heads, reduction) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, image: Tensor) -> Tensor:
        image = self.patches(image)
        height, width = image.shape[2:]
        x = self.patch_norm(image.flatten(2).transpose(1, 2))
        for block in self.blocks:
            x = block(x, height, width)
        return self.norm(x).transpose(1, 2).unflatten(2, (height, width))


class SegFormer(nn.Module):
    """Image (N, 3, H, W) to a score for each class at each fourth pixel (N, classes, H/4, W/4).

    Source: Xie et al., 2021, arXiv:2105.15203.
    """

    def __init__(
        self,
        widths: Sequence[int],
        depths: Sequence[int],
        heads: Sequence[int],
        reductions: Sequence[int],
        decoder: int,
        classes: int,
    ) -> None:
        super().__init__()
        inputs = (3, *widths[:-1])
        patches = ((7, 4), *((3, 2) for _ in widths[1:]))
        self.stages = nn.ModuleList(
            SegFormerStage(*each, *patch)
            for each, patch in zip(
                zip(inputs, widths, depths, heads, reductions, strict=True), patches, strict=True
            )
        )
        self.projections = nn.ModuleList(nn.Conv2d(width, decoder, 1) for width in widths)
        self.fuse = ConvNormActivation(decoder * len(widths), decoder, 1, nn.ReLU())
        self.head = nn.Conv2d(decoder, classes, 1)

    def forward(self, image: Tensor) -> Tensor:
        levels = []
        for stage, projection in zip(self.stages, self.projections, strict=True):
            image = stage(image)
            levels.append(projection(image))
        size = levels[0].shape[2:]
        enlarged = [functional.interpolate(each, size=size, mode="bilinear") for each in levels[1:]]
        return self.head(self.fuse(torch.cat((levels[0], *enlarged), dim=1)))


class WhisperEncoder(nn.Module):
    """Log-mel spectrogram (N, mels, 2 T) to states (N, T, width).

    Source: Radford et al., 2022, arXiv:2212.04356.
    """

    def __init__(self, mels: int, context: int, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.first = nn.Conv1d(mels, width, 3, padding=1)
        self.second = nn.Conv1d(width, width, 3, stride=2, padding=1)
        self.register_buffer("positions", sinusoids(context, width))
        self.blocks = nn.Sequential(
            *(PreNormBlock(width, heads, nn.GELU(), key_bias=False) for _ in range(layers))
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, spectrogram: Tensor) -> Tensor:
        x = functional.gelu(self.second(functional.gelu(self.first(spectrogram)))).transpose(1, 2)
        return self.norm(self.blocks(x + self.positions[: x.shape[1]]))


def sinusoids(length: int, width: int) -> Tensor:
    """Sines, then cosines, of places times frequencies from 1 to 1/10,000; (length, width)."""
    half = width // 2
    frequencies = torch.exp(-math.log(10_000) / (half - 1) * torch.arange(half))
    angles = torch.arange(length)[:, None] * frequencies
    return torch.cat((angles.sin(), angles.cos()), dim=1)


class Lstm(nn.Module):
    """Frames (N, T, inputs) to a score for each class at each frame, and the last hidden and cell states.

    Source: Hochreiter and Schmidhuber, 1997; in both directions.
    """

    def __init__(self, inputs: int, hidden: int, layers: int, classes: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden, layers, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, classes)

    def forward(self, frames: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, (hidden, cell) = self.lstm(frames)
        return self.head(x), hidden, cell
