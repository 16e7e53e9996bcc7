"""Tensors made from numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from etconfig.kernel.checks import is_floating, require, require_floating
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import Ints, Kernel, KernelTable, Scalar, Step, kernel
from etconfig.kernel.step_makers import INT64, constant, copy_step
from etconfig.kernel.tensor import Tensor


def _fill(size: tuple[int, ...], value: Scalar, out: Tensor) -> Step:
    out.resize(size)
    return copy_step(out.array, constant(value, out.dtype))


@kernel("aten::full.out")
def full(size: Ints, fill_value: Scalar, out: Tensor) -> Step:
    """Fill a tensor with one value."""
    return _fill(size, fill_value, out)


@kernel("aten::full_like.out", is_elementwise=True)
def full_like(self: Tensor, fill_value: Scalar, memory_format: int | None, out: Tensor) -> Step:
    """Fill a tensor with one value, in the shape of `self`."""
    return _fill(self.shape, fill_value, out)


@kernel("aten::zeros.out")
def zeros(size: Ints, out: Tensor) -> Step:
    """Fill a tensor with zeros."""
    return _fill(size, 0, out)


@kernel("aten::ones.out")
def ones(size: Ints, out: Tensor) -> Step:
    """Fill a tensor with ones."""
    return _fill(size, 1, out)


@kernel("aten::empty.out")
def empty(size: Ints, memory_format: int | None, out: Tensor) -> Step:
    """Leave the contents open: zeros, so that runs can be repeated."""
    return _fill(size, 0, out)


@kernel("dim_order_ops::_empty_dim_order.out")
def empty_dim_order(size: Ints, dim_order: Ints | None, out: Tensor) -> Step:
    """Leave the contents open as `empty` does, in the dim order of `out`."""
    return _fill(size, 0, out)


@kernel("aten::scalar_tensor.out")
def scalar_tensor(s: Scalar, out: Tensor) -> Step:
    """Fill a tensor of rank 0."""
    return _fill((), s, out)


@kernel("aten::fill.Scalar_out")
def fill_scalar(self: Tensor, value: Scalar, out: Tensor) -> Step:
    """Fill a tensor with one value, in the shape of `self`."""
    return _fill(self.shape, value, out)


@kernel("aten::fill.Tensor_out")
def fill_tensor(self: Tensor, value: Tensor, out: Tensor) -> Step:
    """Fill a tensor with the value of a tensor of rank 0, in the shape of `self`."""
    require(value.array.size == 1, "value must have one element, but has shape {}", value.shape)
    out.resize(self.shape)
    return copy_step(out.array, value.array.reshape(()))


@kernel("aten::arange.out")
def arange(end: Scalar, out: Tensor) -> Step:
    """Count 0, 1, ... below `end`. Shapes: out (ceil(end),)."""
    return _count(0, end, 1, out)


@kernel("aten::arange.start_out")
def arange_start(start: Scalar, end: Scalar, step: Scalar, out: Tensor) -> Step:
    """Count start, start + step, ... before `end`. Shapes: out (ceil((end - start) / step),)."""
    return _count(start, end, step, out)


def _count(start: Scalar, end: Scalar, step: Scalar, out: Tensor) -> Step:
    if out.dtype == INT64:  # as in PyTorch, other integer types are counted in floats
        start, end, step = int(start), int(end), int(step)
    require(step != 0, "step must not be 0")
    count = math.ceil((end - start) / step)
    require(count >= 0, "{} cannot be reached from {} in steps of {}", end, start, step)
    out.resize((count,))
    if is_floating(out.dtype):
        values: Array = start + np.arange(count, dtype=np.float64) * float(step)
    else:
        values = int(start) + np.arange(count) * int(step)
    return copy_step(out.array, values)


@kernel("aten::empty_permuted.out")
def empty_permuted(size: Ints, physical_layout: Ints, out: Tensor) -> Step:
    """Leave the contents open as `empty` does, in the dim order of `out`."""
    return _fill(size, 0, out)


# --- indices of triangles, frequencies, windows --------------------------------------------


def _triangle(name: str, indices: Callable[[int, int, int], tuple[Array, Array]]) -> Kernel:
    def bind(row: int, col: int, offset: int, out: Tensor) -> Step:
        require(min(row, col) >= 0, "sizes {} and {} must not be negative", row, col)
        require(row * col <= MAX_PLACES, "{} x {} places are too many", row, col)
        places = np.stack(indices(row, max(min(offset, col), -row), col))
        out.resize(places.shape)
        return copy_step(out.array, places)

    return Kernel((name,), bind)


MAX_PLACES = 1 << 26
"""The most places of a matrix whose triangle is enumerated."""


def _frequencies(name: str, frequencies: Callable[[int, float], Array]) -> Kernel:
    def bind(n: int, d: float, out: Tensor) -> Step:
        require_floating("out", out)
        require(0 < n <= MAX_PLACES, "n must be positive and at most {}, not {}", MAX_PLACES, n)
        require(d != 0, "d must not be 0")
        values = frequencies(n, d)
        out.resize(values.shape)
        return copy_step(out.array, values)

    return Kernel((name,), bind)


def _window(name: str, values: Callable[[int], Array]) -> tuple[Kernel, Kernel]:
    """Return the kernels of a window: periodic unless said otherwise."""

    def with_period(window_length: int, periodic: bool, out: Tensor) -> Step:
        return _window_step(values, window_length, periodic, out)

    def plain(window_length: int, out: Tensor) -> Step:
        return _window_step(values, window_length, True, out)

    return Kernel((f"aten::{name}.out",), plain), Kernel((f"aten::{name}.periodic_out",), with_period)


def _window_step(values: Callable[[int], Array], length: int, periodic: bool, out: Tensor) -> Step:
    require_floating("out", out)
    require(0 <= length <= MAX_PLACES, "window_length must be from 0 to {}, not {}", MAX_PLACES, length)
    out.resize((length,))
    if length <= 1:
        return copy_step(out.array, np.ones(length))
    return copy_step(out.array, values(length + int(periodic))[:length])


@kernel("aten::hamming_window.periodic_alpha_out")
def hamming_window_alpha(window_length: int, periodic: bool, alpha: float, out: Tensor) -> Step:
    """Write a Hamming window with a coefficient of its own."""
    return _window_step(lambda n: _cosine(n, alpha, 0.46), window_length, periodic, out)


@kernel("aten::hamming_window.periodic_alpha_beta_out")
def hamming_window_alpha_beta(
    window_length: int, periodic: bool, alpha: float, beta: float, out: Tensor
) -> Step:
    """Write a Hamming window with both coefficients of its own."""
    return _window_step(lambda n: _cosine(n, alpha, beta), window_length, periodic, out)


@kernel("aten::kaiser_window.beta_out")
def kaiser_window_beta(window_length: int, periodic: bool, beta: float, out: Tensor) -> Step:
    """Write a Kaiser window of another shape."""
    return _window_step(lambda n: np.kaiser(n, beta), window_length, periodic, out)


def _cosine(n: int, alpha: float, beta: float) -> Array:
    values: Array = alpha - beta * np.cos(2 * np.pi * np.arange(n) / (n - 1))
    return values


TRIANGLES = (
    _triangle("aten::tril_indices.out", np.tril_indices),
    _triangle("aten::triu_indices.out", np.triu_indices),
)

FREQUENCIES = (
    _frequencies("aten::fft_fftfreq.out", np.fft.fftfreq),
    _frequencies("aten::fft_rfftfreq.out", np.fft.rfftfreq),
)

WINDOWS = (
    *_window("bartlett_window", np.bartlett),
    *_window("blackman_window", np.blackman),
    *_window("hamming_window", lambda n: _cosine(n, 0.54, 0.46)),
    *_window("hann_window", np.hanning),
    *_window("kaiser_window", lambda n: np.kaiser(n, 12.0)),
)

KERNELS = KernelTable.of_module(globals())
