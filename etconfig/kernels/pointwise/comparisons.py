"""Comparisons, logic and bits, of two tensors or of a tensor and a number."""

from __future__ import annotations

import numpy as np

from etconfig.kernel.checks import broadcast_shape, is_floating, require
from etconfig.kernel.registry import Kernel, KernelTable, Scalar, Step
from etconfig.kernel.step_makers import (
    BOOL,
    DType,
    computation_dtype,
    require_castable,
    result_dtype,
    ufunc_step,
    wrapped,
)
from etconfig.kernel.tensor import Tensor


def _comparison(name: str, ufunc: np.ufunc) -> tuple[Kernel, Kernel]:
    """Return the kernels of a comparison in the promoted dtype, to which a number is rounded or wrapped."""

    def with_tensor(self: Tensor, other: Tensor, out: Tensor) -> Step:
        out.resize(broadcast_shape(self.shape, other.shape))
        dtype = computation_dtype(result_dtype(self, other))
        return ufunc_step(ufunc, (self.array, other.array), out.array, dtype, BOOL)

    def with_scalar(self: Tensor, other: Scalar, out: Tensor) -> Step:
        out.resize(self.shape)
        compared = result_dtype(self, other)
        dtype, number = computation_dtype(compared), wrapped(other, compared)
        return ufunc_step(ufunc, (self.array, number.astype(dtype)), out.array, dtype, BOOL)

    return (
        Kernel((f"aten::{name}.Tensor_out",), with_tensor, is_uniform=True, is_elementwise=True),
        Kernel((f"aten::{name}.Scalar_out",), with_scalar, is_uniform=True, is_elementwise=True),
    )


def _logical(name: str, ufunc: np.ufunc) -> Kernel:
    """Return the kernel of a logical operation on elements, which are true unless zero; inputs broadcast."""

    def bind(self: Tensor, other: Tensor, out: Tensor) -> Step:
        out.resize(broadcast_shape(self.shape, other.shape))
        dtype = computation_dtype(result_dtype(self, other))
        return ufunc_step(ufunc, (self.array, other.array), out.array, dtype, BOOL)

    return Kernel((f"aten::{name}.out",), bind, is_uniform=True, is_elementwise=True)


def _bitwise(name: str, ufunc: np.ufunc, scalar_overload: str = "Scalar_out") -> tuple[Kernel, Kernel]:
    """Return the kernels of an operation on the bits of integers, or on booleans; inputs broadcast."""

    def with_tensor(self: Tensor, other: Tensor, out: Tensor) -> Step:
        dtype = _bits_dtype(self, other, out)
        out.resize(broadcast_shape(self.shape, other.shape))
        return ufunc_step(ufunc, (self.array, other.array), out.array, dtype)

    def with_scalar(self: Tensor, other: Scalar, out: Tensor) -> Step:
        dtype = _bits_dtype(self, other, out)
        out.resize(self.shape)
        return ufunc_step(ufunc, (self.array, wrapped(other, dtype)), out.array, dtype)

    return (
        Kernel((f"aten::{name}.Tensor_out",), with_tensor, is_uniform=True, is_elementwise=True),
        Kernel((f"aten::{name}.{scalar_overload}",), with_scalar, is_uniform=True, is_elementwise=True),
    )


def _bits_dtype(self: Tensor, other: Tensor | Scalar, out: Tensor) -> DType:
    dtype = result_dtype(self, other)
    require(not is_floating(dtype), "bits are of integers or booleans, not of {}", dtype.name)
    require_castable(dtype, out)
    return dtype


COMPARISONS = (
    *_comparison("eq", np.equal),
    *_comparison("ne", np.not_equal),
    *_comparison("lt", np.less),
    *_comparison("le", np.less_equal),
    *_comparison("gt", np.greater),
    *_comparison("ge", np.greater_equal),
)

LOGIC = (
    _logical("logical_and", np.logical_and),
    _logical("logical_or", np.logical_or),
    _logical("logical_xor", np.logical_xor),
)

BITS = (
    *_bitwise("bitwise_and", np.bitwise_and),
    *_bitwise("bitwise_or", np.bitwise_or),
    *_bitwise("bitwise_xor", np.bitwise_xor),
    *_bitwise("bitwise_left_shift", np.left_shift, "Tensor_Scalar_out"),
    *_bitwise("bitwise_right_shift", np.right_shift, "Tensor_Scalar_out"),
    *_bitwise("__lshift__", np.left_shift),
    *_bitwise("__rshift__", np.right_shift),
)

KERNELS = KernelTable.of_module(globals())
