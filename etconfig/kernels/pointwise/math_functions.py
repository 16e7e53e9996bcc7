"""Elementwise functions of one tensor."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import is_floating, require, require_dtype, require_floating, require_same_dtype
from etconfig.kernel.memory import Array, Scratch
from etconfig.kernel.registry import Kernel, KernelTable, Step, kernel
from etconfig.kernel.step_makers import (
    BOOL,
    computation_dtype,
    constant,
    copy_step,
    in_dtype,
    in_sequence,
    ufunc_step,
)
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.kernels.pointwise.error_function import erf_step


def _floating(name: str, ufunc: np.ufunc) -> Kernel:
    """Return the kernel of a function with floating results; integers are converted to out's dtype first."""

    def bind(self: Tensor, out: Tensor) -> Step:
        _prepare_floating(self, out)
        return ufunc_step(ufunc, (self.array,), out.array, computation_dtype(out.dtype))

    return Kernel((name,), bind, is_uniform=True, is_elementwise=True)


def _floating_passes(name: str, steps: Callable[[Array, Array], Step]) -> Kernel:
    """Return such a kernel for a function of several passes: `steps(x, out)` for x and out of one dtype."""

    def bind(self: Tensor, out: Tensor) -> Step:
        _prepare_floating(self, out)
        return in_dtype(computation_dtype(out.dtype), (self.array,), out.array, steps)

    return Kernel((name,), bind, is_uniform=True, is_elementwise=True)


def _prepare_floating(self: Tensor, out: Tensor) -> None:
    require_floating("out", out)
    out.resize(self.shape)


def _same_dtype(name: str, ufunc: np.ufunc, *, is_identity_on_integers: bool = False) -> Kernel:
    """Return the kernel of a function whose result has the dtype of its input."""

    def bind(self: Tensor, out: Tensor) -> Step:
        require_same_dtype(self=self, out=out)
        out.resize(self.shape)
        if is_identity_on_integers and not is_floating(self.dtype):
            return copy_step(out.array, self.array)
        return ufunc_step(ufunc, (self.array,), out.array, computation_dtype(out.dtype))

    return Kernel((name,), bind, is_uniform=True, is_elementwise=True)


def _predicate(name: str, ufunc: np.ufunc) -> Kernel:
    """Return the kernel of a function with boolean results."""

    def bind(self: Tensor, out: Tensor) -> Step:
        out.resize(self.shape)
        return ufunc_step(ufunc, (self.array,), out.array, computation_dtype(self.dtype), BOOL)

    return Kernel((name,), bind, is_uniform=True, is_elementwise=True)


def _reciprocal_square_root(x: Array, out: Array) -> Step:
    return in_sequence(
        ufunc_step(np.sqrt, (x,), out, x.dtype),
        ufunc_step(np.reciprocal, (out,), out, x.dtype),
    )


def sigmoid_step(x: Array, out: Array) -> Step:
    """Return the step of 1 / (1 + exp(-x)), whose small results are more precise than by way of tanh."""
    one = constant(1, x.dtype)
    return in_sequence(
        ufunc_step(np.negative, (x,), out, x.dtype),
        ufunc_step(np.exp, (out,), out, x.dtype),
        ufunc_step(np.add, (out, one), out, x.dtype),
        ufunc_step(np.reciprocal, (out,), out, x.dtype),
    )


FLOATING_FUNCTIONS = (
    _floating("aten::acos.out", np.arccos),
    _floating("aten::acosh.out", np.arccosh),
    _floating("aten::asin.out", np.arcsin),
    _floating("aten::asinh.out", np.arcsinh),
    _floating("aten::atan.out", np.arctan),
    _floating("aten::atanh.out", np.arctanh),
    _floating("aten::cos.out", np.cos),
    _floating("aten::cosh.out", np.cosh),
    _floating("aten::exp.out", np.exp),
    _floating("aten::exp2.out", np.exp2),
    _floating("aten::expm1.out", np.expm1),
    _floating("aten::log.out", np.log),
    _floating("aten::log10.out", np.log10),
    _floating("aten::log1p.out", np.log1p),
    _floating("aten::log2.out", np.log2),
    _floating("aten::reciprocal.out", np.reciprocal),
    _floating("aten::sin.out", np.sin),
    _floating("aten::sinh.out", np.sinh),
    _floating("aten::sqrt.out", np.sqrt),
    _floating("aten::tan.out", np.tan),
    _floating("aten::tanh.out", np.tanh),
    _floating_passes("aten::erf.out", erf_step),
    _floating_passes("aten::rsqrt.out", _reciprocal_square_root),
    _floating_passes("aten::sigmoid.out", sigmoid_step),
)

