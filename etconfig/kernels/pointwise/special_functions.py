"""Special functions of one tensor, which numpy lacks. Integers give floats; float32 is rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import is_floating, require_dtype, require_floating, require_same_dtype
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import Kernel, KernelTable, Step, kernel
from etconfig.kernel.step_makers import FLOAT64, computation_dtype, in_dtype
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor


def _in_float64(name: str, function: Callable[[Array], Array]) -> Kernel:
    """Return the kernel of a function that is computed in float64."""

    def bind(self: Tensor, out: Tensor) -> Step:
        require_floating("out", out)
        out.resize(self.shape)

        def run(x: Array, out: Array) -> None:
            np.copyto(out, function(x.astype(FLOAT64)), casting="unsafe")

        return ArrayCall(run, self.array, out.array)

    return Kernel((name,), bind)


_ERFC = np.frompyfunc(math.erfc, 1, 1)


def _erfc(x: Array) -> Array:
    return np.asarray(_ERFC(x), FLOAT64)


def _log_gamma(x: float) -> float:
    """Compute log |gamma(x)|, which is infinite at zero and the negative integers."""
    if x == -math.inf or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.lgamma(x)


_LGAMMA = np.frompyfunc(_log_gamma, 1, 1)


def _lgamma(x: Array) -> Array:
    return np.asarray(_LGAMMA(x), FLOAT64)


_ASYMPTOTIC = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
"""digamma(x) - log(x) + 1 / (2 x) is minus a series of these, in rising powers of 1 / x squared."""

_LARGE = 10
"""From here on, the series is exact in float64."""


def _digamma(x: Array) -> Array:
    """Compute the derivative of log gamma: reflected where x is negative, by recurrence where it is small."""
    is_negative = x < 0
    y = np.where(is_negative, 1 - x, x)
    result = np.zeros_like(y)
    for _ in range(_LARGE):
        is_small = y < _LARGE
        result -= np.where(is_small, 1 / y, 0)
        y = np.where(is_small, y + 1, y)
    square = 1 / (y * y)
    series = np.zeros_like(y)
    for coefficient in reversed(_ASYMPTOTIC):
        series = (series + coefficient) * square
    result += np.log(y) - 0.5 / y - series
    fraction = x - np.trunc(x)
    result = np.where(is_negative, result - np.pi / np.tan(np.pi * fraction), result)
    is_pole = is_negative & (fraction == 0)
    result = np.where(is_pole | (x == -np.inf), np.nan, result)
    values: Array = np.where(x == 0, np.copysign(np.inf, -x), np.where(x == np.inf, np.inf, result))
    return values


_CENTRAL = (
    (0.886226899, -1.645349621, 0.914624893, -0.140543331),
    (1, -2.118377725, 1.442710462, -0.329097515, 0.012229801),
)
_OUTER = ((-1.970840454, -1.624906493, 3.429567803, 1.641345311), (1, 3.543889200, 1.637067800))
"""Numerators and denominators of quotients near the inverse error function, lowest power first: of y squared
up to 0.7, of sqrt(-log((1 - |y|) / 2)) above. Source: calc_erfinv, aten/src/ATen/native/Math.h."""


def _erfinv(y: Array) -> Array:
    """Invert the error function: a quotient of polynomials, then two steps of Newton's method."""
    size = np.abs(y)
    square, root = y * y, np.sqrt(-np.log((1 - np.minimum(size, 1)) / 2))
    central, outer = (
        np.polynomial.polynomial.polyval(at, top) / np.polynomial.polynomial.polyval(at, bottom)
        for at, (top, bottom) in ((square, _CENTRAL), (root, _OUTER))
    )
    x = np.where(size <= 0.7, y * central, np.copysign(outer, y))
    for _ in range(2):
        # near 1, the difference of complements keeps its digits
        error = np.where(size <= 0.7, (1 - _erfc(x)) - y, np.sign(y) * ((1 - size) - _erfc(np.abs(x))))
        x = x - error / (2 / math.sqrt(math.pi) * np.exp(-x * x))
    values: Array = np.where(size < 1, x, np.where(size == 1, np.copysign(np.inf, y), np.nan))
    return values


@kernel("aten::angle.out")
def angle(self: Tensor, out: Tensor) -> Step:
    """Compute the angle of complex numbers; pi for negative numbers, 0 for other real ones."""
    require_dtype("out", out, _REAL)
    out.resize(self.shape)
    if self.dtype.kind == "c":
        return ArrayCall(lambda x, out: np.copyto(out, np.angle(x)), self.array, out.array)

    def run(x: Array, out: Array) -> None:
        np.copyto(out, np.where(x < 0, np.pi, 0), casting="unsafe")
        if is_floating(x.dtype):
            np.copyto(out, x, where=np.isnan(x), casting="unsafe")

    return ArrayCall(run, self.array, out.array)


_REAL = frozenset({ScalarType.HALF, ScalarType.BFLOAT16, ScalarType.FLOAT, ScalarType.DOUBLE})


@kernel("aten::frexp.Tensor_out")
def frexp(self: Tensor, mantissa: Tensor, exponent: Tensor) -> Step:
    """Split numbers into mantissas in [0.5, 1) and powers of two. Dtypes: floating, exponent int32."""
    require_floating("self", self)
    require_same_dtype(self=self, mantissa=mantissa)
    require_dtype("exponent", exponent, {ScalarType.INT})
    mantissa.resize(self.shape)
    exponent.resize(self.shape)
    powers = exponent.array

    def passes(x: Array, mantissa: Array) -> Step:
        return ArrayCall(np.frexp, x, mantissa, powers)

    return in_dtype(computation_dtype(self.dtype), (self.array,), mantissa.array, passes)


FUNCTIONS = (
    _in_float64("aten::digamma.out", _digamma),
    _in_float64("aten::erfc.out", _erfc),
    _in_float64("aten::erfinv.out", _erfinv),
    _in_float64("aten::i0.out", lambda x: np.asarray(np.i0(x)).reshape(x.shape)),
    _in_float64("aten::lgamma.out", _lgamma),
)

KERNELS = KernelTable.of_module(globals())
