"""What the caller gives to `execute`: checked against the method, then copied into its memory."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from etconfig.errors import InvalidInputError
from etconfig.kernel.memory import Array, Shape
from etconfig.kernel.tensor import Register, Tensor, end_alias
from etconfig.method.foreign import as_array, flatten, is_nested
from etconfig.program import model
from etconfig.program.model import TensorShapeDynamism

_INT64 = range(-(2**63), 2**63)


class Inputs:
    """The inputs of one Method.

    A tensor input takes anything with numpy's array protocol, DLPack or the buffer protocol,
    of exactly the program's dtype. Its strides may be any: the copy brings it into the
    program's dim order. Scalars are Python's or numpy's. Tuples, lists and dicts are flattened.
    """

    def __init__(self, method: str, registers: Sequence[Register]) -> None:
        self._method = method
        slots = [_slot(method, f"input {index}", register) for index, register in enumerate(registers)]
        self._checks = [slot.check for slot in slots]
        self._setters = [slot.set for slot in slots]

    def set(self, values: Sequence[object]) -> None:
        """Copy `values` into the method's memory; nothing is written unless all of them fit.

        Raises:
            InvalidInputError: the number of inputs, or one of them, does not fit.
        """
        for set_one, value in zip(self._setters, self.check(values), strict=True):
            set_one(value)

    def check(self, values: Sequence[object]) -> list[Any]:
        """The values as `set` copies them: arrays and numbers.

        Raises:
            InvalidInputError: the number of inputs, or one of them, does not fit.
        """
        if hasattr(values, "__array__"):  # one array would count as so many as it has rows
            raise self._refusal(f"one {type(values).__name__} instead of a list")
        try:
            was_nested = is_nested(values)
            values = list(flatten(values)) if was_nested else values
            len(values)
        except TypeError:
            raise self._refusal(f"one {type(values).__name__} instead of a list") from None
        except RecursionError:
            raise self._refusal("lists that are nested too deep, or in themselves") from None
        if len(values) != len(self._checks):
            raise self._refusal(f"{len(values)}{' when flattened' if was_nested else ''}")
        return [check(value) for check, value in zip(self._checks, values, strict=True)]

    def _refusal(self, given: str) -> InvalidInputError:
        return InvalidInputError(
            method=self._method, input="inputs", expected=f"{len(self._checks)} value(s)", given=given
        )


class InputChecker:
    """Checks the inputs of a method that is loaded elsewhere, as `Inputs.check` does.

    It needs the plan only. Made at the first call, since many executors never ask.
    """

    def __init__(self, plan: model.ExecutionPlan) -> None:
        self._plan = plan

    def __call__(self, values: Sequence[object]) -> list[Any]:
        """The values, as arrays and numbers. Raises InvalidInputError."""
        return self._inputs.check(values)

    @cached_property
    def _inputs(self) -> Inputs:
        registers = [_unplaced(self._plan.values[index]) for index in self._plan.inputs]
        return Inputs(self._plan.name, registers)


def _unplaced(value: model.EValue) -> Register:
    """A register for an input: what it must be like, in memory of its own."""
    if isinstance(value, model.SerializedTensor):
        tensor = Tensor(value.scalar_type, value.sizes, value.dim_order, None, dynamism=value.shape_dynamism)
        return Register(tensor)
    return Register(None if value is None else value[0])


class _Slot(ABC):
    """One input."""

    def __init__(self, method: str, role: str, register: Register) -> None:
        self._method = method
        self._role = role
        self._register = register

    @abstractmethod
    def check(self, value: object) -> object:
        """The value to set, or InvalidInputError."""

    @abstractmethod
    def set(self, value: Any) -> None:
        """Take on what `check` returned."""

    def _refusal(self, expected: str, given: str, fix: str | None = None) -> InvalidInputError:
        return InvalidInputError(
            method=self._method, input=self._role, expected=expected, given=given, help=fix
        )


class TensorSlot(_Slot):
    """A tensor that the caller gives."""

    def __init__(self, method: str, role: str, register: Register, tensor: Tensor) -> None:
        super().__init__(method, role, register)
        self._tensor = tensor
        self._dtype = tensor.dtype
        if tensor.dynamism is TensorShapeDynamism.STATIC:
            tensor.ensure_memory()

    def check(self, value: object) -> Array:
        array = value if type(value) is np.ndarray else self._as_array(value)
        if array.dtype != self._dtype:
            order = "" if array.dtype.isnative else " in the other byte order"
            given = f"dtype {array.dtype.name}{order}"
            raise self._refusal(self._description(), given, f"convert it to {self._dtype.name} first")
        if array.shape != self._tensor.array.shape and not self._fits(array.shape):
            raise self._refusal(self._description(), f"shape {array.shape}")
        return array

    def _fits(self, shape: Shape) -> bool:
        form = self._tensor.form
        return form.allows(shape) and not form.is_exceeded_by(shape)

    def set(self, value: Any) -> None:
        tensor = self._tensor
        self._register.value = tensor  # the run before may have moved another value there
        if tensor.is_alias:
            end_alias(tensor)
        tensor.resize(value.shape)
        tensor.array[...] = value  # for a few elements, half of the time that np.copyto takes

    def _as_array(self, value: object) -> Array:
        try:
            return as_array(value)
        except Exception as error:  # whatever a foreign array type raises
            given = f"{type(value).__name__}, which gives no array: {error}"
            raise self._refusal(self._description(), given) from error

    def _description(self) -> str:
        sizes: Shape = self._tensor.bounds
        if self._tensor.dynamism is TensorShapeDynamism.STATIC:
            shape = f"shape {sizes}"
        elif self._tensor.dynamism is TensorShapeDynamism.DYNAMIC_BOUND:
            shape = f"at most shape {sizes}"
        else:
            shape = f"rank {len(sizes)}"
        return f"an array of dtype {self._dtype.name} and {shape}"


class _FixedSlot(_Slot):
    """A scalar or string that was fixed when the program was exported."""

    def check(self, value: object) -> object:
        fixed = self._register.value
        plain = _plain(value)
        if type(fixed) is float and type(plain) in (int, float):
            is_same = _is_close(float(plain), fixed)  # type: ignore[arg-type]  # an int or a float
        else:
            is_same = type(plain) is type(fixed) and plain == fixed
        if not is_same:
            expected = f"{fixed!r}, for which the program was specialised"
            raise self._refusal(expected, repr(value))
        return fixed

    def set(self, value: Any) -> None:
        """The program holds the value already."""


class _SymbolicSlot(_Slot):
    """A number that the program leaves open, or an input that is always None."""

    def check(self, value: object) -> object:
        plain = _plain(value)
        if plain is None or type(plain) in (bool, float) or (type(plain) is int and plain in _INT64):
            return plain
        raise self._refusal("a number (an integer must fit 64 bits) or None", repr(value))

    def set(self, value: object) -> None:
        self._register.value = value


def _slot(method: str, role: str, register: Register) -> _Slot:
    value = register.value
    if isinstance(value, Tensor):
        return TensorSlot(method, role, register, value)
    if value is None:
        return _SymbolicSlot(method, role, register)
    return _FixedSlot(method, role, register)


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


def _is_close(given: float, fixed: float) -> bool:
    """As near as ExecuTorch wants it. Source: Method::set_input, method.cpp."""
    if math.isnan(fixed):
        return math.isnan(given)
    return math.isclose(given, fixed, rel_tol=1e-5, abs_tol=1e-4)
