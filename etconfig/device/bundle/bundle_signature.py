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
from typing import TYPE_CHECKING, Any, Final

from etconfig.base.packages import how_to_install
from etconfig.base.parameters import home_help
from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import MissingPackageError, SavedResultError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

MARK: Final = b"ETCBSIG1"
SIGNATURE_BYTES: Final = 64
_TRAILER_BYTES = len(MARK) + SIGNATURE_BYTES
_MAX_KEY_BYTES = 1 << 16
_OTHERS = stat.S_IROTH | stat.S_IWOTH
_HELP = {
    "private": "make one: `openssl genpkey -algorithm ed25519 -out key.pem`",
    "public": "write it: `openssl pkey -in key.pem -pubout -out public.pem`",
}


def is_signed(data: bytes) -> bool:
    """Return True if a file ends with a signature, whoever made it."""
    return data[-_TRAILER_BYTES:-SIGNATURE_BYTES] == MARK


def without_signature(data: bytes) -> bytes:
    """Return a file without its signature, if it has one."""
    return data[:-_TRAILER_BYTES] if is_signed(data) else data


def read_private_key(path: Path) -> Ed25519PrivateKey:
    """Read the key that signs.

    Raises:
        MissingPackageError: the extra `sign` is not installed.
        SavedResultError: the file cannot be read, has another key, or is open to every user.
    """
    key: Ed25519PrivateKey = _read_key(path, "private")
    return key


def check_signature(data: bytes, public_key: Path) -> None:
    """Check that the holder of a key signed a file, as it is.

    Raises:
        MissingPackageError: the extra `sign` is not installed.
        SavedResultError: nobody or somebody else signed it, it was changed, or the key cannot be read.
    """
    key: Ed25519PublicKey = _read_key(public_key, "public")
    from cryptography.exceptions import InvalidSignature

    if not is_signed(data):
        raise _failure("the bundle is not signed", None, "write it with `etconfig pack --sign KEY.pem`")
    try:
        key.verify(data[-SIGNATURE_BYTES:], data[:-SIGNATURE_BYTES])
    except InvalidSignature:
        message = "the signature of the bundle is wrong: this key did not make it, or the file was changed"
        raise _failure(message, None, "do not use it; pack and sign it again if it is yours") from None


def _read_key(path: Path, half: str) -> Any:
    """Return a private or public key in PEM, which may come through a pipe."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric import ed25519
        from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
    except ImportError as error:
        install = how_to_install("'etconfig[sign]'")
        raise MissingPackageError(purpose="a signature", package="cryptography", help=install) from error
    try:
        with path.open("rb") as file:
            text, mode = file.read(_MAX_KEY_BYTES), os.fstat(file.fileno()).st_mode
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise _failure(f"cannot read {path}: {reason}", path, home_help(path), "unreadable-file") from error
    key: object = None
    with suppress(TypeError, ValueError, UnsupportedAlgorithm):  # it is encrypted, something else, too new
        key = load_pem_private_key(text, None) if half == "private" else load_pem_public_key(text)
    if not isinstance(key, ed25519.Ed25519PrivateKey if half == "private" else ed25519.Ed25519PublicKey):
        plain = ", without passphrase" if half == "private" else ""
        raise _failure(f"{path}: expected a {half} Ed25519 key in PEM{plain}", path, _HELP[half])
    is_open = sys.platform != "win32" and stat.S_ISREG(mode) and mode & _OTHERS
    if half == "private" and is_open:
        raise _failure(f"{path}: every user can read or write this private key", path, f"`chmod o= {path}`")
    return key


def _failure(
    message: str, path: Path | None, help: str | None, code: str = "invalid-signature"
) -> SavedResultError:
    spans = () if path is None else (Span(file=str(path)),)
    return SavedResultError(diagnostics=(Diagnostic(code=code, message=message, spans=spans, help=help),))
