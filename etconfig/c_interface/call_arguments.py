"""`CArguments`: the arguments of a delegate call, as an array of structs."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from ctypes import Array, addressof, c_int32, c_uint8
from typing import Any

import numpy as np

from etconfig.backend import Value
from etconfig.base.scalar_types import ScalarType
from etconfig.c_interface.structs import KIND_LIST, KIND_TENSOR, CTensor, CValue
from etconfig.c_interface.values import fill_value

_NUMBERS = {scalar.dtype_name: int(scalar) for scalar in ScalarType}


class CArguments:
    """The arguments of one delegate. An array that was passed in the last call, too, is not written again.

    It refers to arrays weakly, since a backend must not keep its arguments.

    Attributes:
        address: The address of the array.
        count: Its length.
    """

    def __init__(self) -> None:
        self._values: Array[CValue] = (CValue * 0)()
        self._arrays: list[Callable[[], object]] = []
        self._kept: list[list[Any]] = []
        self.address = addressof(self._values)
        self.count = 0

    def fill(self, args: Sequence[Value]) -> None:
        """Write the arguments of the next call.

        Raises:
            TypeError: an argument has a type that the C interface does not have.
        """
        if len(args) != self.count:
            self._values = (CValue * len(args))()
            self._arrays = [_nothing] * len(args)
            self._kept = [[] for _ in args]
            self.address, self.count = addressof(self._values), len(args)
        arrays = self._arrays
        for index, value in enumerate(args):
            if value is None or arrays[index]() is not value:
                self.set(index, value)

    def set(self, index: int, value: Value) -> None:
        """Write one argument. A tensor keeps the address of its struct, if it was one before."""
        target, keep = self._values[index], self._kept[index]
        if isinstance(value, np.ndarray):
            if target.kind != KIND_TENSOR:
                keep[:] = [CTensor()]
                target.kind, target.content.tensor = KIND_TENSOR, addressof(keep[0])
            keep[1:] = write_tensor(keep[0], value)
            self._arrays[index] = weakref.ref(value)
            return
        keep.clear()
        self._arrays[index] = _nothing
        _fill(target, value, keep)


def _nothing() -> object:
    return None


def _fill(target: CValue, value: Any, keep: list[Any]) -> None:
    if isinstance(value, np.ndarray):
        tensor = CTensor()
        keep.extend((tensor, *write_tensor(tensor, value)))
        target.kind, target.content.tensor = KIND_TENSOR, addressof(tensor)
    elif isinstance(value, (list, tuple)):
        items = (CValue * len(value))()
        keep.append(items)
        for item, each in zip(items, value, strict=True):
            _fill(item, each, keep)
        target.kind, target.size, target.content.items = KIND_LIST, len(value), addressof(items)
    else:
        fill_value(target, value, keep)


def write_tensor(target: CTensor, array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """Write an array into a struct, and return what the struct points to, apart from the elements."""
    rank = array.ndim
    sizes = (c_int32 * rank)(*array.shape)
    strides = (c_int32 * rank)(*(stride // array.itemsize for stride in array.strides))
    dim_order = (c_uint8 * rank)(*_dim_order(array))
    target.data = array.__array_interface__["data"][0]
    target.size_bytes = array.nbytes
    target.sizes, target.strides, target.dim_order = (
        addressof(sizes),
        addressof(strides),
        addressof(dim_order),
    )
    target.rank, target.dtype = rank, _NUMBERS[array.dtype.name]
    return sizes, strides, dim_order


def _dim_order(array: np.ndarray[Any, Any]) -> Sequence[int]:
    """Return the dimensions from the outermost in memory to the innermost."""
    if array.flags.c_contiguous:
        return range(array.ndim)
    return sorted(range(array.ndim), key=lambda dimension: -array.strides[dimension])
