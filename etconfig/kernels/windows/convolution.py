"""Convolutions over one, two or three dimensions, plain, grouped, dilated or transposed.

The windows are copied into a matrix, one slice for each position in a window, and multiplied by the
weights. Depthwise convolutions are computed differently.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from etconfig.kernel.checks import require, require_rank, require_same_dtype
from etconfig.kernel.memory import Array, Scratch, Shape
from etconfig.kernel.registry import Ints, KernelTable, Step, kernel
from etconfig.kernel.step_makers import (
    computation_dtype,
    constant,
    copy_step,
    in_dtype,
    in_sequence,
    packed,
    run_through,
    viewed_as,
)
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.kernels.windows.banded import banded_steps, can_be_banded, is_banded_better
from etconfig.kernels.windows.banded_tiles import are_tiles_better, tiled_steps
from etconfig.kernels.windows.depthwise import depthwise_steps
from etconfig.kernels.windows.pooling_windows import Windows, spread
from etconfig.kernels.windows.row_products import are_rows_better, row_steps

WINDOW_TILE_BYTES = 4 << 20
"""The largest matrix of windows; a larger one is made and used in parts."""


@kernel("aten::convolution.out")
def convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
    out: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Compute the cross-correlation of `x` with `weight`, plus `bias`.

    Shapes: x (N, C, *S), weight (O, C / groups, *K), or (C, O / groups, *K) if transposed,
    bias (O,), out (N, O, *T); one to three spatial dimensions. Dtypes: equal.
    """
    require_rank("input", x, 3, 4, 5)
    require_rank("weight", weight, x.array.ndim)
    require_same_dtype(input=x, weight=weight, bias=bias, out=out)
    windows = Windows.of(weight.shape[2:], stride, padding, dilation, x.array.ndim - 2)
    channels = _channels(x.shape, weight.shape, groups, transposed)
    require(bias is None or bias.shape == (channels,), "bias must have shape ({},)", channels)
    if transposed:
        added = spread("output_padding", output_padding, x.array.ndim - 2, at_least=0)
        sizes = _transposed_sizes(windows, x.shape[2:], added)
    else:
        sizes = windows.count(x.shape[2:])
    out.resize((x.shape[0], channels, *sizes))

    def passes(x: Array, weight: Array, *rest: Array) -> Step:
        *biases, out = rest
        work = partial(multiplication, x, weight, out, windows, groups, transposed, scratch)
        additions = (viewed_as(each, (channels, *(1 for _ in sizes))) for each in biases)
        return in_sequence(
            run_through(scratch, work), *(ArrayCall(np.add, out, each, out) for each in additions)
        )

    dtype = computation_dtype(out.dtype)
    factors = [each.array for each in (weight, bias) if each is not None]
    return in_dtype(dtype, [x.array, *factors], out.array, passes, scratch)


def multiplication(
    x: Array, weight: Array, out: Array, windows: Windows, groups: int, transposed: bool, scratch: Scratch
) -> Iterator[Step]:
    """Yield the steps that write a convolution without bias to `out`, in the fastest way for its sizes."""
    if not out.size:  # without elements, the other sizes may be arbitrarily large
        return iter(())
    if transposed:
        return _transposed(x, weight, out, windows, groups, scratch)
    if groups > 1 and weight.shape[1] == 1:
        return _depthwise(x, weight, out, windows)(x, weight, out, windows, scratch)
    if {*windows.kernel, *windows.stride} == {1} and not any(windows.padding):
        return _pointwise(x, weight, out, groups, scratch)
    steps = row_steps if are_rows_better(x, weight, out, windows) else _by_matrix
    return steps(x, weight, out, windows, groups, scratch)


def _depthwise(x: Array, weight: Array, out: Array, windows: Windows) -> Callable[..., Iterator[Step]]:
    """Return the function that makes the fastest steps of a depthwise convolution of these sizes."""
    if can_be_banded(x, weight, out):
        if is_banded_better(x, weight, out, windows):
            return banded_steps
        if are_tiles_better(weight, out, windows):
            return tiled_steps
    return depthwise_steps


def _channels(x: Shape, weight: Shape, groups: int, transposed: bool) -> int:
    """Return the number of channels of the output."""
    require(groups >= 1, "groups must be positive, not {}", groups)
    taken = weight[0] if transposed else weight[1] * groups
    require(
        x[1] == taken, "input has {} channels, weight {} in {} groups takes {}", x[1], weight, groups, taken
    )
    channels = weight[1] * groups if transposed else weight[0]
    require(weight[0] % groups == 0, "{} channels of weight cannot be split in {} groups", weight[0], groups)
    return channels


