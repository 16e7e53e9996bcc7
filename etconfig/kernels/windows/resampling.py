"""Resized images: (N, C, H, W) to (N, C, OH, OW). Dtypes: equal.

Either the output size is given, or factors: the output size is then the product, rounded down.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from etconfig.kernel.checks import require, require_floating, require_rank, require_same_dtype
from etconfig.kernel.memory import Array, Scratch
from etconfig.kernel.registry import Floats, Ints, Kernel, KernelTable, Step, kernel
from etconfig.kernel.step_makers import DType, computation_dtype, copy_selected, in_sequence, is_empty
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.kernels.windows.weighted_windows import WeightedWindows, check_weights, weighted_sums_step


@kernel("aten::upsample_nearest2d.vec_out")
def upsample_nearest2d(
    x: Tensor, output_size: Ints | None, scale_factors: Floats | None, out: Tensor
) -> Step:
    """Resize by taking the element that the upper left corner of each new element falls on."""
    steps = _prepare(x, output_size, scale_factors, out)
    if is_empty(out):
        return in_sequence()
    places = [_nearest(*each) for each in zip(x.shape[2:], out.shape[2:], steps, strict=True)]
    rows, columns = places[0][:, np.newaxis], places[1]
    return ArrayCall(copy_selected, out.array, x.array, (slice(None), slice(None), rows, columns))


def _nearest(size: int, count: int, step: float) -> Array:
    """Return the place of each of `count` elements; as in PyTorch, twice as many always come in pairs."""
    if count in (size, 2 * size):
        return np.arange(count) // (count // size)
    places: Array = np.minimum(np.floor(np.arange(count) * np.float32(step)).astype(np.int64), size - 1)
    return places


@kernel("aten::upsample_bilinear2d.vec_out")
def upsample_bilinear2d(
    x: Tensor,
    output_size: Ints | None,
    align_corners: bool,
    scale_factors: Floats | None,
    out: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Interpolate each element between its neighbors, by a product with a matrix for each axis."""
    require_floating("input", x)
    steps = _prepare(x, output_size, scale_factors, out)
    if is_empty(out):
        return in_sequence()
    dtype = computation_dtype(x.dtype)
    down, across = (
        _interpolation(size, count, step, align_corners, dtype)
        for size, count, step in zip(x.shape[2:], out.shape[2:], steps, strict=True)
    )
    return weighted_sums_step(x, (down, across), out, scratch)


def _antialiased(name: str, support: float, weights: Callable[[Array], Array]) -> Kernel:
    """Return the kernel that weighs all elements that a larger one covers, by distance up to `support`."""

    def bind(
        self: Tensor,
        output_size: Ints,
        align_corners: bool,
        scales_h: float | None,
        scales_w: float | None,
        out: Tensor,
        *,
        scratch: Scratch,
    ) -> Step:
        scales = (scales_h, scales_w)
        return _antialiased_step(support, weights, self, output_size, align_corners, scales, out, scratch)

    return Kernel((name,), bind)


def _antialiased_step(
    support: float,
    weights: Callable[[Array], Array],
    self: Tensor,
    output_size: Ints,
    align_corners: bool,
    scales: tuple[float | None, float | None],
    out: Tensor,
    scratch: Scratch,
) -> Step:
    require_floating("input", self)
    _prepare(self, output_size, None, out)
    if is_empty(out):
        return in_sequence()
    steps = [
        _step(size, count, scale, align_corners)
        for size, count, scale in zip(self.shape[2:], out.shape[2:], scales, strict=True)
    ]
    dtype = computation_dtype(self.dtype)
    down, across = (
        _antialiasing(size, count, step, dtype, support, weights)
        for size, count, step in zip(self.shape[2:], out.shape[2:], steps, strict=True)
    )
    return weighted_sums_step(self, (down, across), out, scratch)


