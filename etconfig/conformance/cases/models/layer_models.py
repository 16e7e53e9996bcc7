"""Cases with matrix products and weights: named data, several methods, several delegates."""

from __future__ import annotations

import torch
from torch import nn

from etconfig.conformance.cases.case import INPUTS, LARGE, OUTPUTS, ROWS
from etconfig.conformance.cases.models.case_model import CaseModel, MethodModel, forward, values, weights


class Matmul(nn.Module):
    """The product of two matrices."""

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Left @ right."""
        return left @ right


class TwoParts(nn.Module):
    """Two layers with an operation between them that is seldom delegated."""

    def __init__(self) -> None:
        super().__init__()
        self.first = linear_layer(4, 3, seed=31)
        self.second = linear_layer(3, 2, seed=33)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Both layers, with rounded running sums between them."""
        return self.second(torch.cumsum(self.first(x), dim=1).round())


def linear_layer(inputs: int, outputs: int, *, seed: int) -> nn.Linear:
    """Return a layer with fixed weights."""
    layer = nn.Linear(inputs, outputs)
    with torch.no_grad():
        layer.weight.copy_(weights(outputs, inputs, seed=seed))
        layer.bias.copy_(weights(outputs, seed=seed + 1))
    return layer.eval()


def _convolution() -> nn.Conv2d:
    layer = nn.Conv2d(3, 2, kernel_size=2)
    with torch.no_grad():
        layer.weight.copy_(weights(2, 3, 2, 2, seed=21))
        layer.bias.copy_(weights(2, seed=22))
    return layer.eval()


def _image(seed: int) -> torch.Tensor:
    return values(1, 3, 4, 5, seed=seed).to(memory_format=torch.channels_last)


def _rows(module: nn.Module) -> MethodModel:
    return MethodModel(module=module, inputs=[(values(2, 4, seed=n),) for n in range(2)])


def large_model() -> CaseModel:
    """Return the model of the large case, whose answers are not stored."""
    return forward(
        LARGE, "a large layer", linear_layer(INPUTS, OUTPUTS, seed=41), (values(ROWS, INPUTS, seed=0),)
    )


def layer_cases() -> tuple[CaseModel, ...]:
    """Return the cases of this module, in the order of the report."""
    shared = linear_layer(4, 3, seed=25)
    return (
        forward(
            "linear",
            "a product with a constant weight, and a bias",
            linear_layer(4, 3, seed=1),
            *[(values(2, 4, seed=n),) for n in range(2)],
        ),
        forward(
            "matmul",
            "the product of two inputs",
            Matmul(),
            *[(values(2, 4, seed=n), weights(4, 3, seed=n + 10)) for n in range(2)],
        ),
        CaseModel(
            name="two_methods",
            doc="two methods of one signature with other weights",
            methods={"a": _rows(linear_layer(4, 3, seed=1)), "b": _rows(linear_layer(4, 3, seed=7))},
        ),
        CaseModel(
            name="shared_weights",
            doc="two methods with the same weights",
            methods={"plain": _rows(shared), "positive": _rows(nn.Sequential(shared, nn.ReLU()))},
        ),
        forward(
            "two_delegates",
            "two layers, with running sums between them that may stay outside of the delegates",
            TwoParts(),
            *[(values(2, 4, seed=n),) for n in range(2)],
        ),
        forward(
            "named_data",
            "a layer whose weights the vendor stores as named data",
            linear_layer(4, 3, seed=27),
            *[(values(2, 4, seed=n),) for n in range(2)],
            requires="uses_named_data",
        ),
        forward(
            "conv2d_channels_last",
            "a convolution of an image whose channels lie side by side",
            _convolution(),
            *[(_image(seed),) for seed in range(2)],
        ),
    )
