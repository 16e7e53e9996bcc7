"""Sums, means, extremes and other reductions over dimensions.

Shapes: self (*S); out lacks the reduced dimensions, or has size 1 there with `keepdim`.
No dimensions mean all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import (
    dimension,
    dimensions,
    require,
    require_dtype,
    require_floating,
    require_same_dtype,
)
from etconfig.kernel.memory import Array, Scratch, Shape
from etconfig.kernel.registry import Ints, Kernel, KernelTable, Scalar, Step, kernel
from etconfig.kernel.step_makers import (
    BOOL,
    computation_dtype,
    constant,
    copy_step,
    in_dtype,
    in_sequence,
    viewed_as,
)
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor


def _reduced(shape: Shape, axes: Ints, keepdim: bool) -> Shape:
    if keepdim:
        return tuple([1 if axis in axes else size for axis, size in enumerate(shape)])
    return tuple([size for axis, size in enumerate(shape) if axis not in axes])


def _resize(self: Tensor, axes: Ints, keepdim: bool, out: Tensor) -> Array:
    """Resize `out`, and return a view of it in which the reduced dimensions have size 1."""
    out.resize(_reduced(self.shape, axes, keepdim))
    return out.array if keepdim else viewed_as(out.array, _reduced(self.shape, axes, True))


def _count(shape: Shape, axes: Ints) -> int:
    return math.prod([shape[axis] for axis in axes])


def _reduce_step(ufunc: np.ufunc, x: Array, axes: Ints, out: Array) -> Step:
    """Return the step that reduces `x` to `out` of the same dtype, in which the dimensions have size 1."""
    return ArrayCall(ufunc.reduce, x, axis=axes, out=out, keepdims=True)


# --- sums, means, products ---------------------------------------------------------------


@kernel("aten::sum.IntList_out")
def sum_dims(self: Tensor, dim: Ints | None, keepdim: bool, dtype: int | None, out: Tensor) -> Step:
    """Sum in out's dtype, which is int64 for integers unless `dtype` says otherwise."""
    axes = dimensions(dim, self.array.ndim)
    target = _resize(self, axes, keepdim, out)
    return in_dtype(
        computation_dtype(out.dtype), (self.array,), target, lambda x, out: sum_step(x, axes, out)
    )


def sum_step(x: Array, axes: Ints, out: Array) -> Step:
    """Return the step of a sum; over trailing dimensions it is a product with ones, which BLAS vectorizes."""
    is_trailing = axes == tuple(range(x.ndim - len(axes), x.ndim)) and bool(axes)
    if not (
        is_trailing and x.size and x.dtype.kind == "f" and x.flags.c_contiguous and out.flags.c_contiguous
    ):
        return _reduce_step(np.add, x, axes, out)
    count = _count(x.shape, axes)
    return ArrayCall(np.matmul, x.reshape(-1, count), np.ones(count, x.dtype), out.reshape(-1))


@kernel("aten::mean.out")
def mean_dims(self: Tensor, dim: Ints | None, keepdim: bool, dtype: int | None, out: Tensor) -> Step:
    """Compute the mean. Dtypes: out floating."""
    return _mean(self, dim, keepdim, out)


def _mean(self: Tensor, dim: Ints | None, keepdim: bool, out: Tensor) -> Step:
    require_floating("out", out)
    axes = dimensions(dim, self.array.ndim)
    target = _resize(self, axes, keepdim, out)
    count = _count(self.shape, axes)

    def passes(x: Array, out: Array) -> Step:
        return in_sequence(sum_step(x, axes, out), ArrayCall(np.divide, out, constant(count, out.dtype), out))

    return in_dtype(computation_dtype(out.dtype), (self.array,), target, passes)


@kernel("aten::mean.dtype_out")
def mean_all(self: Tensor, dtype: int | None, out: Tensor) -> Step:
    """Compute the mean of all elements."""
    return _mean(self, None, False, out)


@kernel("aten::prod.out")
def prod_all(self: Tensor, dtype: int | None, out: Tensor) -> Step:
    """Compute the product of all elements."""
    return _prod(self, dimensions(None, self.array.ndim), False, out)


