"""Elementwise arithmetic of two tensors, or of a tensor and a number.

Inputs broadcast. Results are computed in the dtype that the inputs promote to (16-bit floats in float32, as
PyTorch does) and converted to the dtype of `out`, which after an export is the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from etconfig.kernel.checks import broadcast_shape, is_floating, require, require_floating
from etconfig.kernel.memory import Array, Scratch
from etconfig.kernel.registry import Kernel, KernelTable, Scalar, Step, kernel
from etconfig.kernel.step_makers import (
    BOOL,
    FLOAT32,
    DType,
    computation_dtype,
    constant,
    in_dtype,
    in_sequence,
    require_castable,
    result_dtype,
    ufunc_step,
    wrapped,
)
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor

BinaryStep: TypeAlias = Callable[[Array, Array, Array, DType], Step]
"""Makes the step on (self, other, out) that computes in a dtype."""


def _bind(
    step: BinaryStep, self: Tensor, other: Tensor | Scalar, out: Tensor, rounds_number: bool = False
) -> Step:
    common = result_dtype(self, other)
    require_castable(common, out)
    dtype = computation_dtype(common)
    if step in GIVING_FLOATS and not is_floating(dtype):
        dtype = FLOAT32
    if isinstance(other, Tensor):
        out.resize(broadcast_shape(self.shape, other.shape))
        return step(self.array, other.array, out.array, dtype)
    out.resize(self.shape)
    number = wrapped(other, common if rounds_number else dtype).astype(dtype)
    return step(self.array, number, out.array, dtype)


def _with_tensor(name: str, step: BinaryStep) -> Kernel:
    def bind(self: Tensor, other: Tensor, out: Tensor) -> Step:
        return _bind(step, self, other, out)

    return Kernel((name,), bind, is_uniform=True, is_elementwise=True)


def _with_scalar(name: str, step: BinaryStep, rounds_number: bool = False) -> Kernel:
    """Return the kernel of a tensor and a number, which some first round to the dtype of the result."""

    def bind(self: Tensor, other: Scalar, out: Tensor) -> Step:
        return _bind(step, self, other, out, rounds_number)

    return Kernel((name,), bind, is_uniform=True, is_elementwise=True)


def _applying(ufunc: np.ufunc) -> BinaryStep:
    def step(a: Array, b: Array, out: Array, dtype: DType) -> Step:
        return ufunc_step(ufunc, (a, b), out, dtype)

    return step


def _of_integers(ufunc: np.ufunc) -> BinaryStep:
    def step(a: Array, b: Array, out: Array, dtype: DType) -> Step:
        require(dtype.kind in "iu", "{} is not an integer type", dtype.name)
        return ufunc_step(ufunc, (a, b), out, dtype)

    return step


def _of_floats(ufunc: np.ufunc) -> BinaryStep:
    def step(a: Array, b: Array, out: Array, dtype: DType) -> Step:
        require(is_floating(dtype), "{} is not a floating type", dtype.name)
        return ufunc_step(ufunc, (a, b), out, dtype)

    return step


def _exactly(ufunc: np.ufunc) -> BinaryStep:
    """Return a ufunc of floats that depends on their precision, so that 16 bits are not computed in 32."""

    def step(a: Array, b: Array, out: Array, dtype: DType) -> Step:
        require(is_floating(out.dtype), "{} is not a floating type", out.dtype.name)
        require(a.dtype == b.dtype == out.dtype, "dtypes must be equal")
        return ufunc_step(ufunc, (a, b), out, out.dtype)

    return step


def _scaled_by_power(a: Array, b: Array, out: Array, dtype: DType) -> Step:
    """Return the step of a * 2 ** b."""
    require(is_floating(out.dtype), "out must be floating, but is {}", out.dtype.name)
    dtype = dtype if is_floating(dtype) else FLOAT32
    return in_dtype(
        dtype,
        (a, b),
        out,
        lambda a, b, out: ArrayCall(lambda a, b, out: np.multiply(a, np.exp2(b), out), a, b, out),
    )


def _dividing(ufunc: np.ufunc) -> BinaryStep:
    """Return a ufunc that has no result for integers divided by zero."""

    def step(a: Array, b: Array, out: Array, dtype: DType) -> Step:
        divide = ufunc_step(ufunc, (a, b), out, dtype)
        return divide if is_floating(dtype) else in_sequence(ArrayCall(_refuse_zero, b, out), divide)

    return step


def _refuse_zero(divisor: Array, out: Array) -> None:
    require(out.size == 0 or bool(divisor.all()), "an integer is divided by zero")


def _remainder(a: Array, b: Array, out: Array, dtype: DType) -> Step:
    if not is_floating(dtype):
        return _dividing(np.remainder)(a, b, out, dtype)
    return in_dtype(dtype, (a, b), out, lambda a, b, out: ArrayCall(_float_remainder, a, b, out))


def _float_remainder(a: Array, b: Array, out: Array) -> None:
    """Compute numpy's remainder, but as in PyTorch, a remainder of zero has the sign of `a`, not of `b`."""
    np.remainder(a, b, out)
    np.copysign(out, a, out, where=np.equal(out, 0))


