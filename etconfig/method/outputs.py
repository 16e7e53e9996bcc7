"""Arrays of the caller that outputs are written into: their checks, and writing to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from etconfig.base.interrupts import is_of_signal_handler
from etconfig.base.scalar_types import strides_of
from etconfig.diagnostics.error_text import error_message
from etconfig.errors import InvalidOutputError
from etconfig.kernel.memory import Array
from etconfig.kernel.tensor import TensorForm
from etconfig.method.foreign import as_array
from etconfig.program.metadata import MethodMeta
from etconfig.program.model import TensorShapeDynamism

_MOST_OVERLAP_WORK = 10_000
"""The effort in which numpy must find out that two interleaved arrays share no element."""


class OutputArray:
    """The caller's array for one output, checked.

    Attributes:
        given: What the caller gave.
        array: The same as a numpy array.
        memory: Its elements in the order of memory, one-dimensional, if there are no gaps between them and
            they have the output's dim order; else None. At least as many as the output can have.
    """

    def __init__(self, given: object, array: Array, form: TensorForm, memory: Array | None) -> None:
        self.given = given
        self.memory = memory
        self.array = array
        self._form = form

    def write(self, result: Array) -> object:
        """Copy a result into the array, and return what the caller gets."""
        if self.array.shape == result.shape:
            self.array[...] = result
            return self.given
        self._view(result.shape)[...] = result
        return self.written(result.shape)

    def written(self, shape: tuple[int, ...]) -> object:
        """Return what the caller gets for a result of this shape, which is at the start of `memory`."""
        if self.array.shape == shape:
            return self.given
        given: Any = self.given
        if hasattr(given, "as_strided"):  # a tensor of torch
            return given.detach().as_strided(shape, strides_of(shape, self._form.dim_order, 1))
        return self._view(shape)

    def _view(self, shape: tuple[int, ...]) -> Array:
        """Return a view of `memory` with this run's shape, which the caller's array does not have."""
        strides = strides_of(shape, self._form.dim_order, self._form.dtype.itemsize)
        view: Array = np.ndarray(shape, self._form.dtype, self.memory, 0, strides)
        return view


class OutputChecker:
    """Checks a caller's arrays for the outputs of one method."""

    def __init__(self, meta: MethodMeta) -> None:
        self._meta = meta

    def check(self, outputs: Sequence[object], inputs: Sequence[object]) -> list[OutputArray | None]:
        """Return the arrays, checked; None for outputs that the executor makes.

        Args:
            outputs: An array or None for each output.
            inputs: The checked inputs of the call, which no array may overlap.

        Raises:
            InvalidOutputError: the number of arrays, or one of them, does not fit.
        """
        if hasattr(outputs, "__array__") or not isinstance(outputs, Sequence):
            given = f"one {type(outputs).__name__} instead of a list"
            self._refuse("outputs", self._counted, given, "put the arrays into a list")
        if len(outputs) != self._meta.num_outputs():
            self._refuse("outputs", self._counted, str(len(outputs)))
        checked = [self._check(index, each) for index, each in enumerate(outputs)]
        arrays = [(f"output {index}", each.array) for index, each in enumerate(checked) if each is not None]
        others = [
            (f"input {index}", each) for index, each in enumerate(inputs) if isinstance(each, np.ndarray)
        ]
        for index, (role, array) in enumerate(arrays):
            for other_role, other in (*others, *arrays[:index]):
                if _overlap(array, other):
                    self._refuse(role, "memory of its own", f"an array that overlaps {other_role}")
        return checked

    @property
    def _counted(self) -> str:
        return f"{self._meta.num_outputs()} array(s) or None, one for each output"

    def _check(self, index: int, given: object) -> OutputArray | None:
        if given is None:
            return None
        role, kind = f"output {index}", self._meta.output_tag(index)
        if kind != "Tensor":
            self._refuse(role, f"None, since it is not a tensor but {kind}", type(given).__name__)
        info = self._meta.output_tensor_meta(index)
        form = TensorForm(info.dtype(), info.sizes(), info.dim_order(), info.shape_dynamism())
        array = self._as_array(role, form, given)
        if array.dtype != form.dtype:
            order = "" if array.dtype.isnative else " in the other byte order"
            self._refuse(role, _description(form), f"dtype {array.dtype.name}{order}")
        if not array.flags.writeable:
            self._refuse(role, "an array that can be written to", "a read-only one")
        if form.dynamism is TensorShapeDynamism.DYNAMIC_UNBOUND:
            reason = "None, since its size has no bound"
            self._refuse(role, reason, f"an array of shape {array.shape}")
        memory = _memory(array, form.dim_order)
        if form.dynamism is TensorShapeDynamism.STATIC:
            self._check_static(role, form, array, memory)
        elif array.size < math.prod(form.bounds):
            self._refuse(role, _description(form), f"{array.size} elements")
        elif memory is None:
            self._refuse(role, _description(form), f"strides {array.strides}")
        return OutputArray(given, array, form, memory)

    def _check_static(self, role: str, form: TensorForm, array: Array, memory: Array | None) -> None:
        if array.shape != form.bounds:
            self._refuse(role, _description(form), f"shape {array.shape}")
        if memory is None and _may_overlap_itself(array):
            self._refuse(role, "an array whose elements share no memory", f"strides {array.strides}")

    def _as_array(self, role: str, form: TensorForm, given: object) -> Array:
        """Return an array over the memory of what the caller gave."""
        if isinstance(given, np.ndarray):
            return given
        address = getattr(given, "data_ptr", None)  # a tensor of torch
        try:
            if address is None:
                array: Array = np.asarray(memoryview(given))  # type: ignore[arg-type]  # not a buffer: TypeError
            else:
                array = as_array(given)
        except Exception as error:  # a foreign array type may raise anything
            if is_of_signal_handler(error):
                raise
            self._refuse(
                role,
                _description(form),
                f"{type(given).__name__}, which gives no array: {error_message(error)}",
            )
        if address is not None and array.size and array.ctypes.data != address():
            self._refuse(role, _description(form), f"{type(given).__name__}, of which numpy gets a copy")
        return array

    def _refuse(self, role: str, expected: str, given: str, fix: str | None = None) -> NoReturn:
        raise InvalidOutputError(
            method=self._meta.name(), output=role, expected=expected, given=given, help=fix
        )


def _description(form: TensorForm) -> str:
    if form.dynamism is TensorShapeDynamism.STATIC:
        return f"an array of dtype {form.dtype.name} and shape {form.bounds}"
    count = math.prod(form.bounds)
    return f"an array of dtype {form.dtype.name} with {count} or more elements, without gaps"


def _memory(array: Array, dim_order: tuple[int, ...]) -> Array | None:
    """Return the elements in the order of memory; None with gaps, at odd addresses, or in another order."""
    if array.ndim == len(dim_order):
        array = array.transpose(dim_order)
    return array.reshape(-1) if array.flags.c_contiguous and array.flags.aligned else None


def _may_overlap_itself(array: Array) -> bool:
    """Return whether elements might share bytes, as in a view that repeats them."""
    end = array.itemsize
    pairs = sorted(zip(map(abs, array.strides), array.shape, strict=True))
    for stride, size in pairs:
        if size > 1:
            if stride < end:
                return True
            end += (size - 1) * stride
    return False


def _overlap(array: Array, other: Array) -> bool:
    if not np.may_share_memory(array, other):
        return False
    try:
        return bool(np.shares_memory(array, other, max_work=_MOST_OVERLAP_WORK))  # type: ignore[arg-type]
    except RuntimeError:  # numpy's TooHardError: they are interleaved in a way that takes long to untangle
        return True