@kernel("aten::prod.int_out")
def prod_dim(self: Tensor, dim: int, keepdim: bool, dtype: int | None, out: Tensor) -> Step:
    """Compute the product along one dimension."""
    return _prod(self, dimensions((dim,), self.array.ndim), keepdim, out)


def _prod(self: Tensor, axes: Ints, keepdim: bool, out: Tensor) -> Step:
    target = _resize(self, axes, keepdim, out)
    dtype = computation_dtype(out.dtype)
    return in_dtype(dtype, (self.array,), target, lambda x, out: _reduce_step(np.multiply, x, axes, out))


@kernel("aten::cumsum.out")
def cumsum(self: Tensor, dim: int, dtype: int | None, out: Tensor) -> Step:
    """Compute the sums of all prefixes along a dimension; out has self's shape."""
    out.resize(self.shape)
    axis = dimension(dim, self.array.ndim)

    def passes(x: Array, out: Array) -> Step:
        if x.ndim == 0:
            return copy_step(out, x)
        return ArrayCall(np.add.accumulate, x, axis, None, out)

    return in_dtype(computation_dtype(out.dtype), (self.array,), out.array, passes)


# --- variance ----------------------------------------------------------------------------


@kernel("aten::var.out")
def var(self: Tensor, dim: Ints | None, unbiased: bool, keepdim: bool, out: Tensor) -> Step:
    """Compute the variance, over n - 1 if unbiased. Dtypes: floating, equal."""
    return _variance(self, dim, int(unbiased), keepdim, out, None)


@kernel("aten::var.correction_out")
def var_correction(
    self: Tensor, dim: Ints | None, correction: Scalar | None, keepdim: bool, out: Tensor
) -> Step:
    """Compute the variance over n - correction; the correction defaults to 1."""
    return _variance(self, dim, 1 if correction is None else correction, keepdim, out, None)


@kernel("aten::var_mean.correction_out")
def var_mean_correction(
    self: Tensor, dim: Ints | None, correction: Scalar | None, keepdim: bool, out0: Tensor, out1: Tensor
) -> Step:
    """Compute the variance over n - correction, and the mean."""
    return _variance(self, dim, 1 if correction is None else correction, keepdim, out0, out1)


def _variance(
    self: Tensor, dim: Ints | None, correction: Scalar, keepdim: bool, out: Tensor, mean: Tensor | None
) -> Step:
    require_floating("self", self)
    require_same_dtype(self=self, out=out, mean=mean)
    axes = dimensions(dim, self.array.ndim)
    dtype = computation_dtype(self.dtype)
    target = _resize(self, axes, keepdim, out)
    means = np.empty(target.shape, dtype)
    count = _count(self.shape, axes)

    def passes(x: Array, out: Array) -> Step:
        centered = np.empty(x.shape, dtype)
        return in_sequence(
            sum_step(x, axes, means),
            ArrayCall(np.divide, means, constant(count, dtype), means),
            ArrayCall(np.subtract, x, means, centered),
            ArrayCall(np.multiply, centered, centered, centered),
            sum_step(centered, axes, out),
            ArrayCall(np.divide, out, constant(max(count - correction, 0), dtype), out),
        )

    step = in_dtype(dtype, (self.array,), target, passes)
    return step if mean is None else in_sequence(step, copy_step(_resize(self, axes, keepdim, mean), means))


# --- extremes ----------------------------------------------------------------------------


def _extreme(name: str, ufunc: np.ufunc) -> Kernel:
    """Return the kernel that finds the largest or smallest element over dimensions; NaN wins."""

    def bind(self: Tensor, dim: Ints, keepdim: bool, out: Tensor) -> Step:
        return _extreme_step(ufunc, self, dimensions(dim, self.array.ndim), keepdim, out)

    return Kernel((name,), bind)


def _extreme_of_all(name: str, ufunc: np.ufunc) -> Kernel:
    """Return the kernel that finds the largest or smallest of all elements; NaN wins."""

    def bind(self: Tensor, out: Tensor) -> Step:
        return _extreme_step(ufunc, self, dimensions(None, self.array.ndim), False, out)

    return Kernel((name,), bind)


