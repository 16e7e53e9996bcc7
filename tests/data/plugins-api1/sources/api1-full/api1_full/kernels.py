"""Kernels of its own."""

from __future__ import annotations

from functools import partial

import numpy as np

from etconfig.plugin.v1 import ScalarType
from etconfig.plugin.v1_kernels import (
    KernelTable,
    Scalar,
    Scratch,
    Step,
    Tensor,
    broadcast_shape,
    kernel,
    promote,
    require,
    require_dtype,
    require_floating,
    require_same_dtype,
)


@kernel("api1::clip.out", is_uniform=True, takes_any_strides=True, allows_overlap=True)
def clip_out(self: Tensor, low: Scalar, out: Tensor) -> Step:
    """max(self, low)."""
    require_floating("self", self)
    require_same_dtype(self=self, out=out)
    require_dtype("out", out, [ScalarType.FLOAT])
    out.resize(self.shape)
    return partial(np.maximum, self.array, low, out=out.array)


@kernel("api1::sum.out")
def sum_out(self: Tensor, other: Tensor, out: Tensor, *, scratch: Scratch) -> Step:
    """self + other, by way of scratch memory."""
    shape = broadcast_shape(self.shape, other.shape)
    require(shape == out.shape, "the output has another shape")
    memory = scratch.array(shape, promote(self.dtype, other.dtype))

    def step() -> None:
        np.add(self.array, other.array, out=memory)
        np.copyto(out.array, memory)

    return step


TABLE = KernelTable.of_module(globals())