def _transposed_sizes(windows: Windows, sizes: Shape, added: Ints) -> Shape:
    padded = windows.padded_sizes(sizes)
    found = tuple(p - 2 * q + a for p, q, a in zip(padded, windows.padding, added, strict=True))
    require(min(found) > 0, "padding {} leaves nothing of sizes {}", windows.padding, padded)
    windows.check_reach(padded, found)
    return found


def _pointwise(x: Array, weight: Array, out: Array, groups: int, scratch: Scratch) -> Iterator[Step]:
    """Yield the steps that write weight @ image to out, for each image, whose elements are the windows."""
    per_window, count = weight.shape[1], math.prod(out.shape[2:])
    matrix, packing = packed(weight, (groups, len(weight) // groups, per_window), scratch)
    yield from packing
    for image, result in zip(x, out, strict=True):
        columns = viewed_as(image, (groups, per_window, count))
        yield ArrayCall(np.matmul, matrix, columns, viewed_as(result, (groups, -1, count)))


def _by_matrix(
    x: Array, weight: Array, out: Array, windows: Windows, groups: int, scratch: Scratch
) -> Iterator[Step]:
    """Yield the steps that write weight @ windows to out, for each image and each tile of rows."""
    channels, counts = x.shape[1], out.shape[2:]
    per_window = math.prod(weight.shape[1:])
    row_size = groups * per_window * math.prod(counts[1:])
    rows = min(counts[0], max(1, WINDOW_TILE_BYTES // (row_size * x.itemsize)))
    padding, buffer = scratch.arrays(
        ((channels, *windows.padded_sizes(counts)), x.dtype), ((rows * row_size,), x.dtype)
    )
    matrix, packing = packed(weight, (groups, len(weight) // groups, per_window), scratch)
    yield from packing
    for image, result in zip(x, out, strict=True):
        source, preparation = windows.padded(image, padding, constant(0, x.dtype))
        yield from preparation
        for first in range(0, counts[0], rows):
            tile = (min(rows, counts[0] - first), *counts[1:])
            columns = buffer[: tile[0] * row_size].reshape((channels, *windows.kernel, *tile))
            for offset in windows.offsets:
                yield copy_step(_at(columns, offset), windows.at(source, offset, tile, first))
            columns = columns.reshape((groups, per_window, math.prod(tile)))
            target = result[:, first : first + tile[0]]
            yield ArrayCall(np.matmul, matrix, columns, viewed_as(target, (groups, -1, math.prod(tile))))


def _transposed(
    x: Array, weight: Array, out: Array, windows: Windows, groups: int, scratch: Scratch
) -> Iterator[Step]:
    """Yield the steps that multiply weight.T @ x, and add each column to the window that it belongs to."""
    sizes, channels = x.shape[2:], out.shape[1]
    count, per_window = math.prod(sizes), math.prod(weight.shape[1:])
    ends = tuple(p + size for p, size in zip(windows.padding, out.shape[2:], strict=True))
    reach = tuple(map(max, windows.padded_sizes(sizes), ends))
    total, columns = scratch.arrays(
        ((channels, *reach), x.dtype), ((channels, *windows.kernel, *sizes), x.dtype)
    )
    matrix, packing = packed(weight, (groups, len(weight) // groups, per_window), scratch)
    yield from packing
    products = columns.reshape(groups, per_window, count)
    for image, result in zip(x, out, strict=True):
        source, packing = packed(image, (groups, len(image) // groups, count), scratch)
        yield from packing
        yield ArrayCall(np.matmul, np.swapaxes(matrix, 1, 2), source, products)
        yield ArrayCall(np.ndarray.fill, total, 0)
        for offset in windows.offsets:
            view = windows.at(total, offset, sizes)
            yield ArrayCall(np.add, view, _at(columns, offset), view)
        inner: tuple[Any, ...] = (slice(None), *map(slice, windows.padding, ends))
        yield copy_step(result, total[inner])


def _at(columns: Array, offset: Ints) -> Array:
    """Return the part (C, *sizes) of columns (C, *K, *sizes) for one position in the windows."""
    index: tuple[Any, ...] = (slice(None), *offset)
    view: Array = columns[index]
    return view


KERNELS = KernelTable.of_module(globals())
