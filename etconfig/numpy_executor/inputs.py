"""`Inputs`: the caller's inputs to `execute`, copied into a method's memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from etconfig.kernel.memory import Array
from etconfig.kernel.tensor import Register, Tensor, end_alias
from etconfig.program.model import TensorShapeDynamism


class Inputs:
    """The inputs of one Method.

    Args:
        check: Checks a caller's inputs, as `MethodRequest.check_inputs` does.
        registers: The registers of the inputs, in their order.
    """

    def __init__(self, check: Callable[[Sequence[object]], list[Any]], registers: Sequence[Register]) -> None:
        self._check = check
        self._setters = [_setter(register) for register in registers]

    def set(self, values: Sequence[object]) -> None:
        """Copy `values` into the method's memory; nothing is written unless all of them fit.

        Raises:
            InvalidInputError: the number of inputs, or one of them, does not fit.
        """
        for set_one, value in zip(self._setters, self._check(values), strict=True):
            set_one(value)


class TensorDestination:
    """A tensor that values are copied into; their strides may be any, the copy has the tensor's dim order."""

    def __init__(self, register: Register, tensor: Tensor) -> None:
        self._register = register
        self._tensor = tensor
        if tensor.dynamism is TensorShapeDynamism.STATIC:
            tensor.ensure_memory()

    def set(self, value: Array) -> None:
        """Copy an array of a shape that fits."""
        tensor = self._tensor
        self._register.value = tensor  # the previous run may have moved another value there
        if tensor.is_alias:
            end_alias(tensor)
        tensor.resize(value.shape)
        tensor.array[...] = value  # takes half as long as np.copyto for a few elements


def _setter(register: Register) -> Callable[[Any], None]:
    value = register.value
    if isinstance(value, Tensor):
        return TensorDestination(register, value).set
    if value is None:
        return partial(setattr, register, "value")
    return _keep


def _keep(value: object) -> None:
    """Leave a scalar or string as it is: it was fixed when the program was exported."""
