"""Checks of shapes, dimensions and dtypes. A failed check raises ValueError.

The core turns that into a KernelArgumentError that names the operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.memory import Shape
from etconfig.kernel.tensor import Tensor

FLOATING = frozenset({ScalarType.HALF, ScalarType.BFLOAT16, ScalarType.FLOAT, ScalarType.DOUBLE})
"""The floating-point types that kernels compute with."""


def require(condition: bool, detail: str, *values: object) -> None:
    """Refuse the arguments unless `condition` holds.

    Args:
        condition: Must be true.
        detail: A sentence about what is wrong, with a pair of braces for each of the values.
        values: The values to fill in, such as shapes. They are formatted only when the check fails, since
            formatting a shape takes longer than checking it.
    """
    if not condition:
        raise ValueError(detail.format(*values) if values else detail)


def require_same_dtype(**tensors: Tensor | None) -> None:
    """Require that the tensors, by name, have one dtype; None is ignored."""
    if len({tensor.dtype for tensor in tensors.values() if tensor is not None}) > 1:
        present = {name: tensor.dtype for name, tensor in tensors.items() if tensor is not None}
        described = ", ".join(f"{name} is {dtype.name}" for name, dtype in present.items())
        raise ValueError(f"dtypes must be equal, but {described}")


def require_dtype(name: str, tensor: Tensor, allowed: Iterable[ScalarType]) -> None:
    """Require that the tensor has one of the allowed types."""
    if tensor.scalar_type not in allowed:
        names = ", ".join(sorted(each.dtype_name for each in allowed))
        raise ValueError(f"{name} must be one of {names}, but is {tensor.dtype.name}")


def require_floating(name: str, tensor: Tensor) -> None:
    """Require that the tensor has a floating-point type."""
    require_dtype(name, tensor, FLOATING)


def require_rank(name: str, tensor: Tensor, *ranks: int) -> None:
    """Require that the tensor has one of the ranks."""
    if tensor.array.ndim not in ranks:
        expected = " or ".join(map(str, ranks))
        raise ValueError(f"{name} must have rank {expected}, but has shape {tensor.shape}")


def dimension(index: int, rank: int) -> int:
    """Return a dimension counted from the front; as in PyTorch, a scalar has dimensions 0 and -1."""
    count = rank or 1
    if not -count <= index < count:
        raise ValueError(f"dimension {index} is out of range for rank {rank}")
    return index % count


def dimensions(indices: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Return dimensions counted from the front, without repetition; no indices mean all dimensions."""
    if not indices:
        return tuple(range(rank))
    found = tuple([dimension(index, rank) for index in indices])
    if len({*found}) != len(found):
        raise ValueError(f"dimensions {tuple(indices)} repeat one")
    return found if rank else ()


def broadcast_shape(*shapes: Shape) -> Shape:
    """Return the shape that all of them broadcast to."""
    first = shapes[0]
    if shapes.count(first) == len(shapes):
        return first
    sizes = [1] * max(map(len, shapes))
    for shape in shapes:
        for axis, size in enumerate(shape, len(sizes) - len(shape)):
            if sizes[axis] == 1:
                sizes[axis] = size
            elif size not in (1, sizes[axis]):
                raise ValueError(f"shapes {' and '.join(map(str, shapes))} do not broadcast")
    return tuple(sizes)


def promote(first: np.dtype[Any], second: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which PyTorch computes with two tensors of rank one or more.

    A floating type beats every integer; float16 with bfloat16 gives float32. Otherwise
    numpy agrees. Source: c10/core/ScalarType.cpp, promoteTypes.
    """
    if first == second:
        return first
    if is_floating(first) != is_floating(second):
        return first if is_floating(first) else second
    if first.itemsize == second.itemsize == 2 and is_floating(first):
        return np.dtype(np.float32)
    if is_floating(first):
        return first if first.itemsize > second.itemsize else second
    if "c" in (first.kind, second.kind):
        return np.result_type(*(each for each in (first, second) if each.kind in "cf"))
    promoted = np.promote_types(first, second)
    require(not is_floating(promoted), "{} and {} have no common dtype", first.name, second.name)
    return promoted


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Return whether a dtype is floating; numpy reports kind V for the dtypes of ml_dtypes."""
    return dtype.kind in "fV"
