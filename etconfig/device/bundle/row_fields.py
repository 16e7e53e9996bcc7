"""`RowField`: what the layout of a bundle says of a field of a row. `tables.py` has the fields of all rows.

The reader in Python interprets fields; `tools/write_bundle_layout.py` writes them as C++ for the other one.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from etconfig.flatbuffer.layout import U8, U32, FieldKind

NONE: Final = 0xFFFFFFFF
"""The index of nothing."""

MAX_NAME_BYTES: Final = 256
"""The longest name of a method, instance, backend, option, fact, profile or model, in UTF-8."""


class RowField(NamedTuple):
    """One field of a row, and what is true of it in a sound bundle.

    Attributes:
        kind: Its width.
        to: The vector that it is an index of; empty if it is none.
        may_be_none: True if `NONE` is allowed.
        needed_by: A field of the same row: this one may be `NONE` only if that one is.
        is_name: True if the text has `MAX_NAME_BYTES` at most.
        range_of: The vector of which it is the first of a range; the next field is the number of elements.
        items_of: The vector that the items of a range of `items` are indices of.
        range_name: The name of the range in C++, if it is not the vector's.
        meanings: The meanings of its numbers, from 0 on; none may be larger.
        problem: The message for a number without a meaning.
        is_step: True if it is a finite number, and not negative; other numbers may be infinite.
    """

    kind: FieldKind = U32
    to: str = ""
    may_be_none: bool = False
    needed_by: str = ""
    is_name: bool = False
    range_of: str = ""
    items_of: str = ""
    range_name: str = ""
    meanings: Sequence[enum.Enum | bool] = ()
    problem: str = ""
    is_step: bool = False


def one_of(meanings: Sequence[enum.Enum], subject: str) -> RowField:
    """Return the field of a number that means one of these, in this order."""
    return RowField(U8, meanings=meanings, problem=f"{subject} is unknown")


def range_of(vector: str, name: str = "") -> RowField:
    """Return the first of two fields, which are a range of a vector."""
    return RowField(range_of=vector, range_name=name or vector)


def items_of(vector: str, name: str) -> RowField:
    """Return the first of two fields, which are a range of `items`: indices of a vector."""
    return RowField(range_of="items", items_of=vector, range_name=name)


def fields_of(row: Any) -> dict[str, RowField]:
    """Return the fields of a class of rows."""
    return {name: hint.__metadata__[0] for name, hint in row.__annotations__.items()}