def _prepare(x: Tensor, output_size: Ints | None, factors: Floats | None, out: Tensor) -> list[float]:
    """Resize `out`, and return the distances between its elements, in elements of `x`."""
    require_rank("input", x, 4)
    require_same_dtype(input=x, out=out)
    require((output_size is None) != (factors is None), "give either output_size or scale_factors")
    sizes = x.shape[2:]
    if factors is not None:
        require(
            len(factors) == 2 and min(factors) > 0,
            "scale_factors must be two positive numbers, not {}",
            factors,
        )
        output_size = tuple(int(size * factor) for size, factor in zip(sizes, factors, strict=True))
    assert output_size is not None
    require(
        len(output_size) == 2 and min(*output_size, *sizes) > 0,
        "{} cannot be resized to {}",
        sizes,
        output_size,
    )
    out.resize((*x.shape[:2], *output_size))
    if factors is not None:
        return [1 / factor for factor in factors]
    return [size / count for size, count in zip(sizes, output_size, strict=True)]


def _interpolation(size: int, count: int, step: float, align_corners: bool, dtype: DType) -> WeightedWindows:
    """Windows whose sums interpolate `count` elements from `size`; places round as PyTorch's."""
    check_weights(size, count)
    places = np.arange(count, dtype=dtype)
    if align_corners:
        positions = places * dtype.type((size - 1) / max(count - 1, 1))
    else:
        positions = np.maximum((places + dtype.type(0.5)) * dtype.type(step) - dtype.type(0.5), 0)
    before = np.minimum(positions.astype(np.int64), size - 1)
    after = np.minimum(before + 1, size - 1)
    share = np.clip(positions - before, 0, 1)
    matrix = np.zeros((count, size), dtype)
    np.add.at(matrix, (np.arange(count), before), 1 - share)
    np.add.at(matrix, (np.arange(count), after), share)
    return WeightedWindows(matrix, list(zip(before.tolist(), (after + 1).tolist(), strict=True)))


def _step(size: int, count: int, scale: float | None, align_corners: bool) -> float:
    """Return the distance between elements of the result, in elements of the image."""
    if align_corners:
        return (size - 1) / (count - 1) if count > 1 else 0.0
    return 1 / scale if scale else size / count


def _antialiasing(
    size: int, count: int, step: float, dtype: DType, support: float, weights: Callable[[Array], Array]
) -> WeightedWindows:
    """Windows with weights by distance, in elements of the result if these are larger."""
    check_weights(size, count)
    scale = max(step, 1.0)
    width = support * scale
    centers = (np.arange(count) + 0.5)[:, np.newaxis] * step
    first = np.maximum(np.trunc(centers - width + 0.5), 0).astype(np.int64)
    end = np.minimum(np.trunc(centers + width + 0.5), size).astype(np.int64)
    places = np.arange(size)
    matrix = weights(np.abs(places - centers + 0.5) / scale)
    matrix[(places < first) | (places >= end)] = 0
    sums: Array = matrix.sum(1, keepdims=True)
    matrix /= np.where(sums == 0, 1, sums)
    spans = list(zip(first[:, 0].tolist(), end[:, 0].tolist(), strict=True))
    return WeightedWindows(matrix.astype(dtype), spans)


def _triangle(distance: Array) -> Array:
    weights: Array = np.maximum(1 - distance, 0)
    return weights


def _cubic(distance: Array) -> Array:
    """Return Keys' cubic weights with the coefficient of Pillow, which PyTorch takes where it antialiases."""
    a = -0.5
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((distance - 5) * distance + 8) * distance * a - 4 * a
    return np.where(distance < 1, near, np.where(distance < 2, far, 0))


ANTIALIASED = (
    _antialiased("aten::_upsample_bilinear2d_aa.out", 1.0, _triangle),
    _antialiased("aten::_upsample_bicubic2d_aa.out", 2.0, _cubic),
)

KERNELS = KernelTable.of_module(globals())