def _true_division(a: Array, b: Array, out: Array, dtype: DType) -> Step:
    require(is_floating(out.dtype), "true division gives floats, but out is {}", out.dtype.name)
    return ufunc_step(np.divide, (a, b), out, dtype)


def _truncated_division(a: Array, b: Array, out: Array, dtype: DType) -> Step:
    def passes(a: Array, b: Array, out: Array) -> Step:
        if is_floating(dtype):
            return in_sequence(ArrayCall(np.divide, a, b, out), ArrayCall(np.trunc, out, out))
        remainder = np.empty(out.shape, dtype)
        return in_sequence(
            ArrayCall(_refuse_zero, b, out),
            ArrayCall(np.fmod, a, b, remainder),
            ArrayCall(np.subtract, a, remainder, remainder),
            ArrayCall(np.floor_divide, remainder, b, out),
        )

    return in_dtype(dtype, (a, b), out, passes)


def _division(rounding_mode: str | None) -> BinaryStep:
    modes = {None: _true_division, "trunc": _truncated_division, "floor": _dividing(np.floor_divide)}
    require(rounding_mode in modes, "rounding_mode must be trunc, floor or None, not {!r}", rounding_mode)
    return modes[rounding_mode]


def _power_by_number(a: Array, b: Array, out: Array, dtype: DType) -> Step:
    """Return the step of a power, which computes squares and square roots in their own way, as in PyTorch."""
    exponent = b.item()
    if dtype == BOOL:
        return _power(a, b, out, dtype)
    if exponent == 2:
        return ufunc_step(np.multiply, (a, a), out, dtype)
    if exponent == 0.5:
        return ufunc_step(np.sqrt, (a,), out, dtype)
    require(is_floating(dtype) or exponent >= 0, "integers have no negative powers")
    return ufunc_step(np.power, (a, b), out, dtype)


def _power(a: Array, b: Array, out: Array, dtype: DType) -> Step:
    """Return the step of a power; as in PyTorch, integers to negative exponents give 0, except 1 and -1."""
    if dtype == BOOL:  # only False to the power of True is False
        return ufunc_step(np.greater_equal, (a, b), out, dtype)
    if is_floating(dtype) or dtype.kind == "u":
        return ufunc_step(np.power, (a, b), out, dtype)
    return in_dtype(dtype, (a, b), out, lambda a, b, out: ArrayCall(_integer_power, a, b, out))


def _integer_power(a: Array, b: Array, out: Array) -> None:
    is_negative = b < 0
    powers = np.power(a, np.where(is_negative, 0, b))
    inverse = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0))
    np.copyto(out, np.where(is_negative, inverse, powers), casting="unsafe")


