"""Distances between vectors in the p-norm. Dtypes: floating, equal."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from etconfig.kernel.checks import (
    broadcast_shape,
    require,
    require_floating,
    require_rank,
    require_same_dtype,
)
from etconfig.kernel.memory import Array, Scratch
from etconfig.kernel.registry import KernelTable, Scalar, Step, kernel
from etconfig.kernel.step_makers import computation_dtype, in_dtype, in_sequence, is_empty
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor


@kernel("aten::_cdist_forward.out")
def cdist(
    x1: Tensor, x2: Tensor, p: float, compute_mode: int | None, out: Tensor, *, scratch: Scratch
) -> Step:
    """Compute the distances between every row of one matrix and every row of another.

    Shapes: x1 (*B, P, M), x2 (*B, R, M), out (*B, P, R); the batches broadcast. `compute_mode`
    chooses between ways that differ in rounding only. As in PyTorch, NaN does not count for p = infinity.
    """
    require_floating("x1", x1)
    require_same_dtype(x1=x1, x2=x2, out=out)
    require(min(x1.array.ndim, x2.array.ndim) >= 2, "{} and {} must be matrices", x1.shape, x2.shape)
    require(x1.shape[-1] == x2.shape[-1], "rows of {} and {} differ in length", x1.shape, x2.shape)
    batches = broadcast_shape(x1.shape[:-2], x2.shape[:-2])
    out.resize((*batches, x1.shape[-2], x2.shape[-2]))
    if is_empty(out):
        return in_sequence()
    norm = _largest_number if math.isinf(p) else _norm(p)

    def run(first: Array, second: Array, out: Array) -> None:
        for row in range(first.shape[-2]):
            out[..., row, :] = norm(first[..., row : row + 1, :] - second)

    dtype = computation_dtype(out.dtype)
    return in_dtype(dtype, (x1.array, x2.array), out.array, partial(ArrayCall, run), scratch)


@kernel("aten::_pdist_forward.out")
def pdist(self: Tensor, p: float, out: Tensor) -> Step:
    """Compute the distances between all rows of a matrix. Shapes: self (N, M), out (N * (N - 1) / 2,)."""
    require_floating("self", self)
    require_rank("self", self, 2)
    require_same_dtype(self=self, out=out)
    rows = self.shape[0]
    out.resize((rows * (rows - 1) // 2,))
    norm = _norm(p)

    def run(x: Array, out: Array) -> None:
        start = 0
        for row in range(rows - 1):
            end = start + rows - 1 - row
            out[start:end] = norm(x[row] - x[row + 1 :])
            start = end

    return in_dtype(computation_dtype(out.dtype), (self.array,), out.array, partial(ArrayCall, run))


@kernel("aten::dist.out")
def dist(self: Tensor, other: Tensor, p: Scalar, out: Tensor) -> Step:
    """Compute the norm of the difference of two tensors, which broadcast. Shapes: out ()."""
    require_floating("out", out)
    require_same_dtype(self=self, other=other, out=out)
    shape = broadcast_shape(self.shape, other.shape)
    out.resize(())
    norm = _norm_of_all(float(p), math.prod(shape))

    def run(first: Array, second: Array, out: Array) -> None:
        np.copyto(out, norm((first - second).reshape(-1)))

    dtype = computation_dtype(out.dtype)
    return in_dtype(dtype, (self.array, other.array), out.array, partial(ArrayCall, run))


def _norm_of_all(p: float, count: int) -> Callable[[Array], Array]:
    """Return the p-norm of a vector: for p = 0 the number of nonzero elements, below 0 a norm of inverses."""
    if p == 0:
        return lambda x: (x != 0).sum()
    if math.isinf(p) and p < 0:
        require(count > 0, "the smallest of no differences is undefined")
        return lambda x: np.abs(x).min()
    if p < 0:
        return lambda x: (np.abs(x) ** x.dtype.type(p)).sum() ** x.dtype.type(1 / p)
    return _norm(p)


def _largest_number(x: Array) -> Array:
    largest: Array = np.fmax.reduce(np.abs(x), -1, initial=0)  # type: ignore[call-overload]  # numpy 2.5
    return largest


def _norm(p: float) -> Callable[[Array], Array]:
    """Return the p-norm over the last dimension; for p = 0, the number of nonzero elements, or NaN."""
    require(p >= 0, "p must not be negative, but is {}", p)
    if p == 0:
        return lambda x: np.minimum(np.ceil(np.abs(x)), 1).sum(-1)
    if p == 1:
        return lambda x: np.abs(x).sum(-1)
    if p == 2:
        return lambda x: np.sqrt(np.square(x).sum(-1))
    if math.isinf(p):
        return lambda x: np.abs(x).max(-1, initial=0)
    return lambda x: (np.abs(x) ** x.dtype.type(p)).sum(-1) ** x.dtype.type(1 / p)


KERNELS = KernelTable.of_module(globals())
