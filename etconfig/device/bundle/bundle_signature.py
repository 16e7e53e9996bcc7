"""Signatures of bundles: Ed25519, behind the FlatBuffer in the same file.

A signed file is a bundle, `MARK`, and 64 bytes: the signature of everything before them. So a bundle and its
signature cannot be separated, every byte is signed, and a reader that checks no signatures reads it, too.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from etconfig.base.packages import how_to_install
from etconfig.base.parameters import home_help
from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import MissingPackageError, SavedResultError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

MARK: Final = b"ETCBSIG1"
"""The bytes before the signature."""

SIGNATURE_BYTES: Final = 64
TRAILER_BYTES: Final = len(MARK) + SIGNATURE_BYTES
_MAX_KEY_BYTES = 1 << 16
_OTHERS = stat.S_IROTH | stat.S_IWOTH


def is_signed(data: bytes) -> bool:
    """Return True if a file ends with a signature, whoever made it."""
    return data[-TRAILER_BYTES:-SIGNATURE_BYTES] == MARK


def without_signature(data: bytes) -> bytes:
    """Return a file without its signature, if it has one."""
    return data[:-TRAILER_BYTES] if is_signed(data) else data


def read_private_key(path: Path) -> Ed25519PrivateKey:
    """Read the key that signs.

    Raises:
        MissingPackageError: the extra `sign` is not installed.
        SavedResultError: the file cannot be read, has another key, or is open to every user.
    """
    _check_extra()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    text, mode = _read_key(path)
    key: object = None
    try:
        key = load_pem_private_key(text, password=None)
        problem = "it has a key of another kind"
    except TypeError:
        problem = "it is encrypted"
    except (ValueError, UnsupportedAlgorithm):
        problem = "it is something else"
    if not isinstance(key, Ed25519PrivateKey):
        message = f"{path}: expected a private Ed25519 key in PEM, without passphrase; {problem}"
        raise _failure(message, path, "make one: `openssl genpkey -algorithm ed25519 -out key.pem`")
    if sys.platform != "win32" and stat.S_ISREG(mode) and mode & _OTHERS:
        raise _failure(f"{path}: every user can read or write this private key", path, f"`chmod o= {path}`")
    return key


def read_public_key(path: Path) -> Ed25519PublicKey:
    """Read the key that verifies.

    Raises:
        MissingPackageError: the extra `sign` is not installed.
        SavedResultError: the file cannot be read, or has another key.
    """
    _check_extra()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    text, _ = _read_key(path)
    with suppress(ValueError, UnsupportedAlgorithm):
        key = load_pem_public_key(text)
        if isinstance(key, Ed25519PublicKey):
            return key
    message = f"{path}: expected a public Ed25519 key in PEM"
    raise _failure(message, path, "write it: `openssl pkey -in key.pem -pubout -out public.pem`")


def check_signature(data: bytes, key: Ed25519PublicKey) -> None:
    """Check that the holder of a key signed a file, as it is.

    Raises:
        SavedResultError: nobody or somebody else signed it, or it was changed.
    """
    from cryptography.exceptions import InvalidSignature

    if not is_signed(data):
        raise _failure("the bundle is not signed", None, "write it with `etconfig pack --sign KEY.pem`")
    try:
        key.verify(data[-SIGNATURE_BYTES:], data[:-SIGNATURE_BYTES])
    except InvalidSignature:
        message = "the signature of the bundle is wrong: this key did not make it, or the file was changed"
        raise _failure(message, None, "do not use it; pack and sign it again if it is yours") from None


def _check_extra() -> None:
    try:
        import cryptography  # noqa: F401  (only whether it is there)
    except ImportError as error:
        install = how_to_install("'etconfig[sign]'")
        raise MissingPackageError(purpose="a signature", package="cryptography", help=install) from error


def _read_key(path: Path) -> tuple[bytes, int]:
    """Return the bytes of a file with a key, which may be a pipe, and its mode."""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_KEY_BYTES), os.fstat(file.fileno()).st_mode
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise _failure(f"cannot read {path}: {reason}", path, home_help(path), "unreadable-file") from error


def _failure(
    message: str, path: Path | None, help: str | None, code: str = "invalid-signature"
) -> SavedResultError:
    spans = () if path is None else (Span(file=str(path)),)
    return SavedResultError(diagnostics=(Diagnostic(code=code, message=message, spans=spans, help=help),))
