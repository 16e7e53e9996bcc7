"""Places in sorted boundaries, histograms and unique elements."""

from __future__ import annotations

from typing import Literal

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import (
    dimension,
    require,
    require_dtype,
    require_floating,
    require_rank,
    require_same_dtype,
)
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import KernelTable, Scalar, Step, kernel
from etconfig.kernel.step_makers import computation_dtype, result_dtype, write_resized
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor


@kernel("aten::bucketize.Tensor_out")
def bucketize(self: Tensor, boundaries: Tensor, out_int32: bool, right: bool, out: Tensor) -> Step:
    """Write the index of the bucket of each element; with `right`, boundaries belong to the next bucket.

    Shapes: self (*S), boundaries (n,) in ascending order, out (*S).
    """
    require_rank("boundaries", boundaries, 1)
    return _search(boundaries, self, out_int32, right, None, out)


@kernel("aten::bucketize.Scalar_out")
def bucketize_scalar(self: Scalar, boundaries: Tensor, out_int32: bool, right: bool, out: Tensor) -> Step:
    """Write the index of the bucket of a number; see `bucketize`. Shapes: out ()."""
    require_rank("boundaries", boundaries, 1)
    return _search(boundaries, self, out_int32, right, None, out)


@kernel("aten::searchsorted.Tensor_out")
def searchsorted(
    sorted_sequence: Tensor,
    self: Tensor,
    out_int32: bool,
    right: bool,
    side: str | None,
    sorter: Tensor | None,
    out: Tensor,
) -> Step:
    """Write where each element would be inserted into its row of boundaries.

    Shapes: sorted_sequence (n,), or (*B, n) with self (*B, m); sorter as sorted_sequence; out as self.
    """
    is_right = _is_right(right, side)
    boundaries, values = sorted_sequence.shape, self.shape
    require(
        len(boundaries) == 1 or (len(boundaries) == len(values) and boundaries[:-1] == values[:-1]),
        "rows of boundaries {} and of values {} differ",
        boundaries,
        values,
    )
    return _search(sorted_sequence, self, out_int32, is_right, sorter, out)


@kernel("aten::searchsorted.Scalar_out")
def searchsorted_scalar(
    sorted_sequence: Tensor,
    self: Scalar,
    out_int32: bool,
    right: bool,
    side: str | None,
    sorter: Tensor | None,
    out: Tensor,
) -> Step:
    """Write where a number would be inserted. Shapes: sorted_sequence (n,), out ()."""
    require_rank("sorted_sequence", sorted_sequence, 1)
    return _search(sorted_sequence, self, out_int32, _is_right(right, side), sorter, out)


def _is_right(right: bool, side: str | None) -> bool:
    require(side in ("left", "right", None), "side must be left or right, not {!r}", side)
    require(not (right and side == "left"), "side is left, but right is true")
    return right or side == "right"


def _search(
    boundaries: Tensor,
    values: Tensor | Scalar,
    out_int32: bool,
    right: bool,
    sorter: Tensor | None,
    out: Tensor,
) -> Step:
    require_dtype("out", out, {ScalarType.INT if out_int32 else ScalarType.LONG})
    if sorter is not None:
        require_dtype("sorter", sorter, {ScalarType.LONG})
        require(sorter.shape == boundaries.shape, "sorter must have shape {}", boundaries.shape)
    dtype = computation_dtype(result_dtype(boundaries, values))
    found = values.array if isinstance(values, Tensor) else np.array(values, dtype)
    out.resize(found.shape)
    side: Literal["left", "right"] = "right" if right else "left"

    def run(boundaries: Array, values: Array, sorter: Array | None, out: Array) -> None:
        if sorter is not None:
            require(
                not sorter.size or bool(((sorter >= 0) & (sorter < sorter.shape[-1])).all()),
                "an index of sorter is out of range",
            )
            boundaries = np.take_along_axis(boundaries, sorter, -1)
        boundaries, values = (each.astype(dtype, copy=False) for each in (boundaries, values))
        if boundaries.ndim == 1:
            np.copyto(out, np.searchsorted(boundaries, values, side), casting="same_kind")
            return
        for row in np.ndindex(boundaries.shape[:-1]):
            out[row] = np.searchsorted(boundaries[row], values[row], side)

    return ArrayCall(run, boundaries.array, found, None if sorter is None else sorter.array, out.array)


