"""The shape of lines of JSON: the keys and the types that Arrow is to find, learned from some of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from etconfig.facts.registry import FactInfo, FactRegistry, FactType
from etconfig.facts.sheet_json import ENTRY_KEYS
from etconfig.fleet.columns import ID_COLUMNS, SHEET_KEYS
from etconfig.fleet.names import fact_of_column
from etconfig.plain_data import parse_json
from etconfig.records import record

if TYPE_CHECKING:
    import pyarrow

UNSAFE_ESCAPES = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
"""Escaped characters that readers of JSON do not agree about: NUL, and halves of a pair."""

_MAX_DEPTH = 8


@record(frozen=True, kw_only=True)
class LineLayout:
    """The keys and types that Arrow is to find in lines, and where those of facts are.

    Attributes:
        schema: The keys with their types; any other is an error.
        is_sheet: True if the facts are below the key `facts`.
        has_version: True if lines may have a version, which must be that of fact sheets.
        facts: The key of each fact, with its declaration.
        devices: The places of the name of a device, by precedence: True for one below `facts`, and its key.
    """

    schema: pyarrow.Schema
    is_sheet: bool
    has_version: bool
    facts: Mapping[str, tuple[str, FactInfo]]
    devices: Sequence[tuple[bool, str]]


class LineShape:
    """The keys of lines with their types. A line with another key or type does not have this shape.

    Of the two ways to write the name of a fact, the first that is found is in the shape.

    Args:
        registry: The facts.
        id_column: The key that names the devices.
        ignored: Keys to leave out.
    """

    def __init__(self, registry: FactRegistry, id_column: str | None, ignored: Collection[str]) -> None:
        import pyarrow

        self._is_sheet: bool | None = None
        self._keys: dict[str, str] = {}
        self._registry = registry
        self._ignored = ignored
        self._device_keys = ID_COLUMNS if id_column is None else (id_column, *ID_COLUMNS)
        self._top: dict[str, pyarrow.DataType] = {}
        self._facts: dict[str, pyarrow.DataType] = {}
        self._arrow = pyarrow
        self._types = {
            FactType.BOOL: pyarrow.bool_(),
            FactType.INT: pyarrow.int64(),
            FactType.FLOAT: pyarrow.float64(),
            FactType.STRING: pyarrow.string(),
            FactType.STRING_LIST: pyarrow.list_(pyarrow.string()),
        }

    @property
    def layout(self) -> LineLayout | None:
        """The layout of further lines; None before a line is learned."""
        if self._is_sheet is None:
            return None
        infos = {fact: self._registry.get(fact) for fact in self._keys}
        facts = {fact: (self._keys[fact], info) for fact, info in infos.items() if info is not None}
        types = {**self._facts, **{key: self._fact_type(key, info) for key, info in facts.values()}}
        arrow = self._arrow
        schema = arrow.schema([*types.items()])
        if self._is_sheet:
            schema = arrow.schema([*self._top.items(), (SHEET_KEYS[1], arrow.struct([*types.items()]))])
        places = [(inside, key) for key in self._device_keys for inside in (False, True)]
        devices = [
            (inside or not self._is_sheet, key)
            for inside, key in places
            if key in (self._facts if inside else self._top)
        ]
        return LineLayout(
            schema=schema,
            is_sheet=self._is_sheet,
            has_version=SHEET_KEYS[0] in self._top and SHEET_KEYS[0] not in self._ignored,
            facts=facts,
            devices=devices,
        )

    def _fact_type(self, key: str, info: FactInfo) -> pyarrow.DataType:
        found = self._facts[key]
        return self._types[info.type] if self._arrow.types.is_null(found) else found

    def learn(self, lines: Iterable[bytes]) -> None:
        """Add the keys and types of lines. What is wrong with them is found by who reads them."""
        for line in lines:
            found = _object(line)
            if found is None:
                continue
            facts = found.get(SHEET_KEYS[1])
            is_sheet = isinstance(facts, dict)
            if self._is_sheet is None:
                self._is_sheet = is_sheet
            if self._is_sheet is not is_sheet:
                continue
            if is_sheet:
                self._learn_top(found)
            self._learn_facts(facts if isinstance(facts, dict) else found)

    def _learn_top(self, found: Mapping[str, Any]) -> None:
        for key, value in found.items():
            if key == SHEET_KEYS[1]:
                continue
            if key in self._device_keys:
                self._add(self._top, key, self._name_type(value))
            elif key in self._ignored:
                self._add(self._top, key, self._any_type(value))
            elif key == SHEET_KEYS[0]:
                self._top[key] = self._arrow.int64()

    def _learn_facts(self, found: Mapping[str, Any]) -> None:
        for key, value in found.items():
            if key in self._facts and (value is None or self._is_settled(self._facts[key])):
                continue
            fact = fact_of_column(key)
            info = self._registry.get(fact)
            names_device = key in self._device_keys
            if key in self._ignored:
                if not names_device:
                    self._add(self._facts, key, self._any_type(value))
            elif info is None:
                if names_device:
                    self._add(self._facts, key, self._name_type(value))
            elif names_device and info.type not in (FactType.STRING, FactType.INT):
                continue  # DuckDB writes such a name as a text
            elif self._keys.setdefault(fact, key) == key:
                self._add(self._facts, key, self._entry_type(info, value, is_plain=names_device))

    def _is_settled(self, type_: pyarrow.DataType) -> bool:
        """Return True for a type that no further value changes."""
        types = self._arrow.types
        if types.is_list(type_):
            return self._is_settled(type_.value_type)
        return not types.is_null(type_) and not types.is_struct(type_)

    def _add(self, types: dict[str, pyarrow.DataType], key: str, type_: pyarrow.DataType) -> None:
        types[key] = self._merged(types[key], type_) if key in types else type_

    def _entry_type(self, info: FactInfo, value: Any, *, is_plain: bool) -> pyarrow.DataType:
        """Return the type of a fact: of its value, or of an object with the keys of sheets."""
        if value is None:
            return self._arrow.null()
        type_ = self._types[info.type]
        if is_plain or not isinstance(value, dict):
            return type_
        further = {key: self._any_type(value[key]) for key in ENTRY_KEYS if key in value and key != "value"}
        if "unit" in further:
            further["unit"] = self._arrow.string()
        return self._arrow.struct([("value", type_), *further.items()])

    def _name_type(self, value: Any) -> pyarrow.DataType:
        if isinstance(value, str):
            return self._arrow.string()
        return self._arrow.int64() if type(value) is int else self._arrow.null()

    def _any_type(self, value: Any, depth: int = 0) -> pyarrow.DataType:
        """Return the type of a value that is left out."""
        arrow = self._arrow
        if value is None or depth > _MAX_DEPTH:
            return arrow.null()
        if isinstance(value, dict):
            return arrow.struct([(key, self._any_type(each, depth + 1)) for key, each in value.items()])
        if isinstance(value, list):
            type_ = arrow.null()
            for each in value:
                type_ = self._merged(type_, self._any_type(each, depth + 1))
            return arrow.list_(type_)
        if isinstance(value, bool):
            return arrow.bool_()
        return arrow.string() if isinstance(value, str) else arrow.float64()

    def _merged(self, one: pyarrow.DataType, other: pyarrow.DataType) -> pyarrow.DataType:
        """Return the type for values of two types; the first if there is none."""
        types = self._arrow.types
        if types.is_null(one):
            return other
        if types.is_list(one) and types.is_list(other):
            return self._arrow.list_(self._merged(one.value_type, other.value_type))
        if types.is_struct(one) and types.is_struct(other):
            fields = {field.name: field.type for field in one}
            for field in other:
                self._add(fields, field.name, field.type)
            return self._arrow.struct([*fields.items()])
        return one


def _object(line: bytes) -> dict[str, Any] | None:
    """Return the object of a line, or None if it has none, or one that readers may not agree about."""
    if UNSAFE_ESCAPES.search(line):
        return None
    try:
        text = line.decode()  # of bytes, json also reads what is not UTF-8
        found = parse_json(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
