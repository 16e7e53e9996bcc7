"""Scales and zero points, chosen from the range of the data.

The arithmetic follows eager PyTorch, torch.ao.quantization, in the dtype of x. The range is from
the smallest to the largest element, and includes zero. Shapes: x (*S). Dtypes: x floating, scale_out
float64, zero_point_out int64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import require, require_dtype, require_floating
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import Kernel, KernelTable, Step, kernel
from etconfig.kernel.step_makers import FLOAT32, computation_dtype
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor

TOKEN_RANGE = (-128, 127)
"""The range of int8, to which rows are quantized."""

Range: TypeAlias = "tuple[Array, Array]"
"""The smallest and the largest element, zero included."""

ChooseParameters: TypeAlias = Callable[[Range, int, int, float, int], "tuple[Array, Array | int]"]
"""Takes the range, quant_min, quant_max, eps and dtype; returns the scale and the zero point."""


def _affine(given: Range, low: int, high: int, eps: float, dtype: int) -> tuple[Array, Array | int]:
    smallest, largest = given
    scale = np.maximum(_over(largest - smallest, high - low).astype(FLOAT32), np.float32(eps))
    return scale, np.clip(low - np.rint(smallest.astype(FLOAT32) / scale).astype(np.int64), low, high)


def _symmetric(given: Range, low: int, high: int, eps: float, dtype: int) -> tuple[Array, Array | int]:
    smallest, largest = given
    scale = _over(np.maximum(-smallest, largest), (high - low) / 2).astype(FLOAT32)
    return np.maximum(scale, np.float32(eps)), 128 if dtype == ScalarType.BYTE else 0


def _over(values: Array, divisor: float) -> Array:
    """Divide by a number that need not be exact in the dtype of the values."""
    work = computation_dtype(values.dtype)
    quotient: Array = (values.astype(work) / work.type(divisor)).astype(values.dtype)
    return quotient


def _for_all(name: str, choose: ChooseParameters) -> Kernel:
    """Return the kernel that chooses one scale and zero point. Shapes: scale_out and zero_point_out (1,)."""

    def bind(
        x: Tensor,
        quant_min: int,
        quant_max: int,
        eps: float,
        dtype: int,
        scale_out: Tensor,
        zero_point_out: Tensor,
    ) -> Step:
        require(quant_min < quant_max, "quant_min {} must be less than quant_max {}", quant_min, quant_max)
        require(x.array.size > 0, "a tensor without elements has no range")
        _prepare(x, (1,), scale_out, zero_point_out)

        def run(x: Array, scales: Array, zero_points: Array) -> None:
            scales[:], zero_points[:] = choose(_range(x, None), quant_min, quant_max, eps, dtype)

        return ArrayCall(run, x.array, scale_out.array, zero_point_out.array)

    return Kernel((name,), bind)


FOR_ALL = (
    _for_all("quantized_decomposed::choose_qparams.Tensor_out", _affine),
    _for_all("quantized_decomposed::choose_qparams_symmetric.tensor_out", _symmetric),
)


@kernel("quantized_decomposed::choose_qparams_per_token_asymmetric.out")
def choose_qparams_per_token_asymmetric(
    x: Tensor, dtype: int, scale_out: Tensor, zero_point_out: Tensor
) -> Step:
    """Choose parameters of int8 for each row. Shapes: scale_out and zero_point_out (*S, 1)."""
    _prepare_rows(x, scale_out, zero_point_out)
    low, high = map(x.dtype.type, TOKEN_RANGE)
    eps = np.array(np.finfo(np.float32).eps).astype(x.dtype)

    def run(x: Array, scales: Array, zero_points: Array) -> None:
        smallest, largest = _range(x, -1)
        scale = np.maximum(_over(largest - smallest, 255), eps)
        below, above = smallest / scale, largest / scale
        place = np.where((low + below) + (high + above) > 0, low - below, high - above)
        np.copyto(scales, scale, casting="unsafe")
        np.copyto(zero_points, np.rint(np.clip(place, low, high)), casting="unsafe")

    return ArrayCall(run, x.array, scale_out.array, zero_point_out.array)


@kernel("quantized_decomposed::choose_qparams_per_token.out")
def choose_qparams_per_token(x: Tensor, dtype: int, scale_out: Tensor, zero_point_out: Tensor) -> Step:
    """Choose a scale for each row, with a zero point of 0."""
    _prepare_rows(x, scale_out, zero_point_out)
    require(dtype == ScalarType.CHAR, "rows are quantized to int8, not to {}", dtype)
    return ArrayCall(_write_symmetric_rows, x.array, scale_out.array, zero_point_out.array)


def _write_symmetric_rows(x: Array, scales: Array, zero_points: Array) -> None:
    smallest, largest = _range(x, -1)
    extent = np.maximum(-smallest, largest)
    extent = extent.astype(np.float32) if extent.dtype == np.float16 else extent
    np.copyto(scales, _over(np.maximum(extent, extent.dtype.type(1e-5)), 127), casting="unsafe")
    zero_points.fill(0)


def _range(x: Array, axis: int | None) -> Range:
    zero = x.dtype.type(0)
    keepdims = axis is not None
    smallest = np.minimum(np.min(x, axis=axis, keepdims=keepdims), zero)  # type: ignore[call-overload]  # numpy 2.5
    largest = np.maximum(np.max(x, axis=axis, keepdims=keepdims), zero)  # type: ignore[call-overload]  # numpy 2.5
    return np.asarray(smallest), np.asarray(largest)


def _prepare_rows(x: Tensor, scale_out: Tensor, zero_point_out: Tensor) -> None:
    require(x.array.ndim >= 1 and x.shape[-1] > 0, "{} has no rows with elements", x.shape)
    _prepare(x, (*x.shape[:-1], 1), scale_out, zero_point_out)


def _prepare(x: Tensor, shape: tuple[int, ...], scale_out: Tensor, zero_point_out: Tensor) -> None:
    require_floating("input", x)
    require_floating("scale_out", scale_out)
    require_dtype("zero_point_out", zero_point_out, {ScalarType.LONG})
    scale_out.resize(shape)
    zero_point_out.resize(shape)


KERNELS = KernelTable.of_module(globals())