def _add_multiple(ufunc: np.ufunc, names: tuple[str, str]) -> tuple[Kernel, Kernel]:
    """Return the kernels of `self + alpha * other`, or `self - alpha * other`, for a tensor and a number."""
    plain = _applying(ufunc)

    def with_tensor(self: Tensor, other: Tensor, alpha: Scalar, out: Tensor, *, scratch: Scratch) -> Step:
        if alpha == 1:
            return _bind(plain, self, other, out)
        dtype = computation_dtype(result_dtype(self, other))
        multiple = scratch.array(other.shape, dtype)
        return in_sequence(
            ufunc_step(np.multiply, (other.array, constant(alpha, dtype)), multiple, dtype),
            _bind(lambda a, _, out, dtype: ufunc_step(ufunc, (a, multiple), out, dtype), self, other, out),
        )

    def with_scalar(self: Tensor, other: Scalar, alpha: Scalar, out: Tensor) -> Step:
        return _bind(plain, self, other * alpha if alpha != 1 else other, out)

    return (
        Kernel(names[:1], with_tensor, is_uniform=True, allows_overlap=True, is_elementwise=True),
        Kernel(names[1:], with_scalar, is_uniform=True, allows_overlap=True, is_elementwise=True),
    )


@kernel("aten::rsub.Scalar_out")
def rsub_scalar(self: Tensor, other: Scalar, alpha: Scalar, out: Tensor, *, scratch: Scratch) -> Step:
    """Compute `other - alpha * self`. Shapes: self (*S), out (*S). Dtypes: integer or floating."""
    dtype = computation_dtype(result_dtype(self, other))
    multiple = scratch.array(self.shape, dtype)
    return in_sequence(
        ufunc_step(np.multiply, (self.array, constant(alpha, dtype)), multiple, dtype),
        _bind(lambda _, b, out, dtype: ufunc_step(np.subtract, (b, multiple), out, dtype), self, other, out),
    )


@kernel("aten::pow.Scalar_out")
def pow_scalar(self: Scalar, exponent: Tensor, out: Tensor) -> Step:
    """Compute a number to the power of each element. Shapes: exponent (*S), out (*S)."""
    return _bind(lambda a, b, out, dtype: _power(b, a, out, dtype), exponent, self, out)


@kernel("aten::div.out_mode")
def div_mode(self: Tensor, other: Tensor, rounding_mode: str | None, out: Tensor) -> Step:
    """Divide, rounding toward zero ("trunc"), down ("floor") or not at all (None). Inputs broadcast."""
    return _bind(_division(rounding_mode), self, other, out)


@kernel("aten::div.Scalar_mode_out")
def div_scalar_mode(self: Tensor, other: Scalar, rounding_mode: str | None, out: Tensor) -> Step:
    """Divide by a number; rounding as for `div_mode`."""
    return _bind(_division(rounding_mode), self, other, out)


@kernel("aten::clamp.out")
def clamp(self: Tensor, minimum: Scalar | None, maximum: Scalar | None, out: Tensor) -> Step:
    """Limit to [minimum, maximum]; maximum wins if they cross, NaN stays. Shapes: (*S)."""
    for bound in (minimum, maximum):
        if bound is not None:
            require_castable(result_dtype(self, bound), out)
    out.resize(self.shape)
    dtype = computation_dtype(out.dtype)
    bounds = [None if each is None else constant(each, dtype) for each in (minimum, maximum)]
    return clamp_step(self.array, bounds[0], bounds[1], out.array, dtype)


@kernel("aten::clamp.Tensor_out")
def clamp_tensor(self: Tensor, minimum: Tensor | None, maximum: Tensor | None, out: Tensor) -> Step:
    """Limit each element to bounds of its own; all broadcast."""
    present = [each for each in (minimum, maximum) if each is not None]
    for bound in present:
        require_castable(result_dtype(self, bound), out)
    out.resize(broadcast_shape(self.shape, *(each.shape for each in present)))
    bounds = [None if each is None else each.array for each in (minimum, maximum)]
    return clamp_step(self.array, bounds[0], bounds[1], out.array, computation_dtype(out.dtype))


CLIPPED_SIZE = 4096
"""From this many elements on, np.clip is faster than np.maximum, which is slow with one bound for all."""

CLIPPED_DTYPES = (FLOAT32, np.dtype(np.float64))


