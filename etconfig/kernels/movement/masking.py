"""Selection and writing by masks."""

from __future__ import annotations

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import broadcast_shape, require, require_dtype, require_same_dtype
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import KernelTable, Scalar, Step, kernel
from etconfig.kernel.step_makers import (
    BOOL,
    constant,
    copy_step,
    in_sequence,
    is_empty,
    require_castable,
    result_dtype,
    write_resized,
)
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor


@kernel("aten::where.self_out", is_elementwise=True)
def where(condition: Tensor, self: Tensor, other: Tensor, out: Tensor) -> Step:
    """Select `self` where `condition` is true, else `other`. All broadcast; out has the promoted dtype."""
    require_dtype("condition", condition, {ScalarType.BOOL, ScalarType.BYTE})
    require_castable(result_dtype(self, other), out)
    out.resize(broadcast_shape(condition.shape, self.shape, other.shape))
    holds = condition.array if condition.dtype == BOOL else condition.array.view(BOOL)
    return in_sequence(
        ArrayCall(np.copyto, out.array, other.array, casting="unsafe"),
        ArrayCall(np.copyto, out.array, self.array, casting="unsafe", where=holds),
    )


@kernel("aten::masked_fill.Scalar_out", is_elementwise=True)
def masked_fill(self: Tensor, mask: Tensor, value: Scalar, out: Tensor) -> Step:
    """Copy `self`, with `value` where `mask` is true. Both broadcast."""
    require_dtype("mask", mask, {ScalarType.BOOL})
    require_same_dtype(self=self, out=out)
    out.resize(broadcast_shape(self.shape, mask.shape))
    return in_sequence(
        copy_step(out.array, self.array),
        ArrayCall(np.copyto, out.array, constant(value, out.dtype), where=mask.array),
    )


@kernel("aten::masked_select.out")
def masked_select(self: Tensor, mask: Tensor, out: Tensor) -> Step:
    """Select the elements where `mask` is true, in row-major order. Both broadcast. Shapes: out (count,)."""
    require_dtype("mask", mask, {ScalarType.BOOL})
    require_same_dtype(self=self, out=out)
    shape = broadcast_shape(self.shape, mask.shape)
    source, chosen = np.broadcast_to(self.array, shape), np.broadcast_to(mask.array, shape)
    return lambda: write_resized(out, source[chosen])


@kernel("aten::masked_scatter.out")
def masked_scatter(self: Tensor, mask: Tensor, source: Tensor, out: Tensor) -> Step:
    """Copy `self`, with the elements of `source` one after the other where `mask` is true."""
    require_dtype("mask", mask, {ScalarType.BOOL})
    require_same_dtype(self=self, source=source, out=out)
    out.resize(broadcast_shape(self.shape, mask.shape))
    chosen = np.broadcast_to(mask.array, out.shape)
    return ArrayCall(_scatter_masked, out.array, self.array, chosen, source.array)


def _scatter_masked(target: Array, kept: Array, chosen: Array, source: Array) -> None:
    count = int(np.count_nonzero(chosen))
    require(count <= source.size, "source has {} elements, mask takes {}", source.size, count)
    np.copyto(target, kept)
    target[chosen] = source.reshape(-1)[:count]


@kernel("aten::nonzero.out")
def nonzero(self: Tensor, out: Tensor) -> Step:
    """Find the elements that differ from zero. Shapes: out (count, rank of self). Dtypes: out int64."""
    require_dtype("out", out, {ScalarType.LONG})
    source = self.array
    return lambda: write_resized(out, np.argwhere(source != 0))


@kernel("aten::tril.out")
def tril(self: Tensor, diagonal: int, out: Tensor) -> Step:
    """Copy `self`, with zeros above a diagonal of the last two dimensions."""
    require_same_dtype(self=self, out=out)
    require(self.array.ndim >= 2, "self must be a matrix, but has shape {}", self.shape)
    out.resize(self.shape)
    if is_empty(out):
        return in_sequence()
    is_kept = np.tri(self.shape[-2], self.shape[-1], diagonal, BOOL)
    return in_sequence(
        copy_step(out.array, constant(0, out.dtype)),
        ArrayCall(np.copyto, out.array, self.array, where=is_kept),
    )


KERNELS = KernelTable.of_module(globals())
