"""`engine_file_format`: the format of an engine's file with its version, read without the engine."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from etconfig.program.identify import HEAD_BYTES, recognize_engine_model

_XML_BYTES = 4096
_NET = re.compile(rb'<net\b[^>]*\sversion="(\d{1,9})"')
_MOST_FIELDS = 10_000
_MOST_BYTES = 256
"""The most fields of an ONNX model that are looked at, and the size of the largest one that is read."""


def engine_file_format(path: Path) -> str:
    """Return the format of a file with its version, as `ONNX, IR 8, opset 17`; `unknown` for other files.

    Only some bytes are read, which may be anything.

    Raises:
        OSError: it cannot be read, or is a pipe or a device.
    """
    if path.is_dir():
        return "a directory"
    if not path.is_file() and path.exists():
        raise OSError("it is not a regular file")
    with path.open("rb") as file:
        head = file.read(_XML_BYTES)
        recognized = recognize_engine_model(head[:HEAD_BYTES])
        name = "unknown" if recognized is None else recognized[0]
        try:
            if head[4:8] == b"ORTM":
                return f"ORT format, version {_ort_version(file)}"
            if name == "an ONNX model":
                return _onnx_versions(file)
        except (ValueError, struct.error):  # damaged
            return name
    net = _NET.search(head)
    return name if net is None else f"OpenVINO IR, version {int(net[1])}"


def _onnx_versions(file: BinaryIO) -> str:
    """Return the version of a ModelProto, and of each of its sets of operators. Source: onnx.proto."""
    file.seek(0)
    found = ["ONNX"]
    for field, value in _fields(file):
        if field == 1:
            found.append(f"IR {value!s:.20}")
        elif field == 8 and isinstance(value, bytes):
            of_set = dict(_fields(io.BytesIO(value)))
            domain = of_set.get(1) or b"opset"  # ONNX's own one has no name
            name = domain.decode("ascii") if isinstance(domain, bytes) else "?"
            found.append(f"{name} {of_set.get(2)!s:.20}")
    return ", ".join(found)


def _fields(file: BinaryIO) -> Iterator[tuple[int, int | bytes]]:
    """Yield the numbers and values of the fields of a protobuf message; long ones are left out.

    Raises:
        ValueError: it is not such a message.
    """
    for _ in range(_MOST_FIELDS):
        tag = _varint(file)
        if tag is None:
            return
        number = _varint(file)
        if number is None or number >= 1 << 62 or tag & 7 not in (0, 2):
            raise ValueError("it ends too early, or has a field of another kind")
        if tag & 7 == 0:
            yield tag >> 3, number
            continue
        skipped = 0 if number <= _MOST_BYTES else number - 1
        file.seek(skipped, io.SEEK_CUR)
        value = file.read(number - skipped)
        if len(value) < number - skipped:
            raise ValueError("it ends too early")
        if not skipped:
            yield tag >> 3, value


def _varint(file: BinaryIO) -> int | None:
    """Return the next integer; None at the end."""
    value = 0
    for place in range(0, 70, 7):
        byte = file.read(1)
        if not byte:
            return None
        value |= (byte[0] & 0x7F) << place
        if byte[0] < 0x80:
            return value
    raise ValueError("an integer is too long")


def _ort_version(file: BinaryIO) -> str:
    """Return the first field of the root. Source: onnxruntime/core/flatbuffers/schema/ort.fbs."""

    def number(code: str, at: int) -> int:
        file.seek(max(at, 0))
        return int(struct.unpack(f"<{code}", file.read(struct.calcsize(code)))[0])

    root = number("I", 0)
    place = root + number("H", root - number("i", root) + 4)
    size_bytes = number("I", place + number("I", place))
    return file.read(min(size_bytes, 20)).decode("ascii")
