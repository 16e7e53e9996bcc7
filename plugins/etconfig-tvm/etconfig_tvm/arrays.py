"""Arrays that compiled code may read: their memory begins at a multiple of 64 bytes.

TVM checks sizes and types of the arrays that it is given, but not where they begin. Its vector instructions
end the process for others, and numpy aligns arrays to 16 bytes only. So sessions and delegates copy those.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNMENT_BYTES = 64


def is_aligned(array: NDArray[Any]) -> bool:
    """Return True if compiled code may read an array where it is: aligned, contiguous and writable.

    Writable, because DLPack passes no others.
    """
    flags = array.flags
    return bool(flags.c_contiguous and flags.writeable) and array.ctypes.data % ALIGNMENT_BYTES == 0


def can_be_read(argument: Any) -> bool:
    """Return True unless compiled code would end the process for an argument, or TVM would refuse it."""
    if type(argument) is np.ndarray:
        return is_aligned(argument)
    address = getattr(argument, "data_ptr", None)
    return address is None or address() % ALIGNMENT_BYTES == 0


def readable(argument: Any) -> Any:
    """Return an argument that compiled code can read: an array of numpy is copied if it is not one.

    Raises:
        ValueError: it is a tensor of another library, whose memory cannot be read where it is.
    """
    if type(argument) is np.ndarray:
        return aligned(argument)
    if not can_be_read(argument):
        raise ValueError(
            f"the memory of a {type(argument).__name__} begins at {argument.data_ptr():#x}, and TVM needs a "
            f"multiple of {ALIGNMENT_BYTES}; pass a copy of it, such as tensor.clone()"
        )
    return argument


def empty_aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a new aligned array; its contents are arbitrary."""
    size_bytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = np.empty(size_bytes + ALIGNMENT_BYTES, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT_BYTES
    return memory[start : start + size_bytes].view(dtype).reshape(shape)


def same_memory(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array at the same address that does not keep the first one alive.

    The caller makes sure that the memory stays: an executor promises it for stable arrays.
    """
    memory = (ctypes.c_uint8 * array.nbytes).from_address(array.ctypes.data)
    return np.frombuffer(memoryview(memory), array.dtype).reshape(array.shape)


def aligned(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that compiled code may read: the same one if it may, otherwise a copy.

    Sessions and delegates do this at each call; do it once for an array that you pass often.

    Args:
        array: Any array of numpy.
    """
    array = np.asarray(array)
    if is_aligned(array):
        return array
    copy = empty_aligned(array.shape, array.dtype)
    np.copyto(copy, array)
    return copy
