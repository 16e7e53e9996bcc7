"""Single operators, against ExecuTorch without and with XNNPACK and against torch, on one thread.

Prints etconfig's time in microseconds, including copies of inputs and outputs, and its ratio to the
others' in the same rounds; less than 1 is faster. Needs the packages of `make test-peers`.

    python benchmarks/bench_kernels.py [NAME ...]     names of cases, or beginnings of them
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import partial

import torch
from peers import print_ratios, print_settings, runs_of, times_in_turns, use_one_thread
from torch import Tensor, nn

PEERS = ("portable", "xnnpack", "torch")


class Call(nn.Module):
    """A module that calls a function."""

    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self._function = function

    def forward(self, *inputs: Tensor) -> Tensor:
        return self._function(*inputs)


Case = tuple[nn.Module, tuple[tuple[int, ...], ...]]


def call(function: Callable[..., Tensor], *shapes: tuple[int, ...]) -> Case:
    return Call(function), shapes


def depthwise(images: int, channels: int, kernel: int, stride: int, size: int) -> Case:
    module = nn.Conv2d(channels, channels, kernel, stride, kernel // 2, groups=channels)
    return module, ((images, channels, size, size),)


CASES: dict[str, Case] = {
    "conv 3>32 3x3 s2 @224": (nn.Conv2d(3, 32, 3, 2, 1), ((1, 3, 224, 224),)),
    "conv 3>32 3x3 s2 @224 b8": (nn.Conv2d(3, 32, 3, 2, 1), ((8, 3, 224, 224),)),
    "conv 32>64 3x3 @56": (nn.Conv2d(32, 64, 3, 1, 1), ((1, 32, 56, 56),)),
    "conv 32>64 3x3 @56 b8": (nn.Conv2d(32, 64, 3, 1, 1), ((8, 32, 56, 56),)),
    "conv 64>128 3x3 s2 @56": (nn.Conv2d(64, 128, 3, 2, 1), ((1, 64, 56, 56),)),
    "conv 64>128 3x3 s2 @56 b8": (nn.Conv2d(64, 128, 3, 2, 1), ((8, 64, 56, 56),)),
    "conv 256>256 3x3 @14": (nn.Conv2d(256, 256, 3, 1, 1), ((1, 256, 14, 14),)),
    "conv 512>512 3x3 @7": (nn.Conv2d(512, 512, 3, 1, 1), ((1, 512, 7, 7),)),
    "conv 3>192 16x16 s16 @224": (nn.Conv2d(3, 192, 16, 16), ((1, 3, 224, 224),)),
    "conv 64>64 3x3 dilated @28": (nn.Conv2d(64, 64, 3, 1, 2, 2), ((1, 64, 28, 28),)),
    "conv 64>64 3x3 4 groups @28": (nn.Conv2d(64, 64, 3, 1, 1, groups=4), ((1, 64, 28, 28),)),
    "conv transposed 64>32 2x2 @28": (nn.ConvTranspose2d(64, 32, 2, 2), ((1, 64, 28, 28),)),
    "conv transposed 64>32 4x4 @28": (nn.ConvTranspose2d(64, 32, 4, 2, 1), ((1, 64, 28, 28),)),
    "conv 1d 80>384 3 @300": (nn.Conv1d(80, 384, 3, 1, 1), ((1, 80, 300),)),
    **{
        f"depthwise {channels} {kernel}x{kernel} s{stride} @{size}{' b8' * (images > 1)}": depthwise(
            images, channels, kernel, stride, size
        )
        for images in (1, 8)
        for channels, size in ((32, 112), (144, 56), (384, 14))
        for kernel in (3, 5)
        for stride in (1, 2)
    },
    "depthwise 960 3x3 s1 @7": depthwise(1, 960, 3, 1, 7),
    "depthwise 96 7x7 s1 @56": depthwise(1, 96, 7, 1, 56),
    "1x1 64>256 @28": (nn.Conv2d(64, 256, 1), ((1, 64, 28, 28),)),
    "1x1 64>256 @28 b8": (nn.Conv2d(64, 256, 1), ((8, 64, 28, 28),)),
    "1x1 960>160 @7": (nn.Conv2d(960, 160, 1), ((1, 960, 7, 7),)),
    "1x1 64>128 s2 @56": (nn.Conv2d(64, 128, 1, 2), ((1, 64, 56, 56),)),
    "linear 1x512>2048": (nn.Linear(512, 2048), ((1, 512),)),
    "linear 128x768>3072": (nn.Linear(768, 3072), ((128, 768),)),
    "linear 128x768>3072, no bias": (nn.Linear(768, 3072, bias=False), ((128, 768),)),
    "linear 128x512>512, no bias": (nn.Linear(512, 512, bias=False), ((128, 512),)),
    "linear 16x64>64": (nn.Linear(64, 64), ((16, 64),)),
    "linear 4x64x256>256": (nn.Linear(256, 256), ((4, 64, 256),)),
    "bmm 12x128x64x128": call(torch.bmm, (12, 128, 64), (12, 64, 128)),
    "softmax 12x128x128": call(partial(torch.softmax, dim=-1), (12, 128, 128)),
    "softmax 1x10": call(partial(torch.softmax, dim=-1), (1, 10)),
    "layer_norm 128x768": (nn.LayerNorm(768), ((128, 768),)),
    "gelu 128x3072": (nn.GELU(), ((128, 3072),)),
    "gelu tanh 128x3072": (nn.GELU("tanh"), ((128, 3072),)),
    "batch_norm 64 @56": (nn.BatchNorm2d(64), ((1, 64, 56, 56),)),
    "max_pool 3x3 s2 64 @112": (nn.MaxPool2d(3, 2, 1), ((1, 64, 112, 112),)),
    "avg_pool 2x2 s2 64 @56": (nn.AvgPool2d(2), ((1, 64, 56, 56),)),
    "mean 256 @28": call(partial(torch.mean, dim=(2, 3)), (1, 256, 28, 28)),
    "mean last 128x768": call(partial(torch.mean, dim=-1), (128, 768)),
    "nearest x2 64 @28": (nn.Upsample(scale_factor=2), ((1, 64, 28, 28),)),
    "bilinear x2 64 @28": (nn.Upsample(scale_factor=2, mode="bilinear"), ((1, 64, 28, 28),)),
    "relu 64 @56": (nn.ReLU(), ((1, 64, 56, 56),)),
    "hardswish 64 @56": (nn.Hardswish(), ((1, 64, 56, 56),)),
    "sigmoid 64 @56": (nn.Sigmoid(), ((1, 64, 56, 56),)),
    "silu 64 @56": (nn.SiLU(), ((1, 64, 56, 56),)),
    "tanh 64 @56": (nn.Tanh(), ((1, 64, 56, 56),)),
    "add 64 @56": call(torch.add, (1, 64, 56, 56), (1, 64, 56, 56)),
    "permute 12x128x64": call(lambda x: x.permute(1, 0, 2), (12, 128, 64)),
    "cat 2x 64 @56": call(lambda x, y: torch.cat((x, y), 1), (1, 64, 56, 56), (1, 64, 56, 56)),
    "embedding 128 of 30522x768": (nn.Embedding(30522, 768), ((128,),)),
}
"""A module and the shapes of its inputs; one-dimensional inputs are indices below 1,000."""


def inputs_of(shapes: tuple[tuple[int, ...], ...]) -> list[Tensor]:
    return [torch.randint(1000, shape) if len(shape) == 1 else torch.randn(shape) for shape in shapes]


def main() -> None:
    use_one_thread()
    torch.manual_seed(0)
    warnings.simplefilter("ignore")  # torch's own, while it exports
    print_settings()
    print(f"{'case':<34}{'etconfig us':>11}" + "".join(f"{'/' + name:>12}" for name in PEERS))
    for label, (module, shapes) in CASES.items():
        if label.startswith(tuple(sys.argv[1:]) or ""):
            print_ratios(PEERS, label, times_in_turns(runs_of(module, inputs_of(shapes))))


if __name__ == "__main__":
    main()
