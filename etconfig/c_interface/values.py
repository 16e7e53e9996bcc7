"""Typed values as structs of the C interface, and back."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import Array, addressof, create_string_buffer, sizeof
from typing import Any

from etconfig.base.plain_data import jsonable
from etconfig.c_interface.foreign_memory import WrongAddressError, read_c_text, read_memory
from etconfig.c_interface.structs import (
    KIND_BOOLEAN,
    KIND_INTEGER,
    KIND_LIST,
    KIND_NONE,
    KIND_NUMBER,
    KIND_TABLE,
    KIND_TEXT,
    COption,
    CValue,
)
from etconfig.schema.coerce import Mismatch, coerce
from etconfig.schema.option_type import OptionKind, OptionType
from etconfig.schema.options import BackendOptions

MAX_TEXT_BYTES = 1 << 16
"""The longest text, list or table that is accepted from a library, in bytes or items."""

MAX_DEPTH = 8
"""The deepest nesting of lists and tables that is accepted from a library."""


def c_text(text: str, keep: list[Any]) -> int:
    """Return the address of a text with a final NUL, which lives as long as `keep`.

    Raises:
        ValueError: it contains a NUL itself.
    """
    data = text.encode()
    if b"\0" in data:
        raise ValueError(f"{text!r} contains a NUL, where a text of C ends")
    buffer = create_string_buffer(data)
    keep.append(buffer)
    return addressof(buffer)


def fill_value(target: CValue, value: object, keep: list[Any]) -> None:
    """Write a plain value into a struct.

    Args:
        target: The struct.
        value: None, a boolean, a number, a text, a list or tuple of these, or a dictionary of these.
        keep: Receives what the struct points to.

    Raises:
        ValueError: C has no such value: an integer of more than 64 bits, or a text with a NUL.
    """
    if value is None:
        target.kind = KIND_NONE
    elif isinstance(value, bool):
        target.kind, target.content.integer = KIND_BOOLEAN, value
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ValueError(f"{value} needs more than 64 bits")
        target.kind, target.content.integer = KIND_INTEGER, value
    elif isinstance(value, float):
        target.kind, target.content.number = KIND_NUMBER, value
    elif isinstance(value, str):
        target.kind, target.size = KIND_TEXT, len(value.encode())
        target.content.text = c_text(value, keep)
    elif isinstance(value, Mapping):
        target.kind, target.size = KIND_TABLE, len(value)
        target.content.entries = addressof(c_entries(value, keep))
    else:
        assert isinstance(value, (list, tuple)), f"a value of {type(value).__name__}"
        items = (CValue * len(value))()
        keep.append(items)
        for item, each in zip(items, value, strict=True):
            fill_value(item, each, keep)
        target.kind, target.size, target.content.items = KIND_LIST, len(value), addressof(items)


def c_entries(values: Mapping[str, object], keep: list[Any]) -> Array[COption]:
    """Return plain values by name as an array of structs; `keep` receives it and what it points to."""
    entries = (COption * len(values))()
    keep.append(entries)
    for entry, (name, value) in zip(entries, values.items(), strict=True):
        entry.name = c_text(name, keep)
        fill_value(entry.value, value, keep)
    return entries


class COptions:
    """The options of a delegate, as an array of structs.

    Attributes:
        address: The address of the array.
        count: Its length.
    """

    def __init__(self, options: BackendOptions, *, are_set: bool = True) -> None:
        """Convert all options of a schema; with `are_set=False`, only their names.

        Raises:
            ValueError: C has no such value; the message names the option.
        """
        self._kept: list[Any] = []
        self._infos = options.option_infos()
        values: dict[str, object] = dict.fromkeys(self._infos)
        if are_set:
            for name in values:
                values[name] = jsonable(getattr(options, name))
        self._entries = c_entries(values, self._kept)
        self.address = addressof(self._entries)
        self.count = len(values)

    def read(self) -> dict[str, object]:
        """Return the values that a library wrote, by name, in the types of the schema; none of kind NONE.

        Raises:
            ValueError: a value has no known kind, or is not in memory; the message names the option.
        """
        values: dict[str, object] = {}
        for entry, (name, info) in zip(self._entries, self._infos.items(), strict=True):
            if entry.value.kind != KIND_NONE:
                try:
                    values[name] = _typed(info.type, read_value(entry.value))
                except (ValueError, WrongAddressError) as error:
                    raise ValueError(f"the value of {name} cannot be read: {error}") from error
        return values


def read_value(value: CValue, depth: int = 0) -> object:
    """Return the plain value of a struct that a library wrote.

    Raises:
        ValueError: it has no known kind, or is too large.
        WrongAddressError: it points to what is not in memory.
    """
    if value.kind == KIND_NONE:
        return None
    if value.kind == KIND_BOOLEAN:
        return bool(value.content.integer)
    if value.kind == KIND_INTEGER:
        return int(value.content.integer)
    if value.kind == KIND_NUMBER:
        return float(value.content.number)
    if value.kind == KIND_TEXT:
        return read_c_text(value.content.text, MAX_TEXT_BYTES)
    if value.kind not in (KIND_LIST, KIND_TABLE):
        raise ValueError(f"{value.kind} is not a kind of value")
    if value.size > MAX_TEXT_BYTES or depth == MAX_DEPTH:
        raise ValueError("it has too many items, or is nested too deeply")
    if value.kind == KIND_LIST:
        items = _read_array(CValue, value.content.items, value.size)
        return [read_value(item, depth + 1) for item in items]
    entries = _read_array(COption, value.content.entries, value.size)
    return {read_c_text(each.name, MAX_TEXT_BYTES): read_value(each.value, depth + 1) for each in entries}


def _read_array(kind: type[Any], address: int | None, count: int) -> Any:
    return (kind * count).from_buffer_copy(read_memory(address, count * sizeof(kind)))


def _typed(kind: OptionType, value: object) -> object:
    """Return a plain value as the type that the schema declares."""
    if kind.kind is OptionKind.RECORD and isinstance(value, dict):
        found = coerce(kind, {name: item for name, item in value.items() if item is not None})
        if isinstance(found, Mismatch):
            raise ValueError(f"{found.place.lstrip('.')}: {found.message}".removeprefix(": "))
        return found
    if kind.enum_class is not None:
        return kind.enum_class(value)
    if isinstance(value, list) and kind.item is not None:
        items = [_typed(kind.item, item) for item in value]
        return tuple(items) if kind.is_tuple else items
    return value
