"""Resizing, sampling, windows and image functions."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812  the usual name
from torch import nn

from blocks.catalog import block, function

SIGNAL, IMAGE, VOLUME = (2, 3, 7), (1, 2, 5, 6), (1, 2, 3, 4, 5)

for mode, shape in (
    *(("nearest", SIGNAL), ("nearest", IMAGE), ("nearest", VOLUME)),
    *(("linear", SIGNAL), ("bilinear", IMAGE), ("bicubic", IMAGE), ("trilinear", VOLUME)),
    *(("area", SIGNAL), ("area", IMAGE), ("area", VOLUME)),
    *(("nearest-exact", SIGNAL), ("nearest-exact", IMAGE), ("nearest-exact", VOLUME)),
):
    rank = len(shape) - 2
    function(
        f"Interpolation {mode} of rank {rank}, sizes",
        lambda x, mode=mode, rank=rank: F.interpolate(x, [8, 9, 4][:rank], mode=mode),
        lambda shape=shape: (torch.randn(shape),),
    )
    if mode != "area":
        function(
            f"Interpolation {mode} of rank {rank}, factor",
            lambda x, mode=mode: F.interpolate(x, scale_factor=1.7, mode=mode),
            lambda shape=shape: (torch.randn(shape),),
        )
    if mode.endswith(("linear", "cubic")):
        function(
            f"Interpolation {mode} of rank {rank}, aligned corners",
            lambda x, mode=mode, rank=rank: F.interpolate(
                x, [3, 11, 7][:rank], mode=mode, align_corners=True
            ),
            lambda shape=shape: (torch.randn(shape),),
        )
for mode in ("bilinear", "bicubic"):
    function(
        f"Interpolation {mode}, antialiased",
        lambda x, mode=mode: F.interpolate(x, (3, 4), mode=mode, antialias=True),
        lambda: (torch.randn(1, 2, 9, 11),),
    )
for mode in ("bilinear", "nearest", "bicubic"):
    for padding in ("zeros", "border", "reflection"):
        function(
            f"Grid sampling {mode}, {padding}",
            lambda x, grid, mode=mode, padding=padding: F.grid_sample(
                x, grid, mode, padding, align_corners=False
            ),
            lambda: (torch.randn(2, 3, 5, 6), torch.rand(2, 4, 7, 2) * 3 - 1.5),
        )
for mode in ("bilinear", "nearest"):
    function(
        f"Grid sampling of volumes, {mode}",
        lambda x, grid, mode=mode: F.grid_sample(x, grid, mode, "border", align_corners=True),
        lambda: (torch.randn(1, 2, 3, 4, 5), torch.rand(1, 2, 3, 4, 3) * 3 - 1.5),
    )
block(
    "Unfold and fold",
    lambda: nn.Sequential(nn.Unfold(3, padding=1), nn.Fold((6, 6), 3, padding=1)),
    lambda: (torch.randn(1, 2, 6, 6),),
)
block(
    "Upsampling and convolution",
    lambda: nn.Sequential(
        nn.Upsample(scale_factor=2), nn.Conv2d(2, 3, 3), nn.UpsamplingBilinear2d(scale_factor=2)
    ),
    lambda: (torch.randn(1, 2, 4, 4),),
)
function(
    "Gaussian blur by groups",
    lambda x: F.conv2d(
        x,
        torch.tensor([1.0, 2.0, 1.0]).outer(torch.tensor([1.0, 2.0, 1.0])).div(16).expand(3, 1, 3, 3),
        padding=1,
        groups=3,
    ),
    lambda: (torch.randn(1, 3, 6, 6),),
)
function(
    "Normalized bytes",
    lambda x: (
        (x.permute(2, 0, 1).float() / 255 - torch.tensor([0.5, 0.4, 0.3]).view(3, 1, 1))
        / torch.tensor([0.2, 0.2, 0.3]).view(3, 1, 1)
    ),
    lambda: (torch.randint(0, 256, (5, 6, 3), dtype=torch.uint8),),
)
function(
    "Back to bytes", lambda x: (x * 255).round().clamp(0, 255).to(torch.uint8), lambda: (torch.rand(3, 4, 5),)
)
function(
    "Color to gray, and histogram of levels",
    lambda x: ((x * torch.tensor([0.299, 0.587, 0.114]).view(3, 1, 1)).sum(0), torch.histc(x, 8, 0.0, 1.0)),
    lambda: (torch.rand(3, 4, 5),),
)
function(
    "Packed pixels, shifted bits",
    lambda x: ((x[0] << 16) | (x[1] << 8) | x[2], (x[0] >> 4) & 15, x[1] ^ 255, ~x[2]),
    lambda: (torch.randint(0, 256, (3, 5), dtype=torch.int32),),
)
function(
    "Shifts by operators",
    lambda x, y: (
        torch.bitwise_left_shift(x, y),
        x.__lshift__(2),
        x.__rshift__(1),
        x.__lshift__(y),
        x.__rshift__(y),
    ),
    lambda: (torch.randint(0, 99, (3, 5)), torch.randint(0, 5, (5,))),
)
function(
    "Crop, flip, rotate",
    lambda x: (x.flip(-1), torch.rot90(x, 1, (-2, -1)), x[..., 1:4, 2:5].contiguous()),
    lambda: (torch.randn(2, 5, 6),),
)
function(
    "Affine grid and warp",
    lambda x, t: F.grid_sample(x, F.affine_grid(t, [1, 2, 4, 5], align_corners=True), align_corners=True),
    lambda: (torch.randn(1, 2, 6, 6), torch.randn(1, 2, 3)),
)
function(
    "Morphology by pooling",
    lambda x: F.max_pool2d(x, 3, 1, 1) + F.max_pool2d(-x, 3, 1, 1),
    lambda: (torch.randn(1, 1, 6, 6),),
)
function(
    "Local maxima as key points",
    lambda x: torch.where(x == F.max_pool2d(x, 3, 1, 1), x, torch.zeros_like(x)).flatten(1).topk(3),
    lambda: (torch.randn(2, 1, 6, 6),),
)
function("Non-zero places of a mask", lambda x: torch.nonzero(x > 0.5), lambda: (torch.rand(4, 5),))
function(
    "Windows of each kind",
    lambda x: tuple(
        x * each
        for each in (
            torch.hann_window(8),
            torch.hamming_window(8),
            torch.blackman_window(8),
            torch.bartlett_window(8),
            torch.kaiser_window(8),
        )
    ),
    lambda: (torch.randn(3, 8),),
)
function("Median filter", lambda x: x.unfold(1, 3, 1).median(-1), lambda: (torch.randn(2, 9),))
function(
    "Median of all, modes, n-th values",
    lambda x: (
        x.median(),
        x.kthvalue(2, -1),
        x.mode(-1),
        x.nanmedian(),
        torch.nanmedian(x, 1),
        x.quantile(0.3, 1),
    ),
    lambda: (torch.randn(3, 5),),
)
function(
    "Distance maps",
    lambda x, y: (
        torch.cdist(x, y),
        F.pairwise_distance(x, x.flip(0)),
        F.cosine_similarity(x, x.flip(0)),
        torch.dist(x, x.flip(0), 2),
    ),
    lambda: (torch.randn(3, 4), torch.randn(5, 4)),
)
