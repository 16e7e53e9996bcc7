"""Activation functions. Shapes: self (*S), out (*S). Dtypes: equal."""

from __future__ import annotations

import numpy as np

from etconfig.kernel.checks import dimension, is_floating, require, require_floating, require_same_dtype
from etconfig.kernel.memory import Array, Scratch
from etconfig.kernel.registry import KernelTable, Scalar, Step, kernel
from etconfig.kernel.step_makers import (
    BOOL,
    DType,
    computation_dtype,
    constant,
    in_dtype,
    in_sequence,
)
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.kernels.pointwise.arithmetic import clamp_step
from etconfig.kernels.pointwise.math_functions import sigmoid_step


def _prepare(self: Tensor, out: Tensor) -> DType:
    require_same_dtype(self=self, out=out)
    out.resize(self.shape)
    return computation_dtype(self.dtype)


@kernel("aten::relu.out", is_uniform=True, allows_overlap=True)
def relu(self: Tensor, out: Tensor) -> Step:
    """Compute max(self, 0); NaN stays."""
    dtype = _prepare(self, out)
    require(dtype != BOOL, "booleans have no relu")
    return clamp_step(self.array, constant(0, dtype), None, out.array, dtype)


@kernel("aten::hardtanh.out", is_uniform=True, allows_overlap=True)
def hardtanh(self: Tensor, min_val: Scalar, max_val: Scalar, out: Tensor) -> Step:
    """Limit to [min_val, max_val]; NaN stays."""
    dtype = _prepare(self, out)
    return clamp_step(self.array, constant(min_val, dtype), constant(max_val, dtype), out.array, dtype)


@kernel("aten::leaky_relu.out")
def leaky_relu(self: Tensor, negative_slope: Scalar, out: Tensor, *, scratch: Scratch) -> Step:
    """Keep positive elements, and multiply others by negative_slope."""
    dtype = _prepare_floating(self, out)
    zero, slope = constant(0, dtype), constant(negative_slope, dtype)
    is_positive = scratch.array(self.shape, BOOL)

    def passes(x: Array, out: Array) -> Step:
        return in_sequence(
            ArrayCall(np.greater, x, zero, is_positive),
            ArrayCall(np.multiply, x, slope, out),
            ArrayCall(np.copyto, out, x, where=is_positive),
        )

    return in_dtype(dtype, (self.array,), out.array, passes)


@kernel("aten::elu.out")
def elu(
    self: Tensor, alpha: Scalar, scale: Scalar, input_scale: Scalar, out: Tensor, *, scratch: Scratch
) -> Step:
    """Compute scale * self where self is positive, else scale * alpha * expm1(input_scale * self)."""
    dtype = _prepare_floating(self, out)
    zero, positive_slope = constant(0, dtype), constant(scale, dtype)
    factor, input_factor = constant(scale * alpha, dtype), constant(input_scale, dtype)
    is_positive = scratch.array(self.shape, BOOL)

    def passes(x: Array, out: Array) -> Step:
        return in_sequence(
            ArrayCall(np.greater, x, zero, is_positive),
            ArrayCall(np.multiply, x, input_factor, out),
            ArrayCall(np.expm1, out, out),
            ArrayCall(np.multiply, out, factor, out),
            ArrayCall(np.multiply, x, positive_slope, out, where=is_positive),
        )

    return in_dtype(dtype, (self.array,), out.array, passes)


@kernel("aten::silu.out")
def silu(self: Tensor, out: Tensor) -> Step:
    """Multiply each element by its sigmoid."""
    dtype = _prepare_floating(self, out)

    def passes(x: Array, out: Array) -> Step:
        return in_sequence(sigmoid_step(x, out), ArrayCall(np.multiply, out, x, out))

    return in_dtype(dtype, (self.array,), out.array, passes)


@kernel("aten::hardsigmoid.out")
def hardsigmoid(self: Tensor, out: Tensor) -> Step:
    """Compute min(max(self + 3, 0), 6) / 6; NaN stays."""
    dtype = _prepare_floating(self, out)
    return in_dtype(dtype, (self.array,), out.array, lambda x, out: _hard_gate(x, out, dtype))


@kernel("aten::hardswish.out")
def hardswish(self: Tensor, out: Tensor, *, scratch: Scratch) -> Step:
    """Compute self * min(max(self + 3, 0), 6) / 6."""
    dtype = _prepare_floating(self, out)
    gate = scratch.array(self.shape, dtype)
    three, six = constant(3, dtype), constant(6, dtype)

    def passes(x: Array, out: Array) -> Step:
        return in_sequence(
            ArrayCall(np.add, x, three, gate),
            clamp_step(gate, constant(0, dtype), six, gate, dtype),
            ArrayCall(np.multiply, x, gate, out),
            ArrayCall(np.divide, out, six, out),
        )

    return in_dtype(dtype, (self.array,), out.array, passes)


def _hard_gate(x: Array, out: Array, dtype: DType) -> Step:
    six = constant(6, dtype)
    return in_sequence(
        ArrayCall(np.add, x, constant(3, dtype), out),
        clamp_step(out, constant(0, dtype), six, out, dtype),
        ArrayCall(np.divide, out, six, out),
    )


@kernel("aten::glu.out")
def glu(self: Tensor, dim: int, out: Tensor) -> Step:
    """Multiply the first half of self along `dim` by the sigmoid of the second half.

    Shapes: self (*S) with an even size at `dim`, out (*S) with half of it.
    """
    require_floating("self", self)
    require_same_dtype(self=self, out=out)
    axis = dimension(dim, self.array.ndim)
    require(
        self.array.ndim > 0 and self.shape[axis] % 2 == 0, "dimension {} of {} is not even", dim, self.shape
    )
    values, gates = np.split(self.array, 2, axis)
    out.resize(values.shape)

    def passes(values: Array, gates: Array, out: Array) -> Step:
        return in_sequence(sigmoid_step(gates, out), ArrayCall(np.multiply, out, values, out))

    return in_dtype(computation_dtype(self.dtype), (values, gates), out.array, passes)


@kernel("aten::logit.out")
def logit(self: Tensor, eps: float | None, out: Tensor) -> Step:
    """Compute log(x / (1 - x)), after limiting x to [eps, 1 - eps] if eps is given. Integers give floats."""
    require_floating("out", out)
    out.resize(self.shape)
    dtype = computation_dtype(out.dtype)
    one = constant(1, dtype)

    def passes(x: Array, out: Array) -> Step:
        limited, steps = x, []
        if eps is not None:
            limited = np.empty_like(x)
            # as in PyTorch, the limits are rounded to self's dtype, even if it has 16 bits
            limits_dtype = self.dtype if is_floating(self.dtype) else dtype
            low, high = (constant(each, limits_dtype) for each in (eps, 1 - eps))
            steps.append(clamp_step(x, low, high, limited, dtype))
        return in_sequence(
            *steps,
            ArrayCall(np.subtract, one, limited, out),
            ArrayCall(np.divide, limited, out, out),
            ArrayCall(np.log, out, out),
        )

    return in_dtype(dtype, (self.array,), out.array, passes)


def _prepare_floating(self: Tensor, out: Tensor) -> DType:
    require_floating("self", self)
    return _prepare(self, out)


KERNELS = KernelTable.of_module(globals())
