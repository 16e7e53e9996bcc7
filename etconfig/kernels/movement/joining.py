"""Several tensors into one, and one into several."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from etconfig.kernel.checks import dimension, require, require_same_dtype
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import Ints, KernelTable, Step, Tensors, kernel
from etconfig.kernel.step_makers import copy_step, in_sequence
from etconfig.kernel.tensor import Tensor


@kernel("aten::cat.out")
def cat(tensors: Tensors, dim: int, out: Tensor) -> Step:
    """Join tensors along a dimension, converted to out's dtype.

    Shapes: equal except at `dim`; as in PyTorch, tensors of shape (0,) are left out.
    """
    parts = [each.array for each in tensors if each.shape != (0,)] or [each.array for each in tensors[:1]]
    require(bool(parts), "there is nothing to join")
    axis = dimension(dim, parts[0].ndim)
    first = parts[0].shape
    before, after = first[:axis], first[axis + 1 :]
    for each in parts:
        if each.shape[:axis] != before or each.shape[axis + 1 :] != after:
            raise ValueError(f"shapes {first} and {each.shape} differ outside dimension {axis}")
    sizes = [each.shape[axis] for each in parts]
    out.resize((*before, sum(sizes), *after))
    return in_sequence(*map(copy_step, _cut(out.array, sizes, axis), parts))


@kernel("aten::stack.out")
def stack(tensors: Tensors, dim: int, out: Tensor) -> Step:
    """Stack tensors of one shape along a new dimension, converted to out's dtype."""
    require(bool(tensors), "there is nothing to stack")
    first = tensors[0].shape
    axis = dimension(dim, len(first) + 1)
    for each in tensors:
        require(each.shape == first, "shapes {} and {} differ", first, each.shape)
    out.resize((*first[:axis], len(tensors), *first[axis:]))
    views = np.moveaxis(out.array, axis, 0)
    return in_sequence(*(copy_step(views[place, ...], each.array) for place, each in enumerate(tensors)))


@kernel("aten::split_copy.Tensor_out")
def split_copy(self: Tensor, split_size: int, dim: int, out: Tensors) -> Step:
    """Split into parts of `split_size` along a dimension; the last one may be smaller."""
    require(split_size > 0, "split_size must be positive, not {}", split_size)
    size = self.shape[dimension(dim, self.array.ndim)]
    count = max(-(-size // split_size), 1)
    require(count == len(out), "{} parts do not fit {} outputs", count, len(out))
    sizes = [min(split_size, size - part * split_size) for part in range(count)]
    return _split(self, sizes, dim, out)


@kernel("aten::split_with_sizes_copy.out")
def split_with_sizes_copy(self: Tensor, split_sizes: Ints, dim: int, out: Tensors) -> Step:
    """Split into parts of the given sizes along a dimension."""
    return _split(self, split_sizes, dim, out)


@kernel("aten::unbind_copy.int_out")
def unbind_copy(self: Tensor, dim: int, out: Tensors) -> Step:
    """Split into one part for each index of a dimension, without that dimension."""
    views = np.moveaxis(self.array, dimension(dim, self.array.ndim), 0)
    require(len(views) == len(out), "{} parts do not fit {} outputs", len(views), len(out))
    return _copy_each(self, [views[index, ...] for index in range(len(views))], out)


def _split(self: Tensor, sizes: Sequence[int], dim: int, out: Tensors) -> Step:
    axis = dimension(dim, self.array.ndim)
    size = self.shape[axis]
    if min(sizes, default=0) < 0 or sum(sizes) != size:
        raise ValueError(f"parts of {tuple(sizes)} do not make up the size {size}")
    require(len(sizes) == len(out), "{} parts do not fit {} outputs", len(sizes), len(out))
    return _copy_each(self, _cut(self.array, sizes, axis), out)


def _cut(array: Array, sizes: Sequence[int], axis: int) -> list[Array]:
    """Return views of parts of the given sizes along a dimension."""
    ends = itertools.accumulate(sizes)
    cuts = [(slice(None),) * axis + (slice(end - size, end),) for size, end in zip(sizes, ends, strict=True)]
    return [array[cut] for cut in cuts]


def _copy_each(self: Tensor, views: Sequence[Array], outs: Tensors) -> Step:
    steps = []
    for view, out in zip(views, outs, strict=True):
        require_same_dtype(self=self, out=out)
        out.resize(view.shape)
        steps.append(copy_step(out.array, view))
    return in_sequence(*steps)


KERNELS = KernelTable.of_module(globals())
