"""The networks that `bench_engines.py` measures, as modules of PyTorch with an example each."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn


class Block(nn.Module):
    """Attention with 4 heads, then two linear layers, each with a residual and a norm."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = 4
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.projections = nn.ModuleList(nn.Linear(width, width) for _ in range(4))
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return as many numbers as it gets: shape (batch, tokens, width)."""
        batch, tokens, width = x.shape
        normed = self.norms[0](x)
        query, key, value = (
            project(normed).view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)
            for project in self.projections[:3]
        )
        weights = torch.softmax(query @ key.transpose(-1, -2) / (width // self.heads) ** 0.5, -1)
        mixed = (weights @ value).transpose(1, 2).reshape(batch, tokens, width)
        x = x + self.projections[3](mixed)
        return x + self.narrow(torch.relu(self.wide(self.norms[1](x))))


def tiny_net() -> tuple[nn.Module, torch.Tensor]:
    """Return one convolution, and an image of 3x8x8."""
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU()), torch.rand(1, 3, 8, 8)


def convolution_net() -> tuple[nn.Module, torch.Tensor]:
    """Return five convolutions, three of them with stride 2, and an image of 3x192x192."""
    channels = (3, 16, 32, 64, 64, 64)
    strides = (2, 2, 1, 2, 1)
    parts: list[nn.Module] = []
    for (before, after), stride in zip(pairwise(channels), strides, strict=True):
        parts += [nn.Conv2d(before, after, 3, stride, padding=1), nn.ReLU()]
    return nn.Sequential(*parts), torch.rand(1, 3, 192, 192)


def transformer() -> tuple[nn.Module, torch.Tensor]:
    """Return four blocks of width 128, and 64 tokens."""
    return nn.Sequential(*(Block(128) for _ in range(4))), torch.rand(1, 64, 128)


NETWORKS = {"tiny net": tiny_net, "convolution net": convolution_net, "transformer": transformer}
"""The networks by name."""
