"""The graph of a delegate, as the payload stores it: operations on numbered values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

Shape: TypeAlias = tuple[int, ...]
"""Sizes by dimension, outermost first."""

Array: TypeAlias = npt.NDArray[Any]
"""An array of one of `DTYPES`."""

Attributes: TypeAlias = Mapping[str, tuple[int, ...]]
"""An operation's settings: integers under a name, such as `{"stride": (2, 2)}`."""

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)

FLOATS: Mapping[str, np.dtype[Any]] = {
    "float32": FLOAT32,
    "float64": FLOAT64,
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
"""Floating-point types by name."""

INTEGERS: Mapping[str, np.dtype[Any]] = {name: np.dtype(name) for name in ("int8", "uint8", "int32", "int64")}
"""Integer types by name."""

DTYPES: Mapping[str, np.dtype[Any]] = {**FLOATS, **INTEGERS, "bool": np.dtype(np.bool_)}
"""Every type that a value can have."""


def computed_dtype(dtype: str) -> np.dtype[Any]:
    """Return the type that values of `dtype` have inside a delegate: float32 for the half types."""
    return np.promote_types(DTYPES[dtype], FLOAT32) if dtype in FLOATS else DTYPES[dtype]


@dataclass(frozen=True, kw_only=True)
class ValueType:
    """The type of a value, as known ahead of time.

    Attributes:
        shape: Its sizes; the largest ones of dynamic dimensions.
        dtype: The name of its type in `DTYPES`. A value of rank 0 may be passed as a number.
        dynamic: The dimensions that may be smaller.
    """

    shape: Shape
    dtype: str = "float32"
    dynamic: tuple[int, ...] = ()

    def admits(self, shape: Shape) -> bool:
        """Check whether a tensor of this shape can be such a value."""
        return len(shape) == len(self.shape) and all(
            size == most or (size < most and dim in self.dynamic)
            for dim, (size, most) in enumerate(zip(shape, self.shape, strict=True))
        )

    def __str__(self) -> str:
        sizes = [f"up to {size}" if dim in self.dynamic else str(size) for dim, size in enumerate(self.shape)]
        return f"{self.dtype} ({', '.join(sizes)}{',' * (len(sizes) == 1)})"


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One step: `values[output] = name(*values[inputs], **attributes)`."""

    name: str
    inputs: tuple[int, ...]
    output: int
    attributes: Attributes


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Operations on numbered values, in execution order.

    Attributes:
        values: The type of every value; its index identifies the value.
        inputs: Values that the caller passes, in order.
        outputs: Values that the caller receives, in order.
        constants: Values that are part of the program, as read-only arrays.
        operations: The operations that compute all other values.
    """

    values: tuple[ValueType, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    constants: Mapping[int, Array]
    operations: tuple[Operation, ...]
