"""Padding: constant, reflected, replicated. `padding` lists (before, after), last dimension first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from etconfig.kernel.checks import require, require_rank, require_same_dtype
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import Ints, Kernel, KernelTable, Scalar, Step, kernel
from etconfig.kernel.step_makers import constant, copy_selected, copy_step, in_sequence, is_empty
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor


@kernel("aten::constant_pad_nd.out")
def constant_pad_nd(self: Tensor, pad: Ints, value: Scalar, out: Tensor) -> Step:
    """Add a border of one value; a negative number cuts off instead. Dtypes: equal."""
    require_same_dtype(self=self, out=out)
    require(len(pad) % 2 == 0 and len(pad) <= 2 * self.array.ndim, "pad {} does not fit {}", pad, self.shape)
    pairs = _pairs(pad, self.array.ndim)
    sizes = tuple(before + size + after for size, (before, after) in zip(self.shape, pairs, strict=True))
    require(min(sizes, default=0) >= 0, "pad {} cuts off more than there is of {}", pad, self.shape)
    out.resize(sizes)
    # the dots keep a scalar a view
    inner: tuple[Any, ...] = (..., *(_cut(before, after) for before, after in pairs))
    kept: tuple[Any, ...] = (..., *(_cut(-before, -after) for before, after in pairs))
    return in_sequence(
        copy_step(out.array, constant(value, out.dtype)), copy_step(out.array[inner], self.array[kept])
    )


def _pairs(padding: Ints, rank: int) -> list[tuple[int, int]]:
    """Return (before, after) for each dimension, first to last."""
    given = list(zip(padding[::2], padding[1::2], strict=True))[::-1]
    return [(0, 0)] * (rank - len(given)) + given


def _cut(before: int, after: int) -> slice:
    """Return the slice without `before` elements at the beginning and `after` at the end."""
    return slice(max(before, 0), -after if after > 0 else None)


def _padding(name: str, spatial: int, place: Callable[[int, int, int], Array]) -> Kernel:
    """Return the kernel that adds a border of the tensor's elements, which `place` selects for each size.

    A negative number cuts off instead.
    """

    def bind(self: Tensor, padding: Ints, out: Tensor) -> Step:
        require_same_dtype(self=self, out=out)
        require_rank("self", self, spatial + 1, spatial + 2)
        require(len(padding) == 2 * spatial, "padding must have {} numbers, not {}", 2 * spatial, padding)
        pairs = _pairs(padding, self.array.ndim)
        out.resize(tuple(size + sum(pair) for size, pair in zip(self.shape, pairs, strict=True)))
        if is_empty(out):
            return in_sequence()
        places = [place(size, *pair) for size, pair in zip(self.shape, pairs, strict=True)]
        return ArrayCall(copy_selected, out.array, self.array, np.ix_(*places))

    return Kernel((name,), bind)


def _reflected(size: int, before: int, after: int) -> Array:
    require(
        max(before, after) < max(size, 1),
        "padding ({}, {}) must be less than the size {}",
        before,
        after,
        size,
    )
    last = size - 1
    places: Array = last - np.abs(last - np.abs(np.arange(-before, size + after)))
    return places


def _replicated(size: int, before: int, after: int) -> Array:
    require(size > 0 or before == after == 0, "there is nothing to replicate")
    return np.clip(np.arange(-before, size + after), 0, max(size - 1, 0))


BORDERS = (
    *(_padding(f"aten::reflection_pad{rank}d.out", rank, _reflected) for rank in (1, 2, 3)),
    *(_padding(f"aten::replication_pad{rank}d.out", rank, _replicated) for rank in (1, 2, 3)),
)

KERNELS = KernelTable.of_module(globals())
