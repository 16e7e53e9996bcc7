"""Inputs from other libraries: their arrays as numpy arrays, without a copy, and nested inputs flattened."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from etconfig.kernel.memory import Array
from etconfig.kernel.tensor import DTYPES

_NOT_NUMPYS: Mapping[str, np.dtype[Any]] = {
    dtype.name: dtype for dtype in DTYPES.values() if not dtype.isbuiltin or dtype.isbuiltin == 2
}
"""Types of ml_dtypes, by name; neither numpy's array protocol nor its DLPack support knows them."""


def as_array(value: object) -> Array:
    """Return `value` as a numpy array, by numpy's array protocol, DLPack or the buffer protocol.

    No data are copied, unless the other library does so itself.

    Raises:
        Exception: any error of the other library, or TypeError if the value is not an array.
    """
    if hasattr(value, "__array__"):
        found = _of_torch(value)
        return np.asarray(value) if found is None else found
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    try:
        return np.asarray(memoryview(value))  # type: ignore[arg-type]  # not a buffer: TypeError
    except TypeError:
        raise TypeError("it has neither __array__, __dlpack__ nor a buffer") from None


def flatten(values: object) -> Iterator[object]:
    """Yield the leaves of nested tuples, lists and dicts, as torch.utils._pytree flattens them.

    The values of a dict come in its own order, which must be the order of the example at export.
    """
    if isinstance(values, dict):
        values = tuple(values.values())
    if isinstance(values, (tuple, list)):
        for value in values:
            yield from flatten(value)
    else:
        yield values


def is_nested(values: Sequence[object]) -> bool:
    """Return True if there is something to flatten: a dict, or a container among the values."""
    for value in values:  # a loop is faster than a generator, and this runs at every execute
        if type(value) is not np.ndarray and isinstance(value, (tuple, list, dict)):
            return True
    return isinstance(values, dict)


def _of_torch(value: Any) -> Array | None:
    """Return a torch tensor as an array, or None for any other value.

    Types that numpy lacks, such as bfloat16, are viewed as integers of the same size on the way.
    Gradients are dropped, and lazy conjugation and negation are carried out: the array is only a
    value to copy.
    """
    torch = sys.modules.get("torch")  # a caller with a tensor has imported torch; do not import it here
    if torch is None or not isinstance(value, torch.Tensor):
        return None
    plain = value.detach().resolve_conj().resolve_neg()
    dtype = _NOT_NUMPYS.get(str(plain.dtype).removeprefix("torch."))
    if dtype is None:
        return np.asarray(plain)
    integers = plain.view(torch.int16 if dtype.itemsize == 2 else torch.uint8)
    found: Array = np.asarray(integers).view(dtype)
    return found
