"""Complex tensors: Fourier transforms, and complex numbers as pairs of real ones."""

from __future__ import annotations

import math

import numpy as np

from etconfig.kernel.checks import dimensions, require, require_dtype
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import Ints, KernelTable, Step, kernel
from etconfig.kernel.step_makers import copy_step, in_sequence
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.scalar_types import ScalarType

REAL = frozenset({ScalarType.FLOAT, ScalarType.DOUBLE})
COMPLEX = frozenset({ScalarType.COMPLEX64, ScalarType.COMPLEX128})


@kernel("aten::view_as_real_copy.out")
def view_as_real_copy(self: Tensor, out: Tensor) -> Step:
    """Write real and imaginary parts side by side. Shapes: self (*S), out (*S, 2)."""
    require_dtype("self", self, COMPLEX)
    require_dtype("out", out, REAL)
    out.resize((*self.shape, 2))
    return in_sequence(
        copy_step(out.array[..., 0], self.array.real), copy_step(out.array[..., 1], self.array.imag)
    )


@kernel("aten::_fft_r2c.out")
def fft_r2c(self: Tensor, dim: Ints, normalization: int, onesided: bool, out: Tensor) -> Step:
    """Compute the Fourier transform of real numbers; one-sided, it halves the last dimension."""
    require_dtype("self", self, REAL)
    require_dtype("out", out, COMPLEX)
    axes = dimensions(dim, self.array.ndim)
    shape = list(self.shape)
    if onesided:
        shape[axes[-1]] = shape[axes[-1]] // 2 + 1
    out.resize(tuple(shape))
    factor = _factor(normalization, math.prod(self.shape[axis] for axis in axes))
    transform = np.fft.rfftn if onesided else np.fft.fftn

    def run(x: Array, out: Array) -> None:
        np.copyto(out, transform(x, axes=axes) * factor, casting="same_kind")

    return ArrayCall(run, self.array, out.array)


@kernel("aten::_fft_c2r.out")
def fft_c2r(self: Tensor, dim: Ints, normalization: int, last_dim_size: int, out: Tensor) -> Step:
    """Invert a one-sided transform of real numbers, whose last dimension had `last_dim_size` elements."""
    require_dtype("self", self, COMPLEX)
    require_dtype("out", out, REAL)
    axes = dimensions(dim, self.array.ndim)
    require(bool(axes), "a tensor of rank 0 has no dimension to transform")
    shape = list(self.shape)
    require(last_dim_size >= 1, "last_dim_size must be positive, not {}", last_dim_size)
    shape[axes[-1]] = last_dim_size
    out.resize(tuple(shape))
    sizes = [shape[axis] for axis in axes]
    factor = _factor(normalization, math.prod(sizes))

    def run(x: Array, out: Array) -> None:
        values = np.fft.irfftn(x, sizes, axes, norm="forward")  # "forward" leaves the inverse unscaled
        np.copyto(out, values * factor, casting="same_kind")

    return ArrayCall(run, self.array, out.array)


def _factor(normalization: int, count: int) -> float:
    """Return a normalization's factor. Source: fft_norm_mode, aten/src/ATen/native/SpectralOpsUtils.h."""
    require(normalization in (0, 1, 2), "normalization must be 0, 1 or 2, not {}", normalization)
    return (1.0, 1 / math.sqrt(count), 1 / count)[normalization] if count else 1.0


KERNELS = KernelTable.of_module(globals())
