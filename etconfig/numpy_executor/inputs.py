"""`Inputs`: the caller's inputs to `execute`, copied into a method's memory, or read where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from etconfig.kernel.memory import Array
from etconfig.kernel.tensor import Register, Tensor, end_alias
from etconfig.numpy_executor.compiled_plan import Block
from etconfig.numpy_executor.direct_inputs import DirectInput, bound_to
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
        self._direct: Sequence[DirectInput] = ()
        self._chains: Sequence[Sequence[Block]] = ()

    def read_directly(self, direct: Sequence[DirectInput], chains: Sequence[Sequence[Block]]) -> None:
        """Do not copy these inputs of the compiled plan, unless a caller's array lies otherwise in memory."""
        self._direct, self._chains = direct, chains

    def set(self, values: Sequence[object]) -> Sequence[Sequence[Block]] | None:
        """Copy `values` into the method's memory; nothing is written unless all of them fit.

        Returns:
            The blocks to run, if they read some inputs where the caller has them; else None.

        Raises:
            InvalidInputError: the number of inputs, or one of them, does not fit.
        """
        checked = self._check(values)
        if self._direct:
            return self._set_directly(checked)
        for set_one, value in zip(self._setters, checked, strict=True):
            set_one(value)
        return None

    def _set_directly(self, values: Sequence[Any]) -> Sequence[Sequence[Block]] | None:
        given = [
            (each, values[each.position]) for each in self._direct if each.accepts(values[each.position])
        ]
        in_place = {each.position for each, _ in given}
        for position, (set_one, value) in enumerate(zip(self._setters, values, strict=True)):
            if position not in in_place:
                set_one(value)
        return bound_to(self._chains, given) if given else None


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
