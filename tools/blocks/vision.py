"""Blocks of convolutional networks: torchvision's families, in a few channels."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812  the usual name
from torch import Tensor, nn

from blocks.catalog import Inputs, block, function


def images(*shape: int) -> Inputs:
    return (torch.randn(shape or (2, 8, 8, 8)),)


def conv(
    inputs: int, outputs: int, size: int = 3, stride: int = 1, groups: int = 1, act: nn.Module | None = None
) -> nn.Sequential:
    """Return a convolution, a batch norm and an activation."""
    layers: list[nn.Module] = [
        nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]
    return nn.Sequential(*layers, *([act] if act else []))


class Residual(nn.Module):
    """Adds its input to the result of a body, after a projection if there is one."""

    def __init__(
        self, body: nn.Module, shortcut: nn.Module | None = None, act: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.body, self.shortcut, self.act = body, shortcut or nn.Identity(), act or nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.body(x) + self.shortcut(x))


class SqueezeExcitation(nn.Module):
    """Scales channels by a gate of their means."""

    def __init__(self, channels: int, act: nn.Module, gate: nn.Module) -> None:
        super().__init__()
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, 2, 1), act, nn.Conv2d(2, channels, 1), gate
        )

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gate(x)


class Parallel(nn.Module):
    """Joins the channels of several branches."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


class Dense(nn.Module):
    """Joins its input with new channels."""

    def __init__(self) -> None:
        super().__init__()
        self.new = nn.Sequential(nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3, padding=1))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.new(x)], 1)


