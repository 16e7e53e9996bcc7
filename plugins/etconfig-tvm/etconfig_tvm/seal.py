"""The seal at the end of a library's file: its SHA-256, and the devices and versions of TVM that it is for.

    library | envelope, whose payload is the SHA-256 of the library | length of the envelope | magic

The length takes 8 bytes, little-endian. Loaders ignore what follows a library, so a sealed one is still a
library for `dlopen` and for TVM itself.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import BinaryIO

from etconfig.plugin.v1 import DelegateInvalidCompatibilityError, Envelope, InvalidPayloadError, LibraryError
from etconfig_tvm.payload import BACKEND_ID, VERSION

MAGIC = b"ETtvmSUM"
KIND = "tvm library checksum"
_LENGTH_BYTES = 8
_END_BYTES = _LENGTH_BYTES + len(MAGIC)
_MAX_ENVELOPE_BYTES = 1 << 21
_CHUNK_BYTES = 1 << 20


def seal(library: bytes, envelope: Envelope) -> bytes:
    """Return the bytes of a library with its seal.

    Args:
        library: A shared library.
        envelope: The devices and engines that it is for; its kind is `KIND`.
    """
    sealed = envelope.seal(hashlib.sha256(library).digest())
    return b"".join((library, sealed, len(sealed).to_bytes(_LENGTH_BYTES, "little"), MAGIC))


def check_seal(file: BinaryIO, path: Path, engine_version: str | None) -> bool:
    """Compare a library with its seal, and the seal with this device and the installed TVM.

    Args:
        file: The open file.
        path: Its path, for messages.
        engine_version: The version of apache-tvm, or None if only its runtime library is here.

    Returns:
        False if it has none.

    Raises:
        LibraryError: the library or the seal is damaged, or it is for another device or TVM.
    """
    envelope = read_seal(file, path)
    if envelope is None:
        return False
    try:
        envelope.check(backend_id=BACKEND_ID, kind=KIND, versions=(VERSION,), engine_version=engine_version)
    except DelegateInvalidCompatibilityError as error:
        raise _incompatible(path, error) from error
    return True


def read_seal(file: BinaryIO, path: Path) -> Envelope | None:
    """Compare a library with its seal, and return what the seal says of it, or None if it has no seal.

    Args:
        file: The open file.
        path: Its path, for messages.

    Raises:
        LibraryError: the library or the seal is damaged, or this version cannot read the seal.
    """
    size_bytes = file.seek(0, os.SEEK_END)
    end = _read(file, max(0, size_bytes - _END_BYTES), size_bytes)
    if end[_LENGTH_BYTES:] != MAGIC:
        return None
    start = size_bytes - _END_BYTES - int.from_bytes(end[:_LENGTH_BYTES], "little")
    if not size_bytes - _MAX_ENVELOPE_BYTES < start < size_bytes or start < 0:
        raise _damaged(path)
    try:
        envelope, expected = Envelope.read(_read(file, start, size_bytes - _END_BYTES))
        if envelope.kind != KIND or _sha256(file, start) != bytes(expected):
            raise _damaged(path)
    except InvalidPayloadError as error:
        raise _damaged(path) from error
    except DelegateInvalidCompatibilityError as error:
        raise _incompatible(path, error) from error
    return envelope


def _incompatible(path: Path, error: DelegateInvalidCompatibilityError) -> LibraryError:
    reason = error.cause.replace("the payload", "it", 1)
    return LibraryError(
        library=str(path), reason=reason, help="compile the model for this device and this TVM"
    )


def _damaged(path: Path) -> LibraryError:
    reason = "it is damaged: its SHA-256 is not the one that it was saved with"
    return LibraryError(library=str(path), reason=reason, help="copy it again, or compile the model again")


def _read(file: BinaryIO, start: int, end: int) -> bytes:
    file.seek(start)
    return file.read(end - start)


def _sha256(file: BinaryIO, size_bytes: int) -> bytes:
    """Return the SHA-256 of the beginning of a file, read in parts: a library may be large."""
    digest = hashlib.sha256()
    file.seek(0)
    while size_bytes > 0:
        part = file.read(min(size_bytes, _CHUNK_BYTES))
        if not part:
            break
        digest.update(part)
        size_bytes -= len(part)
    return digest.digest()
