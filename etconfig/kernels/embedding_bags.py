"""Sums, means and maxima of rows of a matrix, bag by bag."""

from __future__ import annotations

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import require, require_dtype, require_floating, require_rank, require_same_dtype
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import KernelTable, Step, kernel
from etconfig.kernel.step_makers import DType, computation_dtype
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.kernels.movement.indexing import INDEX_TYPES, require_in_range

SUM, MEAN, MAX = range(3)
"""Source: EmbeddingBagMode, aten/src/ATen/native/EmbeddingBag.h."""


@kernel("aten::_embedding_bag.out", "aten::_embedding_bag_forward_only.out")
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int,
    out: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    max_indices: Tensor,
) -> Step:
    """Reduce the rows of each bag. Rows of `padding_idx` do not count; a bag without rows gives 0.

    Shapes: weight (V, D), indices (n,), offsets (B,) of the first index of each bag, or (B + 1,) with
    `include_last_offset`; per_sample_weights (n,), for sums; out (B, D). The other outputs, which only
    training reads, are offset2bag (n,), bag_size (B,), and max_indices, (B, D) for maxima. Dtypes: floating.
    """
    _check_inputs(weight, indices, offsets, mode, padding_idx, per_sample_weights)
    require_same_dtype(weight=weight, out=out)
    rows, width = weight.shape
    bags = offsets.shape[0] - int(include_last_offset)
    require(bags >= 0, "with include_last_offset, there must be an offset")
    out.resize((bags, width))
    _resize_for_training(weight, indices, mode, padding_idx, bags, offset2bag, bag_size, max_indices)

    def run(
        weight: Array,
        indices: Array,
        offsets: Array,
        samples: Array | None,
        others: tuple[Array, ...],
        out: Array,
    ) -> None:
        require_in_range(indices, rows)
        bounds = _bounds(offsets, bags, len(indices), include_last_offset)
        bag_of = np.repeat(np.arange(bags), np.diff(bounds))
        counted = indices[bounds[0] : bounds[-1]] if bags else indices[:0]
        is_counted = counted != padding_idx if padding_idx >= 0 else np.ones(len(counted), np.bool_)
        factors = None if samples is None else samples[: len(counted)]
        sizes = np.bincount(bag_of[is_counted], minlength=bags)
        bag_target, size_target, place_target = others
        if bag_target.size:
            bag_target[: len(bag_of)] = bag_of
        # PyTorch does not count the rows of sums
        size_target[...] = 0 if mode == SUM else sizes
        place_target[...] = sizes if mode == MEAN else 0
        dtype = computation_dtype(weight.dtype)
        chosen, bag_of = counted[is_counted], bag_of[is_counted]
        factors = None if factors is None else factors[is_counted]
        if mode == MAX:
            _write_largest(weight, chosen, bag_of, out, place_target)
        else:
            sums = _sums(weight, chosen, bag_of, factors, bags, dtype)
            np.copyto(out, sums / np.maximum(sizes, 1)[:, None] if mode == MEAN else sums, casting="unsafe")

    others = (offset2bag.array, bag_size.array, max_indices.array)
    samples = None if per_sample_weights is None else per_sample_weights.array
    return ArrayCall(run, weight.array, indices.array, offsets.array, samples, others, out.array)


def _check_inputs(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    mode: int,
    padding_idx: int,
    per_sample_weights: Tensor | None,
) -> None:
    require_floating("weight", weight)
    require_same_dtype(weight=weight, per_sample_weights=per_sample_weights)
    require_dtype("indices", indices, INDEX_TYPES)
    require_same_dtype(indices=indices, offsets=offsets)
    for name, tensor, rank in (("weight", weight, 2), ("indices", indices, 1), ("offsets", offsets, 1)):
        require_rank(name, tensor, rank)
    require(mode in (SUM, MEAN, MAX), "mode must be 0, 1 or 2, not {}", mode)
    rows = weight.shape[0]
    require(
        -rows <= padding_idx < max(rows, 1), "padding_idx {} is out of range for {} rows", padding_idx, rows
    )
    if per_sample_weights is not None:
        require(mode == SUM, "only sums can be weighted")
        require(per_sample_weights.shape == indices.shape, "there must be a weight for each index")


def _resize_for_training(
    weight: Tensor,
    indices: Tensor,
    mode: int,
    padding_idx: int,
    bags: int,
    offset2bag: Tensor,
    bag_size: Tensor,
    max_indices: Tensor,
) -> None:
    """Resize what only training reads; PyTorch leaves `offset2bag` out where it sums quickly."""
    require_same_dtype(indices=indices, offset2bag=offset2bag, bag_size=bag_size, max_indices=max_indices)
    is_quick = weight.scalar_type in (ScalarType.FLOAT, ScalarType.HALF) and padding_idx < 0
    offset2bag.resize((0,) if mode == SUM and is_quick else indices.shape)
    bag_size.resize((bags,))
    max_indices.resize((bags, weight.shape[1]) if mode == MAX else (bags,))


def _bounds(offsets: Array, bags: int, count: int, has_last: bool) -> Array:
    """Return where bags begin, and where the last one ends.

    Raises:
        ValueError: the offsets are not in ascending order from 0 to at most `count`.
    """
    bounds = offsets.astype(np.int64) if has_last else np.append(offsets.astype(np.int64), count)
    if bags:
        require(bounds[0] == 0, "the first offset must be 0, not {}", bounds[0])
        is_ascending = bool((np.diff(bounds) >= 0).all()) and bounds[-1] <= count
        require(is_ascending, "offsets must ascend up to at most {}", count)
    return bounds


def _sums(
    weight: Array, chosen: Array, bag_of: Array, factors: Array | None, bags: int, dtype: DType
) -> Array:
    taken = weight[chosen].astype(dtype, copy=False)
    if factors is not None:
        taken = taken * factors.astype(dtype, copy=False)[:, None]
    sums = np.zeros((bags, weight.shape[1]), dtype)
    np.add.at(sums, bag_of, taken)
    return sums


def _write_largest(weight: Array, chosen: Array, bag_of: Array, out: Array, places: Array) -> None:
    """Write the largest element of each column of each bag, and the row that it comes from."""
    out[...] = 0
    is_empty = np.ones(len(out), np.bool_)
    for row, bag in zip(chosen.tolist(), bag_of.tolist(), strict=True):
        is_larger = is_empty[bag] | (weight[row] > out[bag])
        np.copyto(out[bag], weight[row], where=is_larger)
        np.copyto(places[bag], row, where=is_larger)
        is_empty[bag] = False


KERNELS = KernelTable.of_module(globals())
