"""Softmax and its logarithm."""

from __future__ import annotations

import numpy as np

from etconfig.kernel.checks import dimension, require_floating
from etconfig.kernel.memory import Array, Scratch, Shape
from etconfig.kernel.registry import KernelTable, Step, kernel
from etconfig.kernel.step_makers import computation_dtype, in_dtype, in_sequence
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.kernels.reduction import sum_step

INTP = np.dtype(np.intp)


@kernel("aten::_softmax.out")
def softmax(self: Tensor, dim: int, half_to_float: bool, out: Tensor, *, scratch: Scratch) -> Step:
    """Compute exp(x - max) / sum(exp(x - max)) along `dim`. Shapes: self (*S), out (*S). Dtypes: floating.

    `half_to_float`, float32 results of a float16 self, adds nothing to out's own dtype.
    """
    axis = _prepare(self, dim, out)

    def passes(x: Array, out: Array) -> Step:
        x, out = np.atleast_1d(x, out)
        if x.size == 0:
            return in_sequence()
        reduced = _reduced(x, axis)
        row, places = scratch.arrays((reduced, x.dtype), (reduced, INTP))
        return in_sequence(
            _max_step(x, axis, row, places),
            ArrayCall(np.subtract, x, row, out),
            ArrayCall(np.exp, out, out),
            sum_step(out, (axis,), row),
            ArrayCall(np.divide, out, row, out),
        )

    return in_dtype(computation_dtype(out.dtype), (self.array,), out.array, passes, scratch)


@kernel("aten::_log_softmax.out")
def log_softmax(self: Tensor, dim: int, half_to_float: bool, out: Tensor, *, scratch: Scratch) -> Step:
    """Compute x - max - log(sum(exp(x - max))), the logarithm of softmax, with its shapes and dtypes."""
    axis = _prepare(self, dim, out)

    def passes(x: Array, out: Array) -> Step:
        x, out = np.atleast_1d(x, out)
        if x.size == 0:
            return in_sequence()
        reduced = _reduced(x, axis)
        row, places, exponentials = scratch.arrays((reduced, x.dtype), (reduced, INTP), (x.shape, x.dtype))
        return in_sequence(
            _max_step(x, axis, row, places),
            ArrayCall(np.subtract, x, row, out),
            ArrayCall(np.exp, out, exponentials),
            sum_step(exponentials, (axis,), row),
            ArrayCall(np.log, row, row),
            ArrayCall(np.subtract, out, row, out),
        )

    return in_dtype(computation_dtype(out.dtype), (self.array,), out.array, passes, scratch)


def _prepare(self: Tensor, dim: int, out: Tensor) -> int:
    require_floating("self", self)
    require_floating("out", out)
    out.resize(self.shape)
    return dimension(dim, self.array.ndim)


def _max_step(x: Array, axis: int, out: Array, places: Array) -> Step:
    """Return the step that writes the largest elements along `axis` to `out`; NaN is the largest.

    It may write `places`, too: for several dense rows, numpy finds the places of the largest elements in
    a third of the time that it takes for the elements themselves.
    """
    if axis < x.ndim - 1 or out.size == 1 or not x.flags.c_contiguous:
        return ArrayCall(np.maximum.reduce, x, axis, None, out, True)
    rows, values, found = x.reshape(-1, x.shape[-1]), x.reshape(-1), places.reshape(-1)
    starts = np.arange(0, x.size, rows.shape[1], dtype=INTP)
    return in_sequence(
        ArrayCall(np.ndarray.argmax, rows, 1, found),
        ArrayCall(np.add, found, starts, found),
        ArrayCall(np.ndarray.take, values, found, None, out.reshape(-1), "clip"),
    )


def _reduced(x: Array, axis: int) -> Shape:
    return (*x.shape[:axis], 1, *x.shape[axis + 1 :])


KERNELS = KernelTable.of_module(globals())
