"""The operations of the device, with the shape of their results.

Both halves use them: the ahead-of-time half decides what to delegate, the runtime half verifies
payloads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

Shape: TypeAlias = "tuple[int, ...]"
"""The sizes of a float32 tensor, the outermost first."""


def _same(x: Shape) -> Shape:
    return x


def _broadcast(x: Shape, y: Shape) -> Shape:
    return np.broadcast_shapes(x, y)


def _linear(x: Shape, weight: Shape, bias: Shape | None = None) -> Shape:
    if not x or len(weight) != 2 or x[-1] != weight[1]:
        raise ValueError(f"linear cannot multiply {x} with a weight of {weight}")
    if bias not in (None, weight[:1]):
        raise ValueError(f"linear with a weight of {weight} cannot add a bias of {bias}")
    return (*x[:-1], weight[0])


_SHAPES: Mapping[str, Callable[..., Shape]] = {
    "add": _broadcast,
    "linear": _linear,
    "mul": _broadcast,
    "relu": _same,
    "sub": _broadcast,
}


def shape_of_result(name: str, shapes: list[Shape]) -> Shape:
    """Return the shape of the result of operation `name` for inputs with these shapes.

    Raises:
        ValueError: there is no such operation, or it does not accept such inputs.
    """
    if name not in _SHAPES:
        raise ValueError(f"there is no operation {name!r}, only {', '.join(_SHAPES)}")
    try:
        return _SHAPES[name](*shapes)
    except TypeError:
        raise ValueError(f"{name} does not take {len(shapes)} inputs") from None
