"""Numbers that are computed while a method runs: sizes, counters, conditions.

They are in registers, which the steps read and write; integers have 64 bits.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial

import numpy as np

from etconfig.kernel.checks import dimension, require, require_same_dtype
from etconfig.kernel.registry import Kernel, KernelTable, Scalar, Step, kernel
from etconfig.kernel.tensor import Register, Tensor

_INT64 = range(-(2**63), 2**63)


def _set(out: Register, value: object) -> None:
    if type(value) is int and value not in _INT64:
        raise ValueError(f"{value} exceeds 64 bits")
    out.value = value


def _number(register: Register) -> Scalar:
    value = register.value
    if type(value) not in (int, float):
        raise ValueError(f"expected a number, found {value!r}")
    return value  # type: ignore[return-value]  # checked above


def _integer(register: Register) -> int:
    value = register.value
    if type(value) is not int:
        raise ValueError(f"expected an integer, found {value!r}")
    return value


def _boolean(register: Register) -> bool:
    value = register.value
    if type(value) is not bool:
        raise ValueError(f"expected a boolean, found {value!r}")
    return value


def _scalar(register: Register) -> Scalar:
    value = register.value
    if type(value) not in (int, float, bool):
        raise ValueError(f"expected a scalar, found {value!r}")
    return value  # type: ignore[return-value]  # checked above


def _unary(name: str, read: Callable[[Register], Scalar], function: Callable[[Scalar], Scalar]) -> Kernel:
    def bind(a: Register, out: Register) -> Step:
        return lambda: _set(out, function(read(a)))

    return Kernel((name,), bind)


def _binary(
    name: str, read: Callable[[Register], Scalar], function: Callable[[Scalar, Scalar], Scalar]
) -> Kernel:
    def bind(a: Register, b: Register, out: Register) -> Step:
        return lambda: _set(out, function(read(a), read(b)))

    return Kernel((name,), bind)


UNARY = (
    _unary("executorch_prim::sym_float.Scalar", _scalar, float),
    _unary("executorch_prim::sym_int.Scalar", _scalar, int),
    _unary("executorch_prim::neg.Scalar", _number, operator.neg),
    _unary("executorch_prim::sym_not.Scalar", _boolean, operator.not_),
    _unary("executorch_prim::ceil.Scalar", _number, math.ceil),
    _unary("executorch_prim::round.Scalar", _number, round),
    _unary("executorch_prim::trunc.Scalar", _number, math.trunc),
)

BINARY = (
    _binary("executorch_prim::add.Scalar", _number, operator.add),
    _binary("executorch_prim::sub.Scalar", _number, operator.sub),
    _binary("executorch_prim::mul.Scalar", _number, operator.mul),
    _binary("executorch_prim::truediv.Scalar", _number, operator.truediv),
    _binary("executorch_prim::floordiv.Scalar", _number, operator.floordiv),
    _binary("executorch_prim::floordiv.int", _integer, operator.floordiv),
    _binary("executorch_prim::mod.Scalar", _integer, operator.mod),
    _binary("executorch_prim::mod.int", _integer, operator.mod),
    _binary("executorch_prim::sym_max.Scalar", _number, max),
    _binary("executorch_prim::sym_min.Scalar", _number, min),
    _binary("executorch_prim::eq.Scalar", _scalar, operator.eq),
    _binary("executorch_prim::lt.Scalar", _scalar, operator.lt),
    _binary("executorch_prim::le.Scalar", _scalar, operator.le),
    _binary("executorch_prim::gt.Scalar", _scalar, operator.gt),
    _binary("executorch_prim::ge.Scalar", _scalar, operator.ge),
)


@kernel("executorch_prim::sym_ite.Scalar")
def sym_ite(condition: Register, if_true: Register, if_false: Register, out: Register) -> Step:
    """Select one of two scalars."""
    return lambda: _set(out, _scalar(if_true if _boolean(condition) else if_false))


@kernel("aten::sym_size.int")
def sym_size(self: Tensor, dim: int, out: Register) -> Step:
    """Read the size of one dimension."""
    require(self.array.ndim > 0, "a scalar has no sizes")
    return partial(_set, out, self.shape[dimension(dim, self.array.ndim)])


@kernel("aten::sym_numel")
def sym_numel(self: Tensor, out: Register) -> Step:
    """Read the number of elements."""
    return partial(_set, out, self.array.size)


@kernel("aten::_local_scalar_dense")
def local_scalar_dense(self: Tensor, out: Register) -> Step:
    """Read the element of a tensor that has one."""
    require(self.array.size == 1, "a tensor of shape {} has not one element", self.shape)
    element = self.array.reshape(())
    read = int if element.dtype.kind in "iu" else bool if element.dtype == np.bool_ else float
    return lambda: _set(out, read(element))


@kernel("executorch_prim::et_copy_index.tensor")
def et_copy_index(copy_to: Tensor, copy_from: Tensor, index: Register) -> Step:
    """Grow `copy_to` to index + 1 entries and write `copy_from` as the last, a map's newest result."""
    require_same_dtype(copy_to=copy_to, copy_from=copy_from)

    def run() -> None:
        place = _integer(index)
        require(place >= 0, "index must not be negative, but is {}", place)
        entry = copy_from.shape
        # the first entry decides the shape; any other would scramble the entries before
        require(
            place == 0 or copy_to.shape[1:] == entry,
            "copy_from has shape {}, but the entries before have shape {}",
            entry,
            copy_to.shape[1:],
        )
        shape = (place + 1, *entry)
        require(
            not copy_to.form.is_exceeded_by(shape),
            "shape {} of copy_to exceeds the planned bounds {}",
            shape,
            copy_to.form.bounds,
        )
        copy_to.resize(shape)
        np.copyto(copy_to.array[place, ...], copy_from.array)

    return run


KERNELS = KernelTable.of_module(globals())
