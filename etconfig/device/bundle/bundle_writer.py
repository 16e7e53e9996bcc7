"""`write_tables`: writes the content of a bundle as bytes."""

from __future__ import annotations

from etconfig.device.bundle.tables import (
    BUNDLE_IDENTIFIER,
    BUNDLE_TABLE,
    BUNDLE_VERSION,
    MAX_BYTES,
    ROWS,
    BundleTables,
)
from etconfig.flatbuffer.layout import U32
from etconfig.flatbuffer.writer import FlatBufferWriter


def write_tables(tables: BundleTables) -> bytes:
    """Return the bytes of a bundle; equal content gives equal bytes. Nothing is checked.

    Raises:
        struct.error: a number does not fit its field.
    """
    writer = FlatBufferWriter()
    vectors = {name: writer.struct_vector(rows.layout, getattr(tables, name)) for name, rows in ROWS.items()}
    root = writer.table(
        BUNDLE_TABLE,
        version=BUNDLE_VERSION,
        producer=writer.string(tables.producer),
        fingerprint=writer.string(tables.fingerprint),
        sources=writer.string(tables.sources),
        revision=tables.revision,
        not_after=tables.not_after,
        least_reader=tables.least_reader,
        texts=writer.reference_vector(list(map(writer.string, tables.texts))),
        items=writer.number_vector(U32, tables.items),
        project_fact_count=tables.project_fact_count,
        named_profile=tables.named_profile,
        require_match=tables.require_match,
        **vectors,
    )
    return writer.finish(root, BUNDLE_IDENTIFIER)


def fits_file(tables: BundleTables) -> bool:
    """Return True if the file has 16 MiB at most; only large ones are written to find out."""
    rows = sum(each.layout.size_bytes * len(getattr(tables, name)) for name, each in ROWS.items())
    texts = sum(len(text.encode()) + 9 for text in tables.texts)  # with its length, its end and its place
    at_least_bytes = rows + 4 * len(tables.items) + texts
    if at_least_bytes <= MAX_BYTES // 2:  # alignment adds 3 bytes to a text
        return True
    return at_least_bytes <= MAX_BYTES and len(write_tables(tables)) <= MAX_BYTES
