"""`TableReader`: reads the tables that share one vtable; compiled from the vtable's field offsets."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from etconfig.flatbuffer.layout import Field, Layout


class VtableError(Exception):
    """A vtable that no sound table has. It never leaves `etconfig.flatbuffer`.

    Attributes:
        code: The kind of contradiction: `bad-vtable` or `misaligned`.
        field: The field that it is about.
        detail: The contradiction, in words.
    """

    def __init__(self, code: str, field: str, detail: str) -> None:
        super().__init__(code, field, detail)
        self.code, self.field, self.detail = code, field, detail


class TableReader(NamedTuple):
    """One vtable, compiled for one layout.

    Attributes:
        size_bytes: The size of such a table.
        alignment_mask: With `alignment`: a table's position must satisfy `position & mask == alignment`.
        unpack_from: Reads the fields that are present, in the order in which they lie.
        defaults: The defaults of absent fields, which follow them.
        pick: Puts both into the layout's order; None if they are in it.
        references: (index in the layout's order, offset in the table, name) of each reference.
        offsets: Where each field of the layout lies in the table, 0 if it is absent.
    """

    size_bytes: int
    alignment_mask: int
    alignment: int
    unpack_from: Callable[[memoryview, int], tuple[Any, ...]]
    defaults: tuple[Any, ...]
    pick: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None
    references: tuple[tuple[int, int, str], ...]
    offsets: tuple[int, ...]


@lru_cache(maxsize=256)
def compile_table_reader(layout: Layout, offsets: tuple[int, ...], table_bytes: int) -> TableReader:
    """Compile a vtable with these `offsets` in its slots (0 for an absent field).

    Every program of one exporter has the same vtables, so the last ones are cached: compiling them
    again would be a fifth of the time that opening a small program takes.

    Raises:
        VtableError: fields overlap each other, leave the table or are not aligned.
    """
    by_field = [offsets[f.slot] if f.slot < len(offsets) else 0 for f in layout.fields]
    present = sorted((offset, index) for index, offset in enumerate(by_field) if offset)
    absent = [index for index, offset in enumerate(by_field) if not offset]
    lying = [(offset, layout.fields[index]) for offset, index in present]
    order = [*(index for _, index in present), *absent]
    places = sorted(range(len(order)), key=order.__getitem__)
    mask, alignment = _alignment(lying)
    return TableReader(
        size_bytes=table_bytes,
        alignment_mask=mask,
        alignment=alignment,
        unpack_from=_compile_struct(lying, table_bytes).unpack_from,
        defaults=tuple(layout.fields[index].kind.default for index in absent),
        pick=None if places == sorted(places) else itemgetter(*places),
        references=tuple(
            (index, offset, layout.fields[index].name)
            for offset, index in present
            if layout.fields[index].kind.is_reference
        ),
        offsets=tuple(by_field),
    )


def _compile_struct(lying: Sequence[tuple[int, Field]], table_bytes: int) -> struct.Struct:
    """Return a struct that reads the fields in the order in which they lie."""
    codes = ["<4x"]  # every table starts with the offset of its vtable
    end = 4
    for offset, field in lying:
        if not end <= offset <= table_bytes - field.kind.size_bytes:
            detail = f"the field at offset {offset} overlaps another one or leaves its table"
            raise VtableError("bad-vtable", field.name, detail)
        codes.append(f"{offset - end}x{field.kind.code}")
        end = offset + field.kind.size_bytes
    return struct.Struct("".join(codes))


def _alignment(lying: Sequence[tuple[int, Field]]) -> tuple[int, int]:
    """Return the (mask, value) that a table's position must match for all its fields to be aligned."""
    # Every table lies at a multiple of 4. A field of 8 bytes also fixes the position modulo 8, and a second
    # one at an odd distance of 4 bytes would fix it differently: no table with both can exist.
    mask, alignment = 3, 0
    for offset, field in lying:
        if offset % min(field.kind.size_bytes, 4):
            raise VtableError("misaligned", field.name, "the field is not aligned in its table")
        if field.kind.size_bytes == 8:
            wanted = -offset % 8
            if mask == 7 and wanted != alignment:
                raise VtableError("misaligned", field.name, "the field can never be aligned")
            mask, alignment = 7, wanted
    return mask, alignment
