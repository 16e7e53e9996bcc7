"""The layout of `.etargs` files: the tables of `etargs.fbs`."""

from __future__ import annotations

import enum
from typing import Final

from etconfig.flatbuffer.layout import F64, I64, REFERENCE, U8, U16, Layout

IDENTIFIER: Final = b"ETAR"
VERSION: Final = 1
MAX_DEPTH: Final = 16
"""The deepest nesting of arrays and tables."""


class ValueKind(enum.IntEnum):
    """The type of a value."""

    NONE = 0
    BOOLEAN = 1
    INTEGER = 2
    NUMBER = 3
    TEXT = 4
    ARRAY = 5
    TABLE = 6


VALUE_TABLE = Layout(kind=U8, integer=I64, number=F64, text=REFERENCE, items=REFERENCE, keys=REFERENCE)
OPTION_TABLE = Layout(
    name=REFERENCE, value=REFERENCE, key=REFERENCE, sent=REFERENCE, scope=U8, applies=U8, is_set=U8
)
BACKEND_TABLE = Layout(id=REFERENCE, options=REFERENCE)
METHOD_TABLE = Layout(name=REFERENCE, instance=REFERENCE, backends=REFERENCE)
CONFIGURATION_TABLE = Layout(name=REFERENCE, fingerprint=REFERENCE, methods=REFERENCE)
PACKAGE_TABLE = Layout(version=U16, producer=REFERENCE, configurations=REFERENCE)
"""The root."""
