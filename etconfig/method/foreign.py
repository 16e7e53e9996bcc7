"""What callers give as inputs: arrays of other libraries as numpy's, without a copy; nested ones in a row."""

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
"""Types that come from ml_dtypes, by name: neither numpy's array protocol nor its DLPack knows them."""


def as_array(value: object) -> Array:
    """The array that `value` is, by numpy's array protocol, DLPack or the buffer protocol.

    No data are copied, unless the other library does so itself.

    Raises:
        Exception: whatever the other library raises, or TypeError if the value is no array.
    """
    if hasattr(value, "__array__"):
        found = _of_torch(value)
        return np.asarray(value) if found is None else found
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    try:
        return np.asarray(memoryview(value))  # type: ignore[arg-type]  # that it may be no buffer is the question
    except TypeError:
        raise TypeError("it has neither __array__, __dlpack__ nor a buffer") from None


def flatten(values: object) -> Iterator[object]:
    """The leaves of nested tuples, lists and dicts, as torch.utils._pytree flattens them.

    The values of a dict come in its own order: give them in the order in which they were exported.
    """
    if isinstance(values, dict):
        values = tuple(values.values())
    if isinstance(values, (tuple, list)):
        for value in values:
            yield from flatten(value)
    else:
        yield values


def is_nested(values: Sequence[object]) -> bool:
    """Whether there is something to flatten: a dict, or a value that holds several."""
    for value in values:  # no generator: this is asked at every execute
        if type(value) is not np.ndarray and isinstance(value, (tuple, list, dict)):
            return True
    return isinstance(values, dict)


def _of_torch(value: Any) -> Array | None:
    """A torch tensor; one of a type that numpy lacks, such as bfloat16, by way of integers of the same size.

    Gradients are left behind, and what torch conjugates or negates only when it is read is done now:
    the array is a value to copy.
    """
    torch = sys.modules.get("torch")  # nobody has a tensor who has not imported it
    if torch is None or not isinstance(value, torch.Tensor):
        return None
    plain = value.detach().resolve_conj().resolve_neg()
    dtype = _NOT_NUMPYS.get(str(plain.dtype).removeprefix("torch."))
    if dtype is None:
        return np.asarray(plain)
    integers = plain.view(torch.int16 if dtype.itemsize == 2 else torch.uint8)
    found: Array = np.asarray(integers).view(dtype)
    return found
