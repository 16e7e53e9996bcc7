"""Reads of memory that a library points to: a wrong address is an error, not the end of the process.

The operating system reads the memory, for a pipe, and refuses addresses that the process does not have.
"""

from __future__ import annotations

import ctypes
import os

_PAGE_BYTES = 4096
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.write.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
_LIBC.write.restype = ctypes.c_ssize_t


class WrongAddressError(Exception):
    """A library gave an address that cannot be read."""


def read_memory(address: int | None, size_bytes: int) -> bytes:
    """Return `size_bytes` bytes at an address.

    Raises:
        WrongAddressError: they are not all in the process's memory.
    """
    if size_bytes == 0:
        return b""
    parts = []
    reader, writer = os.pipe()
    try:
        for start in range(0, size_bytes, _PAGE_BYTES):
            wanted = min(_PAGE_BYTES, size_bytes - start)
            if _LIBC.write(writer, (address or 0) + start, wanted) != wanted:
                raise WrongAddressError(f"{size_bytes} bytes at address {address or 0:#x} cannot be read")
            parts.append(os.read(reader, wanted))
    finally:
        os.close(reader)
        os.close(writer)
    return b"".join(parts)


def read_c_text(address: int | None, max_bytes: int) -> str:
    """Return the text at an address, up to its NUL, or its beginning if it is longer than `max_bytes`.

    Bytes that are not UTF-8 are shown as escapes.

    Raises:
        WrongAddressError: it is not in the process's memory.
    """
    parts: list[bytes] = []
    at = address or 0
    while (left := max_bytes - sum(map(len, parts))) > 0:
        # not beyond the page, since the next one need not exist
        part, nul, _ = read_memory(at, min(left, _PAGE_BYTES - at % _PAGE_BYTES)).partition(b"\0")
        parts.append(part)
        at += len(part)
        if nul:
            break
    return b"".join(parts).decode(errors="backslashreplace")
