"""`read_tables`: reads and verifies a bundle; any bytes take bounded work and give one error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from etconfig.device.bundle.bundle_signature import without_signature
from etconfig.device.bundle.table_checks import check_tables
from etconfig.device.bundle.tables import (
    BUNDLE_IDENTIFIER,
    BUNDLE_TABLE,
    BUNDLE_VERSION,
    MAX_BYTES,
    MAX_NOT_AFTER,
    MAX_REVISION,
    ROWS,
    BundleTables,
)
from etconfig.flatbuffer.layout import U16, U32, Layout
from etconfig.flatbuffer.reader import FlatBufferReader

_HASH = re.compile("[0-9a-f]{64}")
_VERSION = Layout(version=U16)

_WORK_PER_BYTE = 64
"""More than reading every vector once takes, even if all of them lie on top of each other."""

_REASONS = {"bad-string": "a text does not end where it should"}
"""The words for a code of the reader; for other codes, its own detail is used."""


def read_tables(data: bytes) -> BundleTables:
    """Return the content of a bundle, with every index, range and type verified.

    Raises:
        ValueError: the bytes are not a bundle, or a damaged one; the message says what is wrong.
    """
    if len(data) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES >> 20} MiB")
    if data[4:8] != BUNDLE_IDENTIFIER:
        raise ValueError("its identifier is not ETCB")
    data = without_signature(data)
    buffer = FlatBufferReader(
        memoryview(data),
        len(data),
        _Errors(),
        max_string_bytes=len(data),
        max_work_per_byte=_WORK_PER_BYTE,
    )
    (version,) = buffer.table(buffer.root(), _VERSION)  # other versions may have other fields
    if version < BUNDLE_VERSION:
        raise ValueError(f"its version is {version}, and this etconfig reads version {BUNDLE_VERSION}")
    values = buffer.table(buffer.root(), BUNDLE_TABLE)[1:]
    names = [field.name for field in BUNDLE_TABLE.fields[1:]]
    fields: dict[str, Any] = dict(zip(names, values, strict=True))
    if (needed := fields["least_reader"]) > BUNDLE_VERSION:
        raise ValueError(f"it needs a reader of version {needed}, and this etconfig reads {BUNDLE_VERSION}")
    for name in ("producer", "fingerprint", "sources"):
        fields[name] = buffer.string(fields[name], name)
    _check_release(fields)
    fields["texts"] = _texts(buffer, buffer.references(fields["texts"], "texts"))
    fields["items"] = buffer.numbers(fields["items"], U32, "items")
    for name, rows in ROWS.items():
        fields[name] = list(map(rows.row._make, buffer.structs(fields[name], rows.layout, name)))
    tables = BundleTables(**fields)
    check_tables(tables)
    return tables


def _check_release(fields: Mapping[str, Any]) -> None:
    """Refuse a fingerprint that is none, and a revision or a time that other readers would round."""
    for name in ("fingerprint", "sources"):
        if not _HASH.fullmatch(fields[name]) and not (name == "sources" and fields[name] == ""):
            raise ValueError(f"its {name} should be a SHA-256 in hexadecimal digits")
    for name, largest in (("revision", MAX_REVISION), ("not_after", MAX_NOT_AFTER)):
        if fields[name] > largest:
            raise ValueError(f"its {name} is larger than {largest}")


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


class _Errors:
    """Makes a ValueError that says in a few words what is wrong; readers add the name of the file."""

    def truncated(self, field: str, offset: int, needed_bytes: int, available_bytes: int) -> ValueError:
        """Something takes more bytes than are left."""
        return ValueError("it ends too early")

    def malformed(self, code: str, field: str, detail: str, *, offset: int | None = None) -> ValueError:
        """The bytes contradict the format."""
        return ValueError(_REASONS.get(code, detail))

    def undecodable(self, field: str, reason: str, offset: int) -> ValueError:
        """A text is not UTF-8."""
        return ValueError("a text is not UTF-8")

    def missing_field(self, field: str) -> ValueError:
        """A required field is absent."""
        return ValueError("a required field is missing")

    def string_too_long(self, field: str, offset: int, size_bytes: int, limit: int) -> ValueError:
        """A text is longer than any file may be, so it ends after the file does."""
        return self.truncated(field, offset, size_bytes, limit)

    def too_much_work(self, field: str, limit: int) -> ValueError:
        """References lead to the same table again and again; a sound file refers to each once."""
        return ValueError("tables overlap")
