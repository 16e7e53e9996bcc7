"""GELU: the element times P(X <= element) for a standard normal X, by the error function or by tanh."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from etconfig.kernel.checks import require, require_floating, require_same_dtype
from etconfig.kernel.memory import Array, Scratch
from etconfig.kernel.registry import KernelTable, Step, kernel
from etconfig.kernel.step_makers import (
    FLOAT64,
    computation_dtype,
    constant,
    in_dtype,
    in_sequence,
    run_through,
)
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.kernels.pointwise.error_function import erf_step

BLOCK = 16384
"""The number of elements that go through all passes together, to stay in the second-level cache."""

_LINEAR = math.sqrt(2 / math.pi)
_BY_TANH = (_LINEAR, _LINEAR * 0.044715)
"""The q for which PyTorch's "tanh" form approximates erf(x / sqrt(2)) by tanh(x q(x squared)).

Coefficients from the lowest power on.
"""

_BY_ERROR_FUNCTION = (
    0.7978845646224803,
    0.036333693581362486,
    -3.278588868524381e-05,
    -5.533074150479489e-05,
    3.980695810502792e-06,
    -1.3414111073402687e-07,
    1.8210919262222147e-09,
)
"""The q that was fitted to math.erf for |x| <= 5.6; beyond that, tanh is 1 in float32.

The error of GELU is at most 7e-8, or 6e-7 when computed in float32.
"""


@kernel("aten::gelu.out")
def gelu(self: Tensor, approximate: str, out: Tensor, *, scratch: Scratch) -> Step:
    """Multiply each element by P(X <= element), by erf or about by tanh. Shapes: self (*S), out (*S)."""
    require_floating("self", self)
    require_same_dtype(self=self, out=out)
    forms = {"none": _BY_ERROR_FUNCTION, "tanh": _BY_TANH}
    require(approximate in forms, "approximate must be none or tanh, not {!r}", approximate)
    out.resize(self.shape)
    dtype = computation_dtype(self.dtype)
    passes: Callable[[Array, Array], Step] = partial(_in_blocks, scratch, forms[approximate])
    if approximate == "none" and dtype == FLOAT64:
        passes = _exact
    return in_dtype(dtype, (self.array,), out.array, passes, scratch)


def _exact(x: Array, out: Array) -> Step:
    return in_sequence(
        ArrayCall(np.multiply, x, constant(math.sqrt(0.5), x.dtype), out),
        erf_step(out, out),
        *_times_half_of_one_plus(x, out),
    )


def _in_blocks(scratch: Scratch, coefficients: Sequence[float], x: Array, out: Array) -> Step:
    """Return the step of all passes over one block after the other; arrays with gaps are one block."""
    numbers = [constant(each, x.dtype) for each in coefficients]
    if not (x.flags.c_contiguous and out.flags.c_contiguous):
        return in_sequence(*_passes(numbers, x, scratch.array(x.shape, x.dtype), out))
    elements, results = x.reshape(-1), out.reshape(-1)
    squares = scratch.array((min(x.size, BLOCK),), x.dtype)

    def make() -> Iterator[Step]:
        for start in range(0, x.size, BLOCK):
            block = elements[start : start + BLOCK]
            yield from _passes(numbers, block, squares[: block.size], results[start : start + BLOCK])

    return run_through(scratch, make)


def _passes(numbers: Sequence[Array], x: Array, square: Array, out: Array) -> Iterator[Step]:
    *lower, highest = numbers
    yield ArrayCall(np.multiply, x, x, square)
    yield ArrayCall(np.multiply, square, highest, out)
    for number in lower[:0:-1]:
        yield ArrayCall(np.add, out, number, out)
        yield ArrayCall(np.multiply, out, square, out)
    yield ArrayCall(np.add, out, lower[0], out)
    yield ArrayCall(np.multiply, out, x, out)
    yield ArrayCall(np.tanh, out, out)
    yield from _times_half_of_one_plus(x, out)


def _times_half_of_one_plus(x: Array, out: Array) -> tuple[Step, ...]:
    """Return the steps that write x * (out + 1) / 2 to out, halved first so that nothing overflows."""
    return (
        ArrayCall(np.add, out, constant(1, x.dtype), out),
        ArrayCall(np.multiply, out, constant(0.5, x.dtype), out),
        ArrayCall(np.multiply, out, x, out),
    )


KERNELS = KernelTable.of_module(globals())
