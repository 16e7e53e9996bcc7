"""Maxima of windows at random places: fractional pooling of images and volumes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import require, require_dtype, require_floating, require_same_dtype
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import Ints, Kernel, KernelTable, Step
from etconfig.kernel.step_makers import computation_dtype
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor


def _fractional(name: str, rank: int) -> Kernel:
    """Return the kernel that pools the last `rank` dimensions to a given size.

    Shapes: self (*B, C, *S), random_samples (N, C, rank) in [0, 1), output and indices (*B, C, *output_size).
    """

    def bind(
        self: Tensor,
        kernel_size: Ints,
        output_size: Ints,
        random_samples: Tensor,
        output: Tensor,
        indices: Tensor,
    ) -> Step:
        require_floating("self", self)
        require_same_dtype(self=self, random_samples=random_samples, output=output)
        require_dtype("indices", indices, {ScalarType.LONG})
        require(self.array.ndim in (rank + 1, rank + 2), "self has rank {}", self.array.ndim)
        for each in (kernel_size, output_size):
            require(len(each) == rank and min(each) > 0, "{} must be {} positive sizes", each, rank)
        sizes = self.shape[-rank:]
        for size, window, count in zip(sizes, kernel_size, output_size, strict=True):
            require(count + window - 1 <= size, "{} windows of {} do not fit {}", count, window, size)
        planes = self.shape[:-rank]
        samples = (*(1 for _ in range(2 - len(planes))), *planes, rank)
        require(random_samples.shape == samples, "random_samples must have shape {}", samples)
        output.resize((*planes, *output_size))
        indices.resize((*planes, *output_size))

        def run(x: Array, samples: Array, output: Array, indices: Array) -> None:
            wide = x.astype(computation_dtype(x.dtype), copy=False)
            is_valid = bool(((samples >= 0) & (samples <= 1)).all())
            require(is_valid, "random_samples must be numbers from 0 to 1")
            by_plane = samples.astype(wide.dtype, copy=False).reshape(*planes, rank)
            for plane in np.ndindex(planes):
                # samples come for the last dimension first
                starts = [
                    _starts(sample, size, window, count)
                    for sample, size, window, count in zip(
                        by_plane[plane][::-1], sizes, kernel_size, output_size, strict=True
                    )
                ]
                values, places = _largest(wide[plane], starts, kernel_size)
                np.copyto(output[plane], values, casting="unsafe")
                np.copyto(indices[plane], places)

        return ArrayCall(run, self.array, random_samples.array, output.array, indices.array)

    return Kernel((name,), bind)


def _starts(sample: Array, size: int, window: int, count: int) -> Array:
    """Return where the windows of one dimension begin: spread by a random share, the last one at the end."""
    starts = np.full(count, size - window)
    if count > 1:
        step = sample.dtype.type(size - window) / sample.dtype.type(count - 1)
        places = (np.arange(count - 1, dtype=sample.dtype) + sample) * step
        starts[:-1] = places.astype(np.int64) - int(sample * step)
    return starts


def _largest(x: Array, starts: Sequence[Array], window: Ints) -> tuple[Array, Array]:
    """Return the largest element of each window, and its place in row-major order; NaN wins."""
    views = sliding_window_view(x, window)[np.ix_(*starts)]
    flat = views.reshape(*views.shape[: x.ndim], -1)
    best = flat.argmax(-1)
    within = np.unravel_index(best, window)
    grids = np.meshgrid(*starts, indexing="ij")
    places = np.ravel_multi_index(tuple(a + b for a, b in zip(grids, within, strict=True)), x.shape)
    return np.take_along_axis(flat, best[..., np.newaxis], -1)[..., 0], places


POOLS = (
    _fractional("aten::fractional_max_pool2d.output", 2),
    _fractional("aten::fractional_max_pool3d.output", 3),
)

KERNELS = KernelTable.of_module(globals())
