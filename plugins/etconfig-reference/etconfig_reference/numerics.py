"""`Numerics`: the precision of a delegate's computations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from etconfig_reference.graph import DTYPES, FLOAT32, FLOATS, Array

if TYPE_CHECKING:
    from etconfig.plugin.v1 import Allocator


@dataclass(frozen=True, kw_only=True)
class Numerics:
    """The precision of a delegate's computations.

    float16 and bfloat16 are computed in float32, and each result is rounded once.

    Attributes:
        accumulate: The type in which sums of float32 are accumulated.
        rounds_to_half: Round weights and every result to float16.
        copies_constants: Copy every constant, so that nothing references the payload.
    """

    accumulate: np.dtype[Any] = FLOAT32
    rounds_to_half: bool = False
    copies_constants: bool = False

    def prepare_constant(self, constant: Array, allocator: Allocator) -> Array:
        """Return the constant as the operations need it: unchanged, or a converted copy."""
        if not self.copies(constant.dtype):
            return constant
        dtype = self.prepared_dtype(constant.dtype)
        memory = allocator.allocate(constant.size * dtype.itemsize)
        prepared: Array = np.ndarray(constant.shape, dtype, memory)
        np.copyto(prepared, constant)
        self.round(prepared, constant.dtype)
        return prepared

    def prepared_dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """Return the type in which the operations need constants of `dtype`."""
        return np.promote_types(self.accumulate, dtype) if dtype.name in FLOATS else dtype

    def copies(self, dtype: np.dtype[Any]) -> bool:
        """Return True if constants of `dtype` are copied, and not used where they are."""
        return self.rounds_to_half or self.copies_constants or self.prepared_dtype(dtype) != dtype

    def round(self, result: Array, dtype: np.dtype[Any]) -> None:
        """Round to `dtype` in place. A value beyond the range of float16 becomes infinite."""
        if self.rounds_to_half and dtype.name in FLOATS:
            dtype = DTYPES["float16"]
        if dtype != result.dtype:
            np.copyto(result, result.astype(dtype))
