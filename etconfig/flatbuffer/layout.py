"""Layouts: which field of a table lies in which slot, and how wide it is."""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple


class FieldKind(NamedTuple):
    """The type of a field or of a vector's elements.

    Attributes:
        code: Its character in the `struct` module.
        size_bytes: Its width, and its alignment.
        default: The value of an absent field. No schema that is read here has other defaults.
        is_reference: True if it is an offset from its own position to what it refers to.
    """

    code: str
    size_bytes: int
    default: int | float | bool = 0
    is_reference: bool = False


U8 = FieldKind("B", 1)
I8 = FieldKind("b", 1)
BOOLEAN = FieldKind("?", 1, default=False)
U16 = FieldKind("H", 2)
I32 = FieldKind("i", 4)
U32 = FieldKind("I", 4)
I64 = FieldKind("q", 8)
U64 = FieldKind("Q", 8)
F64 = FieldKind("d", 8, default=0.0)
REFERENCE = FieldKind("I", 4, is_reference=True)
"""A string, vector or table elsewhere; reads as its position, or as 0 when absent."""


class Field(NamedTuple):
    """A field that is read or written."""

    slot: int
    name: str
    kind: FieldKind


class Layout:
    """The fields of one table, in the order of the schema; None marks a slot that is left alone.

    A table's fields are numbered in the order in which the schema declares them; a union takes two slots,
    its type first. Layouts are compared by identity, which makes them cheap keys.
    """

    __slots__ = ("fields", "slot_count")

    def __init__(self, **slots: FieldKind | None) -> None:
        self.slot_count = len(slots)
        self.fields = tuple(
            Field(slot, name, kind) for slot, (name, kind) in enumerate(slots.items()) if kind is not None
        )


class StructLayout:
    """The fields of a FlatBuffers struct, which lie in the order of the schema with the padding of C.

    Attributes:
        packed: Packs and unpacks the values of all fields, in this order.
        size_bytes: The size of one struct, a multiple of its alignment.
        alignment: The width of its widest field.
    """

    __slots__ = ("alignment", "packed", "size_bytes")

    def __init__(self, **fields: FieldKind) -> None:
        codes, end = ["<"], 0
        self.alignment = max(kind.size_bytes for kind in fields.values())
        for kind in fields.values():
            padding = -end % kind.size_bytes
            codes.append(f"{padding}x{kind.code}")
            end += padding + kind.size_bytes
        padding = -end % self.alignment
        self.packed = Struct("".join((*codes, f"{padding}x")))
        self.size_bytes = end + padding