def _extreme_step(ufunc: np.ufunc, self: Tensor, axes: Ints, keepdim: bool, out: Tensor) -> Step:
    require_same_dtype(self=self, out=out)
    require(_count(self.shape, axes) > 0, "shape {} has no elements to find an extreme of", self.shape)
    target = _resize(self, axes, keepdim, out)
    dtype = computation_dtype(self.dtype)
    return in_dtype(dtype, (self.array,), target, lambda x, out: _reduce_step(ufunc, x, axes, out))


def _extreme_with_places(name: str, find: Callable[..., Array]) -> Kernel:
    """Return the kernel that finds an extreme along a dimension, and its first index; NaN wins."""

    def bind(self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor) -> Step:
        require_same_dtype(self=self, values=values)
        axis = dimension(dim, self.array.ndim)
        target = np.atleast_1d(_resize(self, dimensions((dim,), self.array.ndim), keepdim, values))
        places = np.atleast_1d(_place_target(self, dim, keepdim, indices))
        x, dtype = np.atleast_1d(self.array), computation_dtype(self.dtype)

        def run(x: Array, target: Array, places: Array) -> None:
            found = find(x.astype(dtype, copy=False), axis=axis, keepdims=True)
            np.copyto(places, found)
            np.copyto(target, np.take_along_axis(x, found, axis))

        return ArrayCall(run, x, target, places)

    return Kernel((name,), bind)


def _place(name: str, find: Callable[..., Array]) -> Kernel:
    """Return the kernel that finds the first index of an extreme: in row-major order without `dim`."""

    def bind(self: Tensor, dim: int | None, keepdim: bool, out: Tensor) -> Step:
        axis = None if dim is None or self.array.ndim == 0 else dimension(dim, self.array.ndim)
        target = _place_target(self, dim, keepdim, out)
        dtype = computation_dtype(self.dtype)

        def run(x: Array, target: Array) -> None:
            np.copyto(target, find(x.astype(dtype, copy=False), axis=axis, keepdims=True))

        return ArrayCall(run, self.array, target)

    return Kernel((name,), bind)


def _place_target(self: Tensor, dim: int | None, keepdim: bool, out: Tensor) -> Array:
    require_dtype("indices", out, {ScalarType.LONG})
    axes = dimensions(None if dim is None else (dim,), self.array.ndim)
    require(_count(self.shape, axes) > 0, "shape {} has no elements to find an extreme of", self.shape)
    return _resize(self, axes, keepdim, out)


EXTREMES = (
    _extreme("aten::amax.out", np.maximum),
    _extreme("aten::amin.out", np.minimum),
    _extreme_of_all("aten::max.unary_out", np.maximum),
    _extreme_of_all("aten::min.unary_out", np.minimum),
    _extreme_with_places("aten::max.dim_max", np.argmax),
    _extreme_with_places("aten::min.dim_min", np.argmin),
    _place("aten::argmax.out", np.argmax),
    _place("aten::argmin.out", np.argmin),
)


# --- any ---------------------------------------------------------------------------------


@kernel("aten::any.all_out")
def any_all(self: Tensor, out: Tensor, *, scratch: Scratch) -> Step:
    """Find out whether any element differs from zero."""
    return _any(self, dimensions(None, self.array.ndim), False, out, scratch)


@kernel("aten::any.out")
def any_dim(self: Tensor, dim: int, keepdim: bool, out: Tensor, *, scratch: Scratch) -> Step:
    """Find out whether any element along one dimension differs from zero."""
    return _any(self, dimensions((dim,), self.array.ndim), keepdim, out, scratch)


@kernel("aten::any.dims_out")
def any_dims(self: Tensor, dim: Ints | None, keepdim: bool, out: Tensor, *, scratch: Scratch) -> Step:
    """Find out the same over several dimensions: all if `dim` is None, none if it is empty."""
    axes = () if dim == () else dimensions(dim, self.array.ndim)
    return _any(self, axes, keepdim, out, scratch)


def _any(self: Tensor, axes: Ints, keepdim: bool, out: Tensor, scratch: Scratch) -> Step:
    target = _resize(self, axes, keepdim, out)
    is_true = scratch.array(self.shape, BOOL)
    return in_sequence(
        copy_step(is_true, self.array),
        in_dtype(BOOL, (is_true,), target, lambda x, out: _reduce_step(np.logical_or, x, axes, out)),
    )


KERNELS = KernelTable.of_module(globals())