def clamp_step(x: Array, low: Array | None, high: Array | None, out: Array, dtype: DType) -> Step:
    """Return the step that limits `x` to [low, high], of which one may be None."""
    require(low is not None or high is not None, "one of min and max must be given")
    if x.size >= CLIPPED_SIZE and x.dtype == out.dtype == dtype and dtype in CLIPPED_DTYPES:
        lowest, highest = constant(-math.inf, dtype), constant(math.inf, dtype)
        return ArrayCall(np.clip, x, lowest if low is None else low, highest if high is None else high, out)
    if low is None or high is None:
        ufunc, bound = (np.minimum, high) if low is None else (np.maximum, low)
        assert bound is not None
        return ufunc_step(ufunc, (x, bound), out, dtype)
    return in_sequence(
        ufunc_step(np.maximum, (x, low), out, dtype),
        ufunc_step(np.minimum, (out, high), out, dtype),
    )


SUMS = (
    *_add_multiple(np.add, ("aten::add.out", "aten::add.Scalar_out")),
    *_add_multiple(np.subtract, ("aten::sub.out", "aten::sub.Scalar_out")),
)

OF_TENSORS = (
    _with_tensor("aten::mul.out", _applying(np.multiply)),
    _with_tensor("aten::div.out", _true_division),
    _with_tensor("aten::floor_divide.out", _dividing(np.floor_divide)),
    _with_tensor("aten::fmod.Tensor_out", _dividing(np.fmod)),
    _with_tensor("aten::remainder.Tensor_out", _remainder),
    _with_tensor("aten::pow.Tensor_Tensor_out", _power),
    _with_tensor("aten::maximum.out", _applying(np.maximum)),
    _with_tensor("aten::minimum.out", _applying(np.minimum)),
    _with_tensor("aten::fmax.out", _applying(np.fmax)),
    _with_tensor("aten::fmin.out", _applying(np.fmin)),
    _with_tensor("aten::gcd.out", _of_integers(np.gcd)),
    _with_tensor("aten::lcm.out", _of_integers(np.lcm)),
    _with_tensor("aten::hypot.out", _of_floats(np.hypot)),
    _with_tensor("aten::nextafter.out", _exactly(np.nextafter)),
    _with_tensor("aten::ldexp.out", _scaled_by_power),
)

WITH_NUMBERS = (
    _with_scalar("aten::mul.Scalar_out", _applying(np.multiply)),
    _with_scalar("aten::div.Scalar_out", _true_division),
    _with_scalar("aten::fmod.Scalar_out", _dividing(np.fmod), rounds_number=True),
    _with_scalar("aten::remainder.Scalar_out", _remainder, rounds_number=True),
    _with_scalar("aten::pow.Tensor_Scalar_out", _power_by_number),
)


def _angle(a: Array, b: Array, out: Array, dtype: DType) -> Step:
    return ufunc_step(np.arctan2, (a, b), out, dtype)


@kernel("aten::atan2.out")
def atan2(self: Tensor, other: Tensor, out: Tensor) -> Step:
    """Compute the angle of (other, self); integers give floats. Inputs broadcast."""
    require_floating("out", out)
    return _bind(_angle, self, other, out)


@kernel("aten::copysign.out", is_elementwise=True)
def copysign(self: Tensor, other: Tensor, out: Tensor) -> Step:
    """Give each element the sign of the other one, also of negative zeros and NaN; integers give floats."""
    require_floating("out", out)
    return _bind(_with_sign, self, other, out)


@kernel("aten::copysign.Scalar_out", is_elementwise=True)
def copysign_scalar(self: Tensor, other: Scalar, out: Tensor) -> Step:
    """Give each element the sign of a number; integers give floats."""
    require_floating("out", out)
    return _bind(_with_sign, self, other, out)


def _with_sign(a: Array, b: Array, out: Array, dtype: DType) -> Step:
    return ufunc_step(np.copysign, (a, b), out, dtype)


GIVING_FLOATS = (_true_division, _angle, _with_sign)
"""The operations that compute in floats even if the inputs are integers."""

KERNELS = KernelTable.of_module(globals())
