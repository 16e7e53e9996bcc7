"""Convolutional networks: ResNet, MobileNetV2, ConvNeXt, U-Net."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from architectures.layers import ConvNormActivation


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut, which is a 1x1 convolution if the shape changes."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = ConvNormActivation(inputs, outputs, 3, nn.ReLU(), stride=stride)
        self.second = ConvNormActivation(outputs, outputs, 3, None)
        keeps_shape = stride == 1 and inputs == outputs
        self.shortcut = (
            nn.Identity() if keeps_shape else ConvNormActivation(inputs, outputs, 1, None, stride=stride)
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.second(self.first(x)) + self.shortcut(x))


class ResNet(nn.Sequential):
    """Image (N, 3, H, W) to logits (N, classes).

    Source: He et al., 2015, arXiv:1512.03385; with 64 channels and (2, 2, 2, 2) blocks ResNet-18.
    """

    def __init__(self, width: int, depths: Sequence[int], classes: int) -> None:
        stem = [ConvNormActivation(3, width, 7, nn.ReLU(), stride=2), nn.MaxPool2d(3, 2, padding=1)]
        blocks: list[nn.Module] = []
        inputs = width
        for stage, depth in enumerate(depths):
            outputs = width << stage
            for index in range(depth):
                blocks.append(ResidualBlock(inputs, outputs, 2 if stage and not index else 1))
                inputs = outputs
        super().__init__(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


class InvertedResidual(nn.Module):
    """A widening layer, a filter for each channel, a narrowing layer; a shortcut between the narrow ends."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        self.has_shortcut = stride == 1 and inputs == outputs
        self.layers = nn.Sequential(
            *([ConvNormActivation(inputs, hidden, 1, nn.ReLU6())] if expansion > 1 else []),
            ConvNormActivation(hidden, hidden, 3, nn.ReLU6(), stride=stride, groups=hidden),
            ConvNormActivation(hidden, outputs, 1, None),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.has_shortcut else self.layers(x)


class MobileNetV2(nn.Sequential):
    """Image (N, 3, H, W) to logits (N, classes).

    Args:
        stem: Channels of the first convolution.
        stages: Expansion, channels, blocks and first stride of each stage.

    Source: Sandler et al., 2018, arXiv:1801.04381.
    """

    def __init__(
        self, stem: int, stages: Sequence[tuple[int, int, int, int]], last: int, classes: int
    ) -> None:
        layers: list[nn.Module] = [ConvNormActivation(3, stem, 3, nn.ReLU6(), stride=2)]
        inputs = stem
        for expansion, outputs, blocks, stride in stages:
            for index in range(blocks):
                layers.append(InvertedResidual(inputs, outputs, 1 if index else stride, expansion))
                inputs = outputs
        layers.append(ConvNormActivation(inputs, last, 1, nn.ReLU6()))
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, classes))


class ChannelNorm(nn.LayerNorm):
    """Layer norm over the channels of (N, C, H, W)."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNeXtBlock(nn.Module):
    """A 7x7 filter of each channel, then two linear layers at every pixel, scaled, and a shortcut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.filter = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.layers = nn.Sequential(
            nn.LayerNorm(width, eps=1e-6), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.scale = nn.Parameter(torch.full((width, 1, 1), 0.5))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.scale * self.layers(self.filter(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNeXt(nn.Sequential):
    """Image (N, 3, H, W) to logits (N, classes).

    Source: Liu et al., 2022, arXiv:2201.03545.
    """

    def __init__(self, widths: Sequence[int], depths: Sequence[int], classes: int) -> None:
        layers: list[nn.Module] = [nn.Conv2d(3, widths[0], 4, 4), ChannelNorm(widths[0], eps=1e-6)]
        for stage, (width, depth) in enumerate(zip(widths, depths, strict=True)):
            if stage:
                before = widths[stage - 1]
                layers += [ChannelNorm(before, eps=1e-6), nn.Conv2d(before, width, 2, 2)]
            layers += [ConvNeXtBlock(width) for _ in range(depth)]
        last = widths[-1]
        super().__init__(
            *layers,
            nn.AdaptiveAvgPool2d(1),
            ChannelNorm(last, eps=1e-6),
            nn.Flatten(),
            nn.Linear(last, classes),
        )


class TwoConvolutions(nn.Sequential):
    """Two 3x3 convolutions, as at every level of a U-Net."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(
            ConvNormActivation(inputs, outputs, 3, nn.ReLU()),
            ConvNormActivation(outputs, outputs, 3, nn.ReLU()),
        )


class UNet(nn.Module):
    """Image (N, 3, H, W) to a score for each class at each pixel (N, classes, H, W).

    Source: Ronneberger et al., 2015, arXiv:1505.04597.
    """

    def __init__(self, widths: Sequence[int], classes: int) -> None:
        super().__init__()
        self.down = nn.ModuleList(
            TwoConvolutions(inputs, outputs) for inputs, outputs in pairwise((3, *widths))
        )
        self.enlarge = nn.ModuleList(
            nn.ConvTranspose2d(wide, narrow, 2, 2) for narrow, wide in pairwise(widths)
        )
        self.up = nn.ModuleList(TwoConvolutions(2 * narrow, narrow) for narrow in widths[:-1])
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for level, down in enumerate(self.down):
            x = down(self.pool(x) if level else x)
            kept.append(x)
        kept.pop()
        for enlarge, up in zip(reversed(self.enlarge), reversed(self.up), strict=True):
            x = up(torch.cat((kept.pop(), enlarge(x)), dim=1))
        return self.head(x)
