"""`read_tables`: reads and verifies a bundle; any bytes take bounded work and give one error."""

from __future__ import annotations

from typing import Any

from etconfig.device.bundle.table_checks import check_tables
from etconfig.device.bundle.tables import (
    BUNDLE_IDENTIFIER,
    BUNDLE_TABLE,
    BUNDLE_VERSION,
    MAX_BYTES,
    ROWS,
    BundleTables,
)
from etconfig.flatbuffer.layout import U32
from etconfig.flatbuffer.reader import FlatBufferReader
from etconfig.flatbuffer.value_errors import ValueErrors

_WORK_PER_BYTE = 64
"""More than reading every vector once takes, even if all of them lie on top of each other."""


def read_tables(data: bytes) -> BundleTables:
    """Return the content of a bundle, with every index, range and type verified.

    Raises:
        ValueError: the bytes are not a bundle, or a damaged one; the message says what is wrong.
    """
    if len(data) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES >> 20} MiB")
    if data[4:8] != BUNDLE_IDENTIFIER:
        raise ValueError("its identifier is not ETCB")
    buffer = FlatBufferReader(
        memoryview(data),
        len(data),
        ValueErrors(),
        max_string_bytes=len(data),
        max_work_per_byte=_WORK_PER_BYTE,
    )
    values = buffer.table(buffer.root(), BUNDLE_TABLE)
    fields: dict[str, Any] = {
        field.name: value for field, value in zip(BUNDLE_TABLE.fields, values, strict=True)
    }
    version = fields.pop("version")
    if version != BUNDLE_VERSION:
        raise ValueError(f"its version is {version}, and this etconfig reads version {BUNDLE_VERSION}")
    for name in ("producer", "fingerprint"):
        fields[name] = buffer.string(fields[name], name)
    fields["texts"] = _texts(buffer, buffer.references(fields["texts"], "texts"))
    fields["items"] = buffer.numbers(fields["items"], U32, "items")
    for name, rows in ROWS.items():
        fields[name] = list(map(rows.row._make, buffer.structs(fields[name], rows.layout, name)))
    tables = BundleTables(**fields)
    check_tables(tables)
    return tables


def _texts(buffer: FlatBufferReader, positions: tuple[int, ...]) -> list[str]:
    """Return the texts. Together they fit into the file; in a damaged one, many may lie at one place."""
    texts = []
    left_bytes = buffer.size_bytes
    for position in positions:
        left_bytes -= buffer.u32(position, "texts") + 4
        if left_bytes < 0:
            raise ValueError("its texts overlap")
        texts.append(buffer.string(position, "texts"))
    return texts
