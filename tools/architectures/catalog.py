"""The architectures, with their sizes and inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from architectures.convolutional import ConvNeXt, MobileNetV2, ResNet, UNet
from architectures.language import T5, Bert, Gpt2, Llama
from architectures.perception import Lstm, SegFormer, ViT, WhisperEncoder

SIZES = ("tiny", "small", "full")
"""Files of less than 300 kB; of a few MB; as published."""

Axes: TypeAlias = Mapping[str, int]
"""Sizes of inputs by name, such as `height`."""

Inputs: TypeAlias = tuple[Tensor, ...]


@dataclass(frozen=True)
class Size:
    """The arguments of the module, and the sizes of its inputs."""

    options: Mapping[str, Any]
    axes: Axes


@dataclass(frozen=True)
class Architecture:
    """A module, and how to call it.

    Attributes:
        module: Makes the module from the options of a size.
        sizes: The size for each name of SIZES.
        inputs: Makes the inputs of a call from the options, the sizes of its inputs, and their sizes in
            each earlier call.
        varying: The axis of each dimension that may vary, by input.
        multiples: The number of which the size of a varying axis must be a multiple, if not 1.
        takes_channels_last: True if the exported program gives PyTorch's results for channels-last images.
            ExecuTorch views or permutes such tensors as if they were contiguous, or refuses to.
    """

    module: Callable[..., nn.Module]
    sizes: Mapping[str, Size]
    inputs: Callable[[Mapping[str, Any], Axes, Sequence[Axes]], Inputs]
    varying: tuple[Mapping[int, str], ...]
    multiples: Mapping[str, int] = field(default_factory=dict)
    takes_channels_last: bool = False


def _image(_options: Mapping[str, Any], axes: Axes, _before: Sequence[Axes]) -> Inputs:
    return (torch.randn(axes["batch"], 3, axes["height"], axes["width"]),)


def _ids(options: Mapping[str, Any], *shape: int) -> Tensor:
    return torch.randint(options["vocabulary"], shape)


def _bert_inputs(options: Mapping[str, Any], axes: Axes, _before: Sequence[Axes]) -> Inputs:
    shape = axes["batch"], axes["length"]
    kept = torch.arange(shape[1]) < max(1, shape[1] - 2)
    return _ids(options, *shape), kept.long().repeat(shape[0], 1), torch.randint(2, shape)


def _gpt2_inputs(options: Mapping[str, Any], axes: Axes, _before: Sequence[Axes]) -> Inputs:
    return (_ids(options, axes["batch"], axes["length"]),)


def _llama_inputs(options: Mapping[str, Any], axes: Axes, before: Sequence[Axes]) -> Inputs:
    start = sum(each["length"] for each in before)
    return _ids(options, 1, axes["length"]), torch.arange(start, start + axes["length"])


def _t5_inputs(options: Mapping[str, Any], axes: Axes, _before: Sequence[Axes]) -> Inputs:
    return _ids(options, axes["batch"], axes["source"]), _ids(options, axes["batch"], axes["decoded"])


def _whisper_inputs(options: Mapping[str, Any], axes: Axes, _before: Sequence[Axes]) -> Inputs:
    return (torch.randn(axes["batch"], options["mels"], axes["frames"]),)


def _lstm_inputs(options: Mapping[str, Any], axes: Axes, _before: Sequence[Axes]) -> Inputs:
    return (torch.randn(axes["batch"], axes["frames"], options["inputs"]),)


def _images(batch: int, *sides: int) -> dict[str, Axes]:
    """Return square images, with one side for each of SIZES."""
    return {
        size: {"batch": batch, "height": side, "width": side} for size, side in zip(SIZES, sides, strict=True)
    }


def _sized(options: Mapping[str, Mapping[str, Any]], axes: Mapping[str, Axes]) -> dict[str, Size]:
    return {size: Size(options[size], axes[size]) for size in SIZES}


def _convolutional(
    module: Callable[..., nn.Module], sides: tuple[int, int, int], step: int, **options: Mapping[str, Any]
) -> Architecture:
    """Return an architecture for images whose sides are multiples of `step`."""
    return Architecture(
        module,
        _sized(options, _images(1, *sides)),
        _image,
        ({2: "height", 3: "width"},),
        {"height": step, "width": step},
        takes_channels_last=True,
    )


MOBILENET_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)

ARCHITECTURES: Mapping[str, Architecture] = {
    "bert": Architecture(
        Bert,
        _sized(
            {
                "tiny": {"vocabulary": 100, "positions": 16, "width": 32, "layers": 2, "heads": 4},
                "small": {"vocabulary": 1000, "positions": 128, "width": 128, "layers": 4, "heads": 4},
                "full": {"vocabulary": 30522, "positions": 512, "width": 768, "layers": 12, "heads": 12},
            },
            {
                "tiny": {"batch": 2, "length": 9},
                "small": {"batch": 1, "length": 64},
                "full": {"batch": 1, "length": 128},
            },
        ),
        _bert_inputs,
        ({1: "length"},) * 3,
    ),
    "gpt2": Architecture(
        Gpt2,
        _sized(
            {
                "tiny": {"vocabulary": 100, "positions": 16, "width": 32, "layers": 2, "heads": 4},
                "small": {"vocabulary": 1000, "positions": 128, "width": 128, "layers": 4, "heads": 4},
                "full": {"vocabulary": 50257, "positions": 1024, "width": 768, "layers": 12, "heads": 12},
            },
            {
                "tiny": {"batch": 2, "length": 9},
                "small": {"batch": 1, "length": 64},
                "full": {"batch": 1, "length": 128},
            },
        ),
        _gpt2_inputs,
        ({1: "length"},),
    ),
    "llama": Architecture(
        Llama,
        _sized(
            {
                "tiny": {
                    "vocabulary": 100,
                    "context": 16,
                    "width": 32,
                    "layers": 2,
                    "heads": 4,
                    "cached_heads": 2,
                    "hidden": 48,
                },
                "small": {
                    "vocabulary": 1000,
                    "context": 64,
                    "width": 128,
                    "layers": 4,
                    "heads": 8,
                    "cached_heads": 4,
                    "hidden": 344,
                },
                "full": {
                    "vocabulary": 32000,
                    "context": 256,
                    "width": 288,
                    "layers": 6,
                    "heads": 6,
                    "cached_heads": 6,
                    "hidden": 768,
                },
            },
            {"tiny": {"length": 4}, "small": {"length": 8}, "full": {"length": 32}},
        ),
        _llama_inputs,
        ({1: "length"}, {0: "length"}),
    ),
    "t5": Architecture(
        T5,
        _sized(
            {
                "tiny": {"vocabulary": 100, "width": 32, "layers": 1, "heads": 4},
                "small": {"vocabulary": 1000, "width": 128, "layers": 2, "heads": 4},
                "full": {"vocabulary": 32128, "width": 512, "layers": 6, "heads": 8},
            },
            {
                "tiny": {"batch": 1, "source": 9, "decoded": 5},
                "small": {"batch": 1, "source": 64, "decoded": 16},
                "full": {"batch": 1, "source": 128, "decoded": 32},
            },
        ),
        _t5_inputs,
        ({1: "source"}, {1: "decoded"}),
    ),
    "vit": Architecture(
        ViT,
        _sized(
            {
                "tiny": {"size": 16, "patch": 4, "width": 32, "layers": 2, "heads": 4, "classes": 10},
                "small": {"size": 64, "patch": 8, "width": 96, "layers": 4, "heads": 3, "classes": 10},
                "full": {"size": 224, "patch": 16, "width": 384, "layers": 12, "heads": 6, "classes": 1000},
            },
            _images(2, 16, 64, 224),
        ),
        _image,
        ({0: "batch"},),
    ),
    "segformer": Architecture(
        SegFormer,
        _sized(
            {
                "tiny": {
                    "widths": (8, 16, 16, 24),
                    "depths": (1, 1, 1, 1),
                    "heads": (1, 2, 2, 3),
                    "reductions": (8, 4, 2, 1),
                    "decoder": 16,
                    "classes": 5,
                },
                "small": {
                    "widths": (16, 32, 64, 96),
                    "depths": (1, 1, 1, 1),
                    "heads": (1, 2, 4, 6),
                    "reductions": (8, 4, 2, 1),
                    "decoder": 64,
                    "classes": 19,
                },
                "full": {
                    "widths": (32, 64, 160, 256),
                    "depths": (2, 2, 2, 2),
                    "heads": (1, 2, 5, 8),
                    "reductions": (8, 4, 2, 1),
                    "decoder": 256,
                    "classes": 150,
                },
            },
            _images(1, 64, 96, 224),
        ),
        _image,
        ({2: "height", 3: "width"},),
        {"height": 32, "width": 32},
    ),
    "resnet": _convolutional(
        ResNet,
        (64, 64, 224),
        32,
        tiny={"width": 4, "depths": (1, 1, 1, 1), "classes": 10},
        small={"width": 16, "depths": (2, 2, 2, 2), "classes": 100},
        full={"width": 64, "depths": (2, 2, 2, 2), "classes": 1000},
    ),
    "mobilenet_v2": _convolutional(
        MobileNetV2,
        (64, 64, 224),
        32,
        tiny={
            "stem": 8,
            "stages": ((1, 8, 1, 1), (6, 8, 2, 2), (6, 12, 2, 2), (6, 16, 1, 2), (6, 24, 1, 2)),
            "last": 48,
            "classes": 10,
        },
        small={"stem": 16, "stages": MOBILENET_STAGES[:5], "last": 320, "classes": 100},
        full={"stem": 32, "stages": MOBILENET_STAGES, "last": 1280, "classes": 1000},
    ),
    "convnext": Architecture(
        ConvNeXt,
        _sized(
            {
                "tiny": {"widths": (8, 12, 16, 24), "depths": (1, 1, 1, 1), "classes": 10},
                "small": {"widths": (24, 48, 96, 192), "depths": (1, 1, 3, 1), "classes": 100},
                "full": {"widths": (96, 192, 384, 768), "depths": (3, 3, 9, 3), "classes": 1000},
            },
            _images(2, 64, 64, 224),
        ),
        _image,
        ({0: "batch"},),
    ),
    "unet": _convolutional(
        UNet,
        (32, 64, 256),
        8,
        tiny={"widths": (4, 8, 12, 16), "classes": 3},
        small={"widths": (8, 16, 32, 64), "classes": 3},
        full={"widths": (64, 128, 256, 512), "classes": 3},
    ),
    "whisper_encoder": Architecture(
        WhisperEncoder,
        _sized(
            {
                "tiny": {"mels": 8, "context": 16, "width": 32, "layers": 2, "heads": 4},
                "small": {"mels": 80, "context": 100, "width": 128, "layers": 2, "heads": 4},
                "full": {"mels": 80, "context": 1500, "width": 384, "layers": 4, "heads": 6},
            },
            {
                "tiny": {"batch": 1, "frames": 32},
                "small": {"batch": 1, "frames": 200},
                "full": {"batch": 1, "frames": 3000},
            },
        ),
        _whisper_inputs,
        ({2: "frames"},),
        {"frames": 2},
    ),
    "lstm": Architecture(
        Lstm,
        _sized(
            {
                "tiny": {"inputs": 8, "hidden": 16, "layers": 2, "classes": 5},
                "small": {"inputs": 40, "hidden": 64, "layers": 2, "classes": 30},
                "full": {"inputs": 80, "hidden": 256, "layers": 2, "classes": 30},
            },
            {
                "tiny": {"batch": 2, "frames": 6},
                "small": {"batch": 2, "frames": 20},
                "full": {"batch": 2, "frames": 100},
            },
        ),
        _lstm_inputs,
        ({0: "batch"},),
    ),
}
"""The architectures, by name."""
