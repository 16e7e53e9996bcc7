"""Scalar types and dim orders, with the numbers and names of ExecuTorch's schema/scalar_type.fbs.

Every room may use them: this module imports no numpy.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

MAX_RANK = 16
"""The largest number of dimensions of a tensor. Source: kTensorDimensionLimit, tensor_dimension_limit.h."""


class ScalarType(enum.IntEnum):
    """The type of one element. Source: executorch schema/scalar_type.fbs."""

    BYTE = 0
    CHAR = 1
    SHORT = 2
    INT = 3
    LONG = 4
    HALF = 5
    FLOAT = 6
    DOUBLE = 7
    COMPLEX64 = 9
    COMPLEX128 = 10
    BOOL = 11
    QINT8 = 12
    QUINT8 = 13
    QINT32 = 14
    BFLOAT16 = 15
    QUINT4X2 = 16
    QUINT2X4 = 17
    BITS16 = 22
    FLOAT8E5M2 = 23
    FLOAT8E4M3FN = 24
    FLOAT8E5M2FNUZ = 25
    FLOAT8E4M3FNUZ = 26
    UINT16 = 27
    UINT32 = 28
    UINT64 = 29

    @property
    def itemsize_bytes(self) -> int:
        """The size of one element in memory."""
        return _ITEMSIZE_BYTES[self]

    @property
    def dtype_name(self) -> str:
        """The name in numpy (with ml_dtypes) and torch, such as `float32`."""
        return _DTYPE_NAMES.get(self, self.name.lower())


_DTYPE_NAMES = {
    ScalarType.BYTE: "uint8",
    ScalarType.CHAR: "int8",
    ScalarType.SHORT: "int16",
    ScalarType.INT: "int32",
    ScalarType.LONG: "int64",
    ScalarType.HALF: "float16",
    ScalarType.FLOAT: "float32",
    ScalarType.DOUBLE: "float64",
    ScalarType.COMPLEX64: "complex64",
    ScalarType.COMPLEX128: "complex128",
    ScalarType.BOOL: "bool",
    ScalarType.BFLOAT16: "bfloat16",
    ScalarType.UINT16: "uint16",
    ScalarType.UINT32: "uint32",
    ScalarType.UINT64: "uint64",
}

_ITEMSIZE_BYTES = {
    ScalarType.BYTE: 1,
    ScalarType.CHAR: 1,
    ScalarType.SHORT: 2,
    ScalarType.INT: 4,
    ScalarType.LONG: 8,
    ScalarType.HALF: 2,
    ScalarType.FLOAT: 4,
    ScalarType.DOUBLE: 8,
    ScalarType.COMPLEX64: 8,
    ScalarType.COMPLEX128: 16,
    ScalarType.BOOL: 1,
    ScalarType.QINT8: 1,
    ScalarType.QUINT8: 1,
    ScalarType.QINT32: 4,
    ScalarType.BFLOAT16: 2,
    ScalarType.QUINT4X2: 1,
    ScalarType.QUINT2X4: 1,
    ScalarType.BITS16: 2,
    ScalarType.FLOAT8E5M2: 1,
    ScalarType.FLOAT8E4M3FN: 1,
    ScalarType.FLOAT8E5M2FNUZ: 1,
    ScalarType.FLOAT8E4M3FNUZ: 1,
    ScalarType.UINT16: 2,
    ScalarType.UINT32: 4,
    ScalarType.UINT64: 8,
}


def is_permutation(dim_order: Sequence[int]) -> bool:
    """True if `dim_order` contains each of its positions exactly once."""
    return sorted(dim_order) == list(range(len(dim_order)))


def strides_of(sizes: Sequence[int], dim_order: Sequence[int], itemsize_bytes: int) -> tuple[int, ...]:
    """Return the byte strides of a dense tensor laid out in `dim_order` (outermost dimension first).

    A dimension of size 0 counts as 1, as in ExecuTorch's `dim_order_to_stride`.
    """
    strides = [0] * len(sizes)
    step = itemsize_bytes
    for dim in reversed(dim_order):
        strides[dim] = step
        step *= max(sizes[dim], 1)
    return tuple(strides)