class Shuffle(nn.Module):
    """Splits channels, transforms a half and shuffles both."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(conv(4, 4, 1, act=nn.ReLU()), conv(4, 4, groups=4), conv(4, 4, 1))

    def forward(self, x: Tensor) -> Tensor:
        kept, changed = x.chunk(2, 1)
        return F.channel_shuffle(torch.cat([kept, self.body(changed)], 1), 2)


class LayerNorm2d(nn.LayerNorm):
    """A layer norm of channels."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class LayerScale(nn.Module):
    """ConvNeXt's block."""

    def __init__(self) -> None:
        super().__init__()
        self.deep = nn.Conv2d(8, 8, 7, padding=3, groups=8)
        self.rest = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8))
        self.scale = nn.Parameter(torch.full((8, 1, 1), 0.1))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.scale * self.rest(self.deep(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Pyramid(nn.Module):
    """A feature pyramid: laterals, and sums from the top down."""

    def __init__(self) -> None:
        super().__init__()
        self.laterals = nn.ModuleList([nn.Conv2d(8, 4, 1), nn.Conv2d(8, 4, 1)])
        self.smooth = nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        fine, coarse = self.laterals[0](x), self.laterals[1](F.max_pool2d(x, 2))
        summed = fine + F.interpolate(coarse, size=fine.shape[-2:], mode="nearest")
        return self.smooth(summed), F.max_pool2d(coarse, 1, 2)


class PyramidPooling(nn.Module):
    """Pools to several sizes and resizes, as PSPNet and DeepLab do."""

    def forward(self, x: Tensor) -> Tensor:
        pooled = [F.adaptive_avg_pool2d(x, size) for size in (1, 2, 4)]
        size = x.shape[-2:]
        resized = [F.interpolate(each, size, mode="bilinear", align_corners=False) for each in pooled]
        return torch.cat([x, *resized], 1)


class Deformed(nn.Module):
    """Samples an image where predicted offsets point."""

    def __init__(self) -> None:
        super().__init__()
        self.offsets = nn.Conv2d(8, 2, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        theta = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]).expand(x.shape[0], 2, 3)
        grid = F.affine_grid(theta, list(x.shape), align_corners=False)
        return F.grid_sample(x, grid + 0.1 * self.offsets(x).permute(0, 2, 3, 1).tanh(), align_corners=False)


class Partition(nn.Module):
    """Swin's windows: rolled, split, attended, merged."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
        self.table = nn.Parameter(torch.randn(49, 2))
        place = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")).flatten(1)
        apart = (place[:, :, None] - place[:, None, :]).permute(1, 2, 0) + 3
        self.register_buffer("index", (apart[..., 0] * 7 + apart[..., 1]).view(-1))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.roll(x.permute(0, 2, 3, 1), (-2, -2), (1, 2))
        windows = x.view(-1, 2, 4, 2, 4, 8).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, 8)
        q, k, v = self.qkv(windows).view(-1, 16, 3, 2, 4).permute(2, 0, 3, 1, 4)
        bias = self.table[self.index].view(16, 16, 2).permute(2, 0, 1)
        weights = F.softmax(F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1) + bias, -1)
        merged = self.out((weights @ v).transpose(1, 2).reshape(-1, 16, 8))
        rows = merged.view(-1, 2, 2, 4, 4, 8).permute(0, 1, 3, 2, 4, 5).reshape(-1, 8, 8, 8)
        return torch.roll(rows, (2, 2), (1, 2)).permute(0, 3, 1, 2)


class PatchMerging(nn.Module):
    """Swin's reduction of four neighbors to one."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.reduce = nn.LayerNorm(32), nn.Linear(32, 16, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = F.pad(x.permute(0, 2, 3, 1), (0, 0, 0, 1, 0, 1))[:, :8, :8]
        parts = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
        return self.reduce(self.norm(torch.cat(parts, -1)))


SE = SqueezeExcitation
block(
    "ResNet basic block",
    lambda: Residual(nn.Sequential(conv(8, 8, act=nn.ReLU()), conv(8, 8)), act=nn.ReLU()),
    images,
)
block(
    "ResNet bottleneck with stride",
    lambda: Residual(
        nn.Sequential(conv(8, 4, 1, act=nn.ReLU()), conv(4, 4, stride=2, act=nn.ReLU()), conv(4, 16, 1)),
        conv(8, 16, 1, 2),
        nn.ReLU(inplace=True),
    ),
    images,
)
block(
    "ResNeXt groups",
    lambda: Residual(nn.Sequential(conv(8, 8, 1, act=nn.ReLU()), conv(8, 8, groups=4), conv(8, 8, 1))),
    images,
)
block(
    "MobileNetV2 inverted residual",
    lambda: Residual(
        nn.Sequential(conv(8, 16, 1, act=nn.ReLU6()), conv(16, 16, groups=16, act=nn.ReLU6()), conv(16, 8, 1))
    ),
    images,
)
block(
    "MobileNetV3 with squeeze and excitation",
    lambda: Residual(
        nn.Sequential(
            conv(8, 16, 1, act=nn.Hardswish()), conv(16, 16, groups=16), SE(16, nn.ReLU(), nn.Hardsigmoid())
        ).append(conv(16, 8, 1))
    ),
    images,
)
block(
    "EfficientNet block",
    lambda: Residual(
        nn.Sequential(
            conv(8, 16, 1, act=nn.SiLU()),
            conv(16, 16, groups=16, act=nn.SiLU()),
            SE(16, nn.SiLU(), nn.Sigmoid()),
        ).append(conv(16, 8, 1))
    ),
    images,
)
block(
    "RegNet Y block",
    lambda: nn.Sequential(conv(8, 8, groups=2, act=nn.ReLU()), SE(8, nn.ReLU(), nn.Sigmoid())),
    images,
)
block("ConvNeXt block", LayerScale, images)
block("ConvNeXt downsampling", lambda: nn.Sequential(LayerNorm2d(8), nn.Conv2d(8, 16, 2, 2)), images)
block(
    "DenseNet layer and transition",
    lambda: nn.Sequential(Dense(), nn.BatchNorm2d(12), nn.ReLU(), nn.Conv2d(12, 6, 1), nn.AvgPool2d(2)),
    images,
)
block(
    "Inception branches",
    lambda: Parallel(
        conv(8, 4, 1, act=nn.ReLU()),
        nn.Sequential(nn.Conv2d(8, 4, (1, 7), padding=(0, 3)), nn.Conv2d(4, 4, (7, 1), padding=(3, 0))),
        nn.Sequential(nn.AvgPool2d(3, 1, 1), conv(8, 4, 1)),
        nn.Sequential(nn.MaxPool2d(3, 1, 1), conv(8, 4, 1)),
    ),
    images,
)
block(
    "SqueezeNet fire",
    lambda: nn.Sequential(
        nn.Conv2d(8, 2, 1), nn.ReLU(), Parallel(nn.Conv2d(2, 4, 1), nn.Conv2d(2, 4, 3, padding=1))
    ),
    images,
)
block("ShuffleNet unit", Shuffle, images)
block(
    "VGG stage and classifier",
    lambda: nn.Sequential(
        nn.Conv2d(8, 4, 3, padding=1),
        nn.ReLU(True),
        nn.MaxPool2d(2, ceil_mode=True),
        nn.AdaptiveAvgPool2d((3, 3)),
        nn.Flatten(),
        nn.Linear(36, 5),
        nn.Dropout(),
    ),
    images,
)
block(
    "AlexNet local response norm",
    lambda: nn.Sequential(nn.Conv2d(8, 6, 3), nn.LocalResponseNorm(3), nn.MaxPool2d(3, 2)),
    images,
)
block("Swin window attention", Partition, images)
block("Swin patch merging", PatchMerging, images)
block("Feature pyramid", Pyramid, images)
block("Pyramid pooling", PyramidPooling, images)
block(
    "Dilated convolutions (ASPP)",
    lambda: Parallel(*[nn.Conv2d(8, 4, 3, padding=rate, dilation=rate) for rate in (1, 2, 3)]),
    images,
)
block(
    "Deconvolution",
    lambda: nn.Sequential(
        nn.ConvTranspose2d(8, 4, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(4, 4, 3, 2, 1, 1, groups=2)
    ),
    images,
)
block(
    "Transposed convolutions of signals and volumes",
    lambda: nn.Sequential(
        nn.ConvTranspose1d(8, 4, 3, 2), nn.Unflatten(1, (2, 2)), nn.ConvTranspose2d(2, 3, 2, 2)
    ),
    lambda: (torch.randn(2, 8, 5),),
)
block("Sampling at predicted offsets", Deformed, images)
block(
    "Super resolution with pixel shuffle",
    lambda: nn.Sequential(
        nn.Conv2d(8, 16, 3, padding=1), nn.PixelShuffle(2), nn.PReLU(4), nn.PixelUnshuffle(2)
    ),
    images,
)
block(
    "3d convolution stem",
    lambda: nn.Sequential(
        nn.Conv3d(2, 4, 3, padding=1), nn.BatchNorm3d(4), nn.ReLU(), nn.MaxPool3d(2), nn.AdaptiveAvgPool3d(1)
    ),
    lambda: images(1, 2, 4, 4, 4),
)
block(
    "Padding of each kind",
    lambda: nn.Sequential(
        nn.ReflectionPad2d(1),
        nn.ReplicationPad2d((1, 0, 2, 1)),
        nn.CircularPad2d(1),
        nn.ZeroPad2d(1),
        nn.ConstantPad2d(1, 0.5),
    ),
    images,
)
block(
    "Convolution with dynamic rows",
    lambda: nn.Sequential(conv(8, 4, act=nn.SiLU()), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)),
    images,
    is_dynamic=True,
)
block("Max pooling with indices and back", lambda: _Unpooling(), images)
block("Lp and soft pooling", lambda: nn.Sequential(nn.LPPool2d(2, 2), nn.Softmax2d()), images)
block(
    "Ghost module",
    lambda: Parallel(conv(8, 4, 1, act=nn.ReLU()), nn.Sequential(conv(8, 4, 1), conv(4, 4, groups=4))),
    images,
)
block("Coordinate attention", lambda: _Coordinates(), images)
block("Spatial attention (CBAM)", lambda: _Spatial(), images)
block("Weight-standardized convolution", lambda: _Standardized(), images)
block("Global response norm (ConvNeXt V2)", lambda: _GlobalResponse(), images)
block("MaxViT grid", lambda: _Grid(), images)
block("Focal stem (YOLO)", lambda: _Focus(), images)
block("Fractional max pooling", lambda: nn.FractionalMaxPool2d(2, output_size=4), images, is_random=True)
function("Batch of crops by index", lambda x: torch.stack([x[0, :, 1:5, 2:6], x[1, :, 3:7, 0:4]]), images)
function(
    "Total variation and moments",
    lambda x: (x.diff(dim=-1).abs().mean(), torch.std_mean(x, (2, 3)), x.var(1)),
    images,
)


class _Unpooling(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pool, self.back = nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.back(*self.pool(x))


class _Coordinates(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.rows, self.columns = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 8, 1), nn.Conv2d(4, 8, 1)

    def forward(self, x: Tensor) -> Tensor:
        rows = F.adaptive_avg_pool2d(x, (None, 1))
        columns = F.adaptive_avg_pool2d(x, (1, None)).permute(0, 1, 3, 2)
        rows, columns = F.hardswish(self.first(torch.cat([rows, columns], 2))).split([8, 8], 2)
        return x * self.rows(rows).sigmoid() * self.columns(columns.permute(0, 1, 3, 2)).sigmoid()


class _Spatial(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Conv2d(2, 1, 7, padding=3)

    def forward(self, x: Tensor) -> Tensor:
        pooled = torch.cat([x.mean(1, keepdim=True), x.max(1, keepdim=True).values], 1)
        return x * self.gate(pooled).sigmoid() * F.adaptive_max_pool2d(x, 1).sigmoid()


class _Standardized(nn.Conv2d):
    def __init__(self) -> None:
        super().__init__(8, 4, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        variance, mean = torch.var_mean(self.weight, (1, 2, 3), keepdim=True, unbiased=False)
        return F.conv2d(x, (self.weight - mean) * torch.rsqrt(variance + 1e-5), self.bias, padding=1)


class _GlobalResponse(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        norm = torch.linalg.vector_norm(x, dim=(2, 3), keepdim=True)
        return x * (norm / (norm.mean(1, keepdim=True) + 1e-6)) + x


class _Grid(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.einsum(
            "bcihjw->bhwijc", x.unflatten(3, (2, 4)).unflatten(2, (2, 4)).transpose(3, 4).transpose(3, 4)
        )


class _Focus(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = conv(32, 8, act=nn.SiLU())

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(
            torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1)
        )