SAME_DTYPE = (
    _same_dtype("aten::neg.out", np.negative),
    _same_dtype("aten::bitwise_not.out", np.invert),
    _same_dtype("aten::ceil.out", np.ceil, is_identity_on_integers=True),
    _same_dtype("aten::floor.out", np.floor, is_identity_on_integers=True),
    _same_dtype("aten::round.out", np.rint, is_identity_on_integers=True),
    _same_dtype("aten::trunc.out", np.trunc, is_identity_on_integers=True),
)

PREDICATES = (
    _predicate("aten::isinf.out", np.isinf),
    _predicate("aten::isnan.out", np.isnan),
    _predicate("aten::logical_not.out", np.logical_not),
)


@kernel("aten::signbit.out")
def signbit(self: Tensor, out: Tensor) -> Step:
    """Find out whether elements are negative, also zeros and NaN. Dtypes: out bool."""
    require_dtype("out", out, {ScalarType.BOOL})
    out.resize(self.shape)
    if is_floating(self.dtype):
        return ufunc_step(np.signbit, (self.array,), out.array, computation_dtype(self.dtype), BOOL)
    return ufunc_step(np.less, (self.array, constant(0, self.dtype)), out.array, self.dtype, BOOL)


@kernel("aten::round.decimals_out")
def round_decimals(self: Tensor, decimals: int, out: Tensor) -> Step:
    """Round to a number of decimals, half to even; a negative number rounds to tens, hundreds and so on.

    Dtypes: floating, equal.
    """
    require_floating("self", self)
    require_same_dtype(self=self, out=out)
    require(abs(decimals) <= MAX_DECIMALS, "decimals must be at most {}, not {}", MAX_DECIMALS, decimals)
    out.resize(self.shape)
    dtype = computation_dtype(out.dtype)
    power = constant(10.0 ** abs(decimals), dtype)
    first, last = (np.multiply, np.divide) if decimals > 0 else (np.divide, np.multiply)

    def passes(x: Array, out: Array) -> Step:
        return in_sequence(
            ArrayCall(first, x, power, out), ArrayCall(np.rint, out, out), ArrayCall(last, out, power, out)
        )

    return in_dtype(dtype, (self.array,), out.array, passes)


MAX_DECIMALS = 308
"""More overflow float64."""


@kernel("aten::abs.out", is_uniform=True, is_elementwise=True)
def absolute(self: Tensor, out: Tensor) -> Step:
    """Compute absolute values, which are real for complex numbers."""
    if self.dtype.kind == "c":
        require(out.dtype.itemsize * 2 == self.dtype.itemsize, "{} has no parts of {}", self.dtype, out.dtype)
        out.resize(self.shape)
        return ArrayCall(np.absolute, self.array, out=out.array)
    require_same_dtype(self=self, out=out)
    out.resize(self.shape)
    return ufunc_step(np.absolute, (self.array,), out.array, computation_dtype(out.dtype))


@kernel("aten::sign.out")
def sign(self: Tensor, out: Tensor, *, scratch: Scratch) -> Step:
    """Compute -1, 0 or 1, and 0 for NaN, unlike numpy. Shapes: self (*S), out (*S). Dtypes: equal."""
    require_same_dtype(self=self, out=out)
    out.resize(self.shape)
    if self.dtype == BOOL:
        return copy_step(out.array, self.array)
    dtype = computation_dtype(self.dtype)
    zero = constant(0, dtype)
    is_positive, is_negative = scratch.arrays((self.shape, BOOL), (self.shape, BOOL))
    return in_sequence(
        ufunc_step(np.greater, (self.array, zero), is_positive, dtype, BOOL),
        ufunc_step(np.less, (self.array, zero), is_negative, dtype, BOOL),
        ufunc_step(np.subtract, (is_positive, is_negative), out.array, dtype),
    )


KERNELS = KernelTable.of_module(globals())
