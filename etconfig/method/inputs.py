"""Checks of the inputs of `execute`, for every executor; nothing is copied here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from etconfig.base.interrupts import is_of_signal_handler
from etconfig.diagnostics.error_text import error_message
from etconfig.errors import InvalidInputError
from etconfig.kernel.memory import Array
from etconfig.kernel.tensor import TensorForm
from etconfig.method.foreign import as_array, flatten, is_nested
from etconfig.program import model
from etconfig.program.model import TensorShapeDynamism

_INT64 = range(-(2**63), 2**63)


class InputChecker:
    """Checks the inputs of one method against its plan.

    A tensor input accepts anything with numpy's array protocol, DLPack or the buffer protocol, of
    exactly the program's dtype and with any strides. Scalars are Python's or numpy's. Tuples,
    lists and dicts are flattened.
    """

    def __init__(self, plan: model.ExecutionPlan) -> None:
        self._plan = plan
        self._checks: list[Callable[[Any], object]] | None = None

    def check(self, values: Sequence[object]) -> list[Any]:
        """Return the values as arrays, which are not copied, and numbers.

        Raises:
            InvalidInputError: the number of inputs, or one of them, does not fit.
        """
        checks = self._checks
        if checks is None:  # made at the first call: an executor may have checks of its own
            plan = self._plan
            checks = self._checks = [
                _input_check(plan.name, f"input {position}", plan.values[index])
                for position, index in enumerate(plan.inputs)
            ]
        if hasattr(values, "__array__"):  # a bare array would count as one input per row
            raise self._not_a_list(values)
        try:
            was_nested = is_nested(values)
            values = list(flatten(values)) if was_nested else values
            len(values)
        except TypeError:
            raise self._not_a_list(values) from None
        except RecursionError:
            raise self._refusal("lists that are nested too deep, or in themselves") from None
        if len(values) != len(checks):
            raise self._refusal(f"{len(values)}{' when flattened' if was_nested else ''}")
        return [check(value) for check, value in zip(checks, values, strict=True)]

    def _not_a_list(self, values: object) -> InvalidInputError:
        names = "image" if len(self._plan.inputs) == 1 else "first, second, ..."
        given = f"one {type(values).__name__} instead of a list"
        return self._refusal(given, f"put the inputs into a list: execute([{names}])")

    def _refusal(self, given: str, fix: str | None = None) -> InvalidInputError:
        expected = f"{len(self._plan.inputs)} value(s)"
        return InvalidInputError(
            method=self._plan.name, input="inputs", expected=expected, given=given, help=fix
        )


class TensorCheck:
    """Checks a value for one tensor: an input, or an attribute.

    Args:
        method: The method's name, for errors.
        role: The role of the tensor in the method, such as `input 0`, for errors.
        form: The expected dtype, shape and bounds.
    """

    def __init__(self, method: str, role: str, form: TensorForm) -> None:
        self._method = method
        self._role = role
        self._form = form
        self._dtype = form.dtype
        self._shape = form.bounds  # the last shape that fit: most often the next one, and checked fastest

    def check(self, value: object) -> Array:
        """Return the value as an array. Raises InvalidInputError."""
        array = value if type(value) is np.ndarray else self._as_array(value)
        if array.dtype != self._dtype:
            order = "" if array.dtype.isnative else " in the other byte order"
            given = f"dtype {array.dtype.name}{order}"
            raise self._refusal(given, f"convert it to {self._dtype.name} first")
        if array.shape != self._shape:
            if not self._form.allows(array.shape) or self._form.is_exceeded_by(array.shape):
                raise self._refusal(f"shape {array.shape}")
            self._shape = array.shape
        return array

    def _as_array(self, value: object) -> Array:
        try:
            return as_array(value)
        except Exception as error:  # a foreign array type may raise anything
            if is_of_signal_handler(error):
                raise
            raise self._refusal(
                f"{type(value).__name__}, which gives no array: {error_message(error)}"
            ) from error

    def _refusal(self, given: str, fix: str | None = None) -> InvalidInputError:
        return InvalidInputError(
            method=self._method, input=self._role, expected=_description(self._form), given=given, help=fix
        )


def _description(form: TensorForm) -> str:
    if form.dynamism is TensorShapeDynamism.STATIC:
        shape = f"shape {form.bounds}"
    elif form.dynamism is TensorShapeDynamism.DYNAMIC_BOUND:
        shape = f"at most shape {form.bounds}"
    else:
        shape = f"rank {len(form.bounds)}"
    return f"an array of dtype {form.dtype.name} and {shape}"


class _FixedCheck:
    """Checks a scalar or string that was fixed when the program was exported."""

    def __init__(self, method: str, role: str, fixed: object) -> None:
        self._method = method
        self._role = role
        self._fixed = fixed

    def check(self, value: object) -> object:
        fixed = self._fixed
        plain = _plain(value)
        if type(fixed) is float and type(plain) in (int, float):
            is_same = _is_close(float(plain), fixed)  # type: ignore[arg-type]  # an int or a float
        else:
            is_same = type(plain) is type(fixed) and plain == fixed
        if not is_same:
            expected = f"{fixed!r}, for which the program was specialized"
            raise InvalidInputError(
                method=self._method, input=self._role, expected=expected, given=repr(value)
            )
        return fixed


class _OpenCheck:
    """Checks a number that the program leaves open, or an input that is always None."""

    def __init__(self, method: str, role: str) -> None:
        self._method = method
        self._role = role

    def check(self, value: object) -> object:
        plain = _plain(value)
        if plain is None or type(plain) in (bool, float) or (type(plain) is int and plain in _INT64):
            return plain
        expected = "a number (an integer must fit 64 bits) or None"
        raise InvalidInputError(method=self._method, input=self._role, expected=expected, given=repr(value))


def _input_check(method: str, role: str, value: model.EValue) -> Callable[[Any], object]:
    if isinstance(value, model.SerializedTensor):
        form = TensorForm(value.scalar_type, value.sizes, value.dim_order, value.shape_dynamism)
        return TensorCheck(method, role, form).check
    if value is None:
        return _OpenCheck(method, role).check
    return _FixedCheck(method, role, value[0]).check


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


def _is_close(given: float, fixed: float) -> bool:
    """Compare with ExecuTorch's tolerance. Source: Method::set_input, method.cpp."""
    if math.isnan(fixed):
        return math.isnan(given)
    return math.isclose(given, fixed, rel_tol=1e-5, abs_tol=1e-4)
