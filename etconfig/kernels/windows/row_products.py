"""Convolution by a product for each row of the weights, with a part of one matrix.

The windows' columns are copied into a matrix once for all rows of the weights: the part for the next row lies
one row of the image further. This copies less than whole windows would take, but must add up the products.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from etconfig.kernel.memory import Array, Scratch
from etconfig.kernel.registry import Step
from etconfig.kernel.step_makers import constant, copy_step, packed, viewed_as
from etconfig.kernel.steps import ArrayCall
from etconfig.kernels.windows.pooling_windows import Windows

ROW_TILE_BYTES = 4 << 20
"""About the largest size of the matrix; a larger one is made and used in parts."""

PACKED_ROWS_BYTES = 4 << 20
"""The largest size of the weights, which are copied since the weights of one row are not contiguous."""


def are_rows_better(x: Array, weight: Array, out: Array, windows: Windows) -> bool:
    """Return whether `row_steps` suits these sizes: it must add up no more products than it saves copies."""
    if len(windows.kernel) == 1 or windows.kernel[0] == 1 or weight.nbytes > PACKED_ROWS_BYTES:
        return False
    if 2 * _further(windows) * _line_bytes(x, out, windows) > ROW_TILE_BYTES:
        return False
    most: int = x.shape[1] * math.prod(windows.kernel[1:])
    return len(weight) <= most


def _further(windows: Windows) -> int:
    """Return the number of lines of the matrix between the first and the last row of the weights."""
    return (windows.kernel[0] - 1) * windows.dilation[0] // windows.stride[0]


def _line_bytes(x: Array, out: Array, windows: Windows) -> int:
    """Return the most bytes that the matrix takes for one line of windows."""
    columns = x.shape[1] * math.prod(windows.kernel[1:]) * min(windows.kernel[0], windows.stride[0])
    size: int = columns * math.prod(out.shape[3:]) * x.itemsize
    return size


def row_steps(
    x: Array, weight: Array, out: Array, windows: Windows, groups: int, scratch: Scratch
) -> Iterator[Step]:
    """Yield the steps that write the convolution to `out`.

    Shapes: x (N, C, *S), weight (O, C / groups, *K), out (N, O, *T), of two or three spatial dimensions.
    """
    channels, counts, kernel = x.shape[1], out.shape[2:], windows.kernel
    stride, area = windows.stride[0], math.prod(counts[1:])
    places = [divmod(tap * windows.dilation[0], stride) for tap in range(kernel[0])]
    phases = sorted({phase for _, phase in places})
    further = _further(windows)
    rows = min(counts[0], max(1, ROW_TILE_BYTES // _line_bytes(x, out, windows) - further))
    padding, matrix, terms = scratch.arrays(
        ((channels, *windows.padded_sizes(counts)), x.dtype),
        ((channels, *kernel[1:], len(phases), rows + further, *counts[1:]), x.dtype),
        ((len(weight) * rows * area,), x.dtype),
    )
    columns = matrix.reshape(groups, -1, len(phases), (rows + further) * area)
    weights = [
        packed(weight[:, :, tap], (groups, len(weight) // groups, -1), scratch) for tap in range(kernel[0])
    ]
    for _, packing in weights:
        yield from packing
    for image, result in zip(x, out, strict=True):
        source, preparation = windows.padded(image, padding, constant(0, x.dtype))
        yield from preparation
        for first in range(0, counts[0], rows):
            count = min(rows, counts[0] - first)
            for index, phase in enumerate(phases):
                start = first * stride + phase
                lines = source[:, start : start + (count + further) * stride : stride]
                yield from _copies(matrix, index, lines[:, : count + further], windows)
            total = viewed_as(result[:, first : first + count], (groups, -1, count * area))
            term = terms[: total.size].reshape(total.shape)
            for (factors, _), (row, phase) in zip(weights, places, strict=True):
                part = columns[:, :, phases.index(phase), row * area : (row + count) * area]
                is_first = factors is weights[0][0]
                yield ArrayCall(np.matmul, factors, part, total if is_first else term)
                if not is_first:
                    yield ArrayCall(np.add, total, term, total)


def _copies(matrix: Array, phase: int, lines: Array, windows: Windows) -> Iterator[Step]:
    """Yield the steps that copy `lines` (C, rows, *sizes) to `matrix` (C, *K[1:], phases, rows, *T[1:])."""
    across = Windows(windows.kernel[1:], windows.stride[1:], windows.padding[1:], windows.dilation[1:])
    for offset in product(*map(range, across.kernel)):
        place: tuple[Any, ...] = (slice(None), *offset, phase, slice(lines.shape[1]))
        target = matrix[place]
        yield copy_step(target, across.at(lines, offset, target.shape[2:]))
