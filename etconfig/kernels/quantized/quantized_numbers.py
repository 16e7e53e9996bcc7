"""The types of quantized numbers and the layouts of their parameters, for quantizing and dequantizing.

quantized = clamp(round(real / scale) + zero_point), real = (quantized - zero_point) * scale. A scale and
zero point belong to the whole tensor, or to each channel, each row (a token) or each group within a row.
Arguments that do not fit are refused as in `etconfig.kernel.checks`.
"""

from __future__ import annotations

import math

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import dimension, require, require_dtype, require_rank
from etconfig.kernel.memory import Array, Shape
from etconfig.kernel.tensor import DTYPES, Tensor

QUANTIZED = frozenset(
    {
        ScalarType.BYTE,
        ScalarType.CHAR,
        ScalarType.SHORT,
        ScalarType.INT,
        ScalarType.UINT16,
        ScalarType.BITS16,
    }
)
"""The types of quantized numbers."""


def require_quantized(name: str, tensor: Tensor, dtype: int) -> None:
    """Require quantized numbers in a tensor, of the ScalarType in the arguments of its operator."""
    require_dtype(name, tensor, QUANTIZED)
    noted = next((DTYPES[each] for each in ScalarType if each == dtype), None)
    require(noted == tensor.dtype, "{} is {}, but dtype says {}", name, tensor.dtype.name, dtype)


def element(name: str, tensor: Tensor) -> Array:
    """Return the one element of a tensor of any rank, as a view of shape ()."""
    require(tensor.array.size == 1, "{} must have one element, but has shape {}", name, tensor.shape)
    return tensor.array.reshape(())


def shaped(name: str, tensor: Tensor, shape: Shape) -> Array:
    """Return a view of a tensor that has as many elements as `shape`."""
    count = math.prod(shape)
    require(
        tensor.array.size == count, "{} must have {} elements, but has shape {}", name, count, tensor.shape
    )
    return tensor.array.reshape(shape)


def channel_shape(x: Tensor, axis: int) -> Shape:
    """Return the shape in which parameters (C,), one for each index of a dimension, broadcast to `x`."""
    axis = dimension(axis, x.array.ndim)
    return tuple(size if each == axis else 1 for each, size in enumerate(x.shape))


def token_shape(x: Tensor) -> Shape:
    """Return the shape in which parameters, one for each row, broadcast to `x`."""
    require(x.array.ndim >= 1, "input must have rows, but is a scalar")
    return (*x.shape[:-1], 1)


def group_shape(x: Tensor, group_size: int) -> Shape:
    """Return the shape of `x` (M, N) in groups: (M, N / group_size, group_size)."""
    require_rank("input", x, 2)
    rows, columns = x.shape
    require(
        group_size > 1 and columns % group_size == 0,
        "rows of {} elements cannot be split in groups of {}",
        columns,
        group_size,
    )
    return (rows, columns // group_size, group_size)
