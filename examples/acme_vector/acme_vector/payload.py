"""The bytes inside a delegate: a header, then the names of the operations as JSON.

offset  size  field
0       4     magic "ACMV"
4       4     format version, little-endian
8       4     CRC-32 of what follows
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence

from etconfig.plugin.v1 import DelegateInvalidCompatibilityError

MAGIC = b"ACMV"
VERSION = 1
OPERATIONS = ("abs", "neg", "relu")
MAX_OPERATIONS = 1000
_HEADER = struct.Struct("<4sII")


def encode(operations: Sequence[str]) -> bytes:
    """The payload of a delegate that runs `operations` one after the other."""
    body = json.dumps(list(operations)).encode()
    return _HEADER.pack(MAGIC, VERSION, zlib.crc32(body)) + body


def decode(payload: memoryview) -> tuple[str, ...]:
    """The operations in `payload`.

    Raises:
        DelegateInvalidCompatibilityError: it has another version.
        ValueError: it is not a payload, is damaged, or names what does not exist.
    """
    if len(payload) < _HEADER.size:
        raise ValueError(f"the payload has {len(payload)} bytes, its header alone needs {_HEADER.size}")
    magic, version, checksum = _HEADER.unpack_from(payload)
    body = payload[_HEADER.size :]
    if magic != MAGIC:
        raise ValueError(f"the payload begins with {magic!r}, not {MAGIC!r}")
    if version != VERSION:
        raise DelegateInvalidCompatibilityError(
            cause=f"the payload has format version {version}; this plugin reads {VERSION}"
        )
    if zlib.crc32(body) != checksum:
        raise ValueError("the payload is damaged: its checksum does not match")
    operations = json.loads(bytes(body))
    if not isinstance(operations, list) or len(operations) > MAX_OPERATIONS:
        raise ValueError(f"the payload must list at most {MAX_OPERATIONS} operations")
    for name in operations:
        if name not in OPERATIONS:
            raise ValueError(f"there is no operation {name!r}, only {', '.join(OPERATIONS)}")
    return tuple(operations)
