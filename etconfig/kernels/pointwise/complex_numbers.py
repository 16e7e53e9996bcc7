"""Complex tensors: Fourier transforms, and complex numbers as pairs of real ones."""

from __future__ import annotations

import math

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import broadcast_shape, dimensions, require, require_dtype, require_same_dtype
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import Ints, KernelTable, Step, kernel
from etconfig.kernel.step_makers import copy_step, in_sequence
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor

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


@kernel("aten::_fft_c2c.out")
def fft_c2c(self: Tensor, dim: Ints, normalization: int, forward: bool, out: Tensor) -> Step:
    """Compute the Fourier transform of complex numbers, or its inverse. Dtypes: equal."""
    require_dtype("self", self, COMPLEX)
    require_same_dtype(self=self, out=out)
    axes = dimensions(dim, self.array.ndim) if dim else ()
    out.resize(self.shape)
    count = math.prod(self.shape[axis] for axis in axes)
    factor = _factor(normalization, count) if axes else 1.0

    def run(x: Array, out: Array) -> None:
        if axes:  # "forward" leaves the inverse unscaled
            x = np.fft.fftn(x, axes=axes) if forward else np.fft.ifftn(x, axes=axes, norm="forward")
        np.copyto(out, x * factor, casting="same_kind")

    return ArrayCall(run, self.array, out.array)


@kernel("aten::view_as_complex_copy.out")
def view_as_complex_copy(self: Tensor, out: Tensor) -> Step:
    """Read pairs as real and imaginary parts. Shapes: self (*S, 2), out (*S)."""
    require_dtype("self", self, REAL)
    require_parts_of(out, self)
    require(self.shape[-1:] == (2,), "the last dimension of {} must have size 2", self.shape)
    out.resize(self.shape[:-1])
    return in_sequence(
        copy_step(out.array.real, self.array[..., 0]), copy_step(out.array.imag, self.array[..., 1])
    )


@kernel("aten::complex.out")
def complex_of(real: Tensor, imag: Tensor, out: Tensor) -> Step:
    """Write complex numbers of these parts, which broadcast."""
    require_same_dtype(real=real, imag=imag)
    require_parts_of(out, real)
    out.resize(broadcast_shape(real.shape, imag.shape))
    return in_sequence(copy_step(out.array.real, real.array), copy_step(out.array.imag, imag.array))


@kernel("aten::polar.out")
def polar(size: Tensor, angle: Tensor, out: Tensor) -> Step:
    """Write complex numbers of these absolute values and angles, which broadcast."""
    require_same_dtype(abs=size, angle=angle)
    require_parts_of(out, size)
    out.resize(broadcast_shape(size.shape, angle.shape))

    def run(size: Array, angle: Array, out: Array) -> None:
        np.multiply(size, np.cos(angle), out.real)
        np.multiply(size, np.sin(angle), out.imag)

    return ArrayCall(run, size.array, angle.array, out.array)


def require_parts_of(whole: Tensor, part: Tensor) -> None:
    """Require that a tensor has the complex dtype whose parts have another tensor's dtype."""
    require_dtype("out", whole, COMPLEX)
    require(whole.dtype.itemsize == 2 * part.dtype.itemsize, "{} has no parts of {}", whole.dtype, part.dtype)


def _factor(normalization: int, count: int) -> float:
    """Return a normalization's factor. Source: fft_norm_mode, aten/src/ATen/native/SpectralOpsUtils.h."""
    require(normalization in (0, 1, 2), "normalization must be 0, 1 or 2, not {}", normalization)
    return (1.0, 1 / math.sqrt(count), 1 / count)[normalization] if count else 1.0


KERNELS = KernelTable.of_module(globals())
