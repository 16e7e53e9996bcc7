"""Tensors made from numbers."""

from __future__ import annotations

import math

import numpy as np

from etconfig.kernel.checks import is_floating, require
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import Ints, KernelTable, Scalar, Step, kernel
from etconfig.kernel.step_makers import INT64, constant, copy_step
from etconfig.kernel.tensor import Tensor


def _fill(size: tuple[int, ...], value: Scalar, out: Tensor) -> Step:
    out.resize(size)
    return copy_step(out.array, constant(value, out.dtype))


@kernel("aten::full.out")
def full(size: Ints, fill_value: Scalar, out: Tensor) -> Step:
    """Fill a tensor with one value."""
    return _fill(size, fill_value, out)


@kernel("aten::full_like.out", is_elementwise=True)
def full_like(self: Tensor, fill_value: Scalar, memory_format: int | None, out: Tensor) -> Step:
    """Fill a tensor with one value, in the shape of `self`."""
    return _fill(self.shape, fill_value, out)


@kernel("aten::zeros.out")
def zeros(size: Ints, out: Tensor) -> Step:
    """Fill a tensor with zeros."""
    return _fill(size, 0, out)


@kernel("aten::ones.out")
def ones(size: Ints, out: Tensor) -> Step:
    """Fill a tensor with ones."""
    return _fill(size, 1, out)


@kernel("aten::empty.out")
def empty(size: Ints, memory_format: int | None, out: Tensor) -> Step:
    """Leave the contents open: zeros, so that runs can be repeated."""
    return _fill(size, 0, out)


@kernel("dim_order_ops::_empty_dim_order.out")
def empty_dim_order(size: Ints, dim_order: Ints | None, out: Tensor) -> Step:
    """Leave the contents open as `empty` does, in the dim order of `out`."""
    return _fill(size, 0, out)


@kernel("aten::scalar_tensor.out")
def scalar_tensor(s: Scalar, out: Tensor) -> Step:
    """Fill a tensor of rank 0."""
    return _fill((), s, out)


@kernel("aten::fill.Scalar_out")
def fill_scalar(self: Tensor, value: Scalar, out: Tensor) -> Step:
    """Fill a tensor with one value, in the shape of `self`."""
    return _fill(self.shape, value, out)


@kernel("aten::fill.Tensor_out")
def fill_tensor(self: Tensor, value: Tensor, out: Tensor) -> Step:
    """Fill a tensor with the value of a tensor of rank 0, in the shape of `self`."""
    require(value.array.size == 1, "value must have one element, but has shape {}", value.shape)
    out.resize(self.shape)
    return copy_step(out.array, value.array.reshape(()))


@kernel("aten::arange.out")
def arange(end: Scalar, out: Tensor) -> Step:
    """Count 0, 1, ... below `end`. Shapes: out (ceil(end),)."""
    return _count(0, end, 1, out)


@kernel("aten::arange.start_out")
def arange_start(start: Scalar, end: Scalar, step: Scalar, out: Tensor) -> Step:
    """Count start, start + step, ... before `end`. Shapes: out (ceil((end - start) / step),)."""
    return _count(start, end, step, out)


def _count(start: Scalar, end: Scalar, step: Scalar, out: Tensor) -> Step:
    if out.dtype == INT64:  # as in PyTorch, other integer types are counted in floats
        start, end, step = int(start), int(end), int(step)
    require(step != 0, "step must not be 0")
    count = math.ceil((end - start) / step)
    require(count >= 0, "{} cannot be reached from {} in steps of {}", end, start, step)
    out.resize((count,))
    if is_floating(out.dtype):
        values: Array = start + np.arange(count, dtype=np.float64) * float(step)
    else:
        values = int(start) + np.arange(count) * int(step)
    return copy_step(out.array, values)


KERNELS = KernelTable.of_module(globals())
