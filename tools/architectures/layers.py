"""Layers of several architectures."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval


class Attention(nn.Module):
    """Multi-head attention of (batch, length, width) to `context`, by default to itself."""

    def __init__(self, width: int, heads: int, *, bias: bool = True, key_bias: bool = True) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=bias)
        self.key = nn.Linear(width, width, bias=bias and key_bias)
        self.value = nn.Linear(width, width, bias=bias)
        self.output = nn.Linear(width, width, bias=bias)

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        is_causal: bool = False,
        scale: float | None = None,
    ) -> Tensor:
        context = x if context is None else context
        attended = functional.scaled_dot_product_attention(
            split_heads(self.query(x), self.heads),
            split_heads(self.key(context), self.heads),
            split_heads(self.value(context), self.heads),
            attn_mask=mask,
            is_causal=is_causal,
            scale=scale,
        )
        return self.output(attended.transpose(1, 2).flatten(2))


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(batch, length, width) to (batch, heads, length, width / heads)."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


class FeedForward(nn.Sequential):
    """Two linear layers with an activation between."""

    def __init__(self, width: int, hidden: int, activation: nn.Module) -> None:
        super().__init__(nn.Linear(width, hidden), activation, nn.Linear(hidden, width))


class PreNormBlock(nn.Module):
    """A transformer block that normalizes before attention and before the feed-forward layer."""

    def __init__(
        self, width: int, heads: int, activation: nn.Module, *, is_causal: bool = False, key_bias: bool = True
    ) -> None:
        super().__init__()
        self.is_causal = is_causal
        self.attention_norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads, key_bias=key_bias)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width, 4 * width, activation)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x), is_causal=self.is_causal)
        return x + self.feed_forward(self.feed_forward_norm(x))


class RootMeanSquareNorm(nn.Module):
    """Scaling by the root of the mean square, in float32 for every dtype, as in Llama and T5."""

    def __init__(self, width: int, epsilon: float = 1e-6) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.epsilon)).type_as(
            x
        ) * self.weight


class ConvNormActivation(nn.Sequential):
    """A convolution without bias that keeps the size except for its stride, batch norm, activation."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        activation: nn.Module | None,
        *,
        stride: int = 1,
        groups: int = 1,
    ) -> None:
        convolution = nn.Conv2d(
            inputs, outputs, kernel, stride, padding=kernel // 2, groups=groups, bias=False
        )
        layers = [convolution, nn.BatchNorm2d(outputs)]
        super().__init__(*layers, *([] if activation is None else [activation]))


def fold_norms(module: nn.Module) -> None:
    """Fold every batch norm of a module in eval mode into the convolution before it."""
    for each in module.modules():
        if isinstance(each, ConvNormActivation):
            each[0], each[1] = fuse_conv_bn_eval(each[0], each[1]), nn.Identity()
