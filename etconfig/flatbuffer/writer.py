"""`FlatBufferWriter`: tables by their layouts, written with the `flatbuffers` package.

A buffer is written from its end to its beginning, so that a table refers to what is there already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NewType

from etconfig.flatbuffer.layout import FieldKind, Layout, StructLayout

EndOffset = NewType("EndOffset", int)
"""Where something begins, in bytes before the end of the buffer."""

_LARGEST_ALIGNMENT = 8


class FlatBufferWriter:
    """Writes one buffer: children first, then the tables that refer to them, then `finish`.

    Equal calls give equal bytes.
    """

    def __init__(self) -> None:
        # Imported here: the package imports numpy, and few commands write a FlatBuffer.
        from flatbuffers import Builder, number_types

        self._builder = Builder()
        self._number_types = {
            "?": number_types.BoolFlags,
            "B": number_types.Uint8Flags,
            "b": number_types.Int8Flags,
            "H": number_types.Uint16Flags,
            "i": number_types.Int32Flags,
            "I": number_types.Uint32Flags,
            "q": number_types.Int64Flags,
            "Q": number_types.Uint64Flags,
            "d": number_types.Float64Flags,
        }

    def string(self, text: str) -> EndOffset:
        """Write a string; equal strings are written once."""
        return EndOffset(self._builder.CreateSharedString(text))

    def byte_vector(self, data: bytes, alignment: int = 4) -> EndOffset:
        """Write a vector of bytes, the first at a multiple of `alignment` from the end of the buffer."""
        self._builder.Prep(alignment, len(data))
        return EndOffset(self._builder.CreateByteVector(data))

    def reference_vector(self, references: Sequence[EndOffset]) -> EndOffset:
        """Write a vector of tables or strings."""
        self._builder.StartVector(4, len(references), 4)
        for reference in reversed(references):
            self._builder.PrependUOffsetTRelative(reference)
        return EndOffset(self._builder.EndVector())

    def number_vector(self, kind: FieldKind, numbers: Sequence[float]) -> EndOffset:
        """Write a vector of numbers."""
        return self.struct_vector(StructLayout(number=kind), [(number,) for number in numbers])

    def struct_vector(self, layout: StructLayout, rows: Sequence[Sequence[Any]]) -> EndOffset:
        """Write a vector of structs, each given by the values of its fields.

        Raises:
            struct.error: a value does not fit its field.
        """
        data = b"".join(layout.packed.pack(*row) for row in rows)
        self._builder.StartVector(layout.size_bytes, len(rows), layout.alignment)
        start = self._builder.Head() - len(data)
        self._builder.head = start
        self._builder.Bytes[start : start + len(data)] = data
        return EndOffset(self._builder.EndVector())

    def table(self, layout: Layout, **values: float | EndOffset | None) -> EndOffset:
        """Write a table.

        Args:
            layout: Its layout.
            values: The number, or the offset of the referenced object, of each field by name. None leaves a
                field out; a default is written like any other number.

        Raises:
            KeyError: the layout has no such field.
        """
        fields = {field.name: field for field in layout.fields}
        present = [(fields[name], value) for name, value in values.items() if value is not None]
        # Every table ends at a multiple of 8, so that tables with the same fields look alike and share a
        # vtable. The widest fields are written first, which takes the least padding.
        self._builder.Prep(_LARGEST_ALIGNMENT, 0)
        self._builder.StartObject(layout.slot_count)
        for field, value in sorted(present, key=lambda each: (-each[0].kind.size_bytes, each[0].slot)):
            if field.kind.is_reference:
                self._builder.PrependUOffsetTRelative(value)
            else:
                self._builder.Prepend(self._number_types[field.kind.code], value)
            self._builder.Slot(field.slot)
        return EndOffset(self._builder.EndObject())

    def finish(self, root: EndOffset, identifier: bytes, *, with_size: bool = False) -> bytes:
        """Return the buffer, with the schema's identifier of four bytes, and on demand its size in front."""
        finish = self._builder.FinishSizePrefixed if with_size else self._builder.Finish
        finish(root, file_identifier=identifier)
        return bytes(self._builder.Output())

    def unfinished(self) -> bytes:
        """Return the bytes so far, to be appended to an existing buffer; offsets count from its new end."""
        return bytes(self._builder.Bytes[self._builder.Head() :])