@kernel("aten::histc.out")
def histc(self: Tensor, bins: int, minimum: Scalar, maximum: Scalar, out: Tensor) -> Step:
    """Count the elements in equal bins between two numbers; between the extremes if both are equal.

    Shapes: self (*S), out (bins,). Dtypes: floating, equal.
    """
    require_floating("self", self)
    require_same_dtype(self=self, out=out)
    require(bins > 0, "bins must be positive, not {}", bins)
    require(minimum <= maximum, "min {} is above max {}", minimum, maximum)
    out.resize((bins,))

    def run(x: Array, out: Array) -> None:
        x = x.astype(computation_dtype(x.dtype), copy=False)
        low, high = float(minimum), float(maximum)
        if low == high and x.size:
            low, high = float(x.min()), float(x.max())
        require(bool(np.isfinite([low, high]).all()), "the range from {} to {} is not finite", low, high)
        if low == high:
            low, high = low - 1, high + 1
        first, last = x.dtype.type(low), x.dtype.type(high)
        inside = x[(x >= first) & (x <= last)]
        places = ((inside - first) * x.dtype.type(bins) / (last - first)).astype(np.int64)
        np.copyto(out, np.bincount(np.minimum(places, bins - 1), minlength=bins), casting="unsafe")

    return ArrayCall(run, self.array, out.array)


# --- unique elements -----------------------------------------------------------------------


@kernel("aten::_unique2.out")
def unique(
    self: Tensor,
    is_sorted: bool,
    return_inverse: bool,
    return_counts: bool,
    out: Tensor,
    inverse: Tensor,
    counts: Tensor,
) -> Step:
    """Write the unique elements in ascending order, the place of each element among them, and their counts.

    Shapes: self (*S), out (n,), inverse (*S) or (0,), counts (n,) or (0,).
    """
    _prepare_unique(self, out, inverse, counts)

    def run() -> None:
        x = self.array.reshape(-1)
        found = np.unique(
            x.astype(computation_dtype(x.dtype), copy=False),
            return_inverse=True,
            return_counts=True,
            equal_nan=False,
        )
        values, places, numbers = found
        write_resized(out, values.astype(x.dtype, copy=False))
        write_resized(inverse, places.reshape(self.shape) if return_inverse else places[:0])
        write_resized(counts, numbers if return_counts else numbers[:0])

    return run


@kernel("aten::unique_consecutive.out")
def unique_consecutive(
    self: Tensor,
    return_inverse: bool,
    return_counts: bool,
    dim: int | None,
    out: Tensor,
    inverse: Tensor,
    counts: Tensor,
) -> Step:
    """Leave out elements, or slices of a dimension, that equal the one before; else as `unique`.

    As in PyTorch, the outputs of slices are complete in any case.
    """
    _prepare_unique(self, out, inverse, counts)
    axis = None if dim is None else dimension(dim, self.array.ndim)
    require(axis is None or self.array.ndim > 0, "a scalar has no dimension to compare along")

    def run() -> None:
        x = self.array.reshape(-1) if axis is None else np.moveaxis(self.array, axis, 0)
        rows = x.reshape(len(x), -1) if x.size else np.zeros((len(x), 0))
        is_new = np.ones(len(x), np.bool_)
        is_new[1:] = (rows[1:] != rows[:-1]).any(1)
        values, places = x[is_new], np.cumsum(is_new) - 1
        numbers = np.diff(np.append(np.flatnonzero(is_new), len(x)))
        write_resized(out, values if axis is None else np.moveaxis(values, 0, axis))
        inverse_shape = self.shape if axis is None else (len(x),)
        is_complete = axis is not None
        write_resized(inverse, places.reshape(inverse_shape) if return_inverse or is_complete else places[:0])
        write_resized(counts, numbers if return_counts or is_complete else numbers[:0])

    return run


def _prepare_unique(self: Tensor, out: Tensor, inverse: Tensor, counts: Tensor) -> None:
    require_same_dtype(self=self, out=out)
    for name, each in (("inverse", inverse), ("counts", counts)):
        require_dtype(name, each, {ScalarType.LONG})


KERNELS = KernelTable.of_module(globals())
