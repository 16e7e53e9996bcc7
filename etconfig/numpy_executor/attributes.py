"""Attributes of a loaded method: mutable buffers with a name, which can be read and written between runs."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.kernel.memory import Array
from etconfig.kernel.tensor import Register, Tensor
from etconfig.method.inputs import TensorCheck
from etconfig.numpy_executor.inputs import TensorDestination


class Attributes:
    """The attributes of one Method.

    Args:
        method: Its name.
        tensors: The tensors by attribute name.
    """

    def __init__(self, method: str, tensors: Mapping[str, Tensor]) -> None:
        self._method = method
        self._tensors = tensors

    def get(self, name: str) -> Array:
        """Return a copy of the attribute, in its dim order."""
        tensor = self._tensors[name]
        tensor.ensure_memory()
        copied: Array = tensor.array.copy(order="K")
        return copied

    def set(self, name: str, value: object) -> None:
        """Copy a value, as an input may be given, into the attribute.

        Raises:
            InvalidInputError: it does not fit; nothing was written.
        """
        tensor = self._tensors[name]
        array = TensorCheck(self._method, f"attribute {name!r}", tensor.form).check(value)
        TensorDestination(Register(tensor), tensor).set(array)
