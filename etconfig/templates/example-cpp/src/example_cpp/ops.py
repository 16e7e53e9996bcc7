"""The operations of the library, with their numbers in payloads and the shapes of their results.

`native/graph.cpp` computes the same shapes, and refuses payloads that do not have them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

Shape: TypeAlias = "tuple[int, ...]"
"""The sizes of a float32 tensor, the outermost first."""

NUMBERS: Mapping[str, int] = {"add": 0, "linear": 1, "mul": 2, "relu": 3, "sub": 4}
"""The number of each operation: `enum Operation` in `native/graph.h`."""


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
        ValueError: the operation does not accept such inputs.
    """
    try:
        return _SHAPES[name](*shapes)
    except TypeError:
        raise ValueError(f"{name} does not take {len(shapes)} inputs") from None
