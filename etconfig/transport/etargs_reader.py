"""`read_package`: reads and verifies an `.etargs` file; any bytes take bounded work and give one error."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import SavedResultError
from etconfig.fingerprint import fingerprint
from etconfig.flatbuffer.reader import FlatBufferReader
from etconfig.flatbuffer.value_errors import ValueErrors
from etconfig.parameters import AnyPath, as_path, home_help
from etconfig.schema import Applies, Scope
from etconfig.transport.etargs_format import (
    BACKEND_TABLE,
    CONFIGURATION_TABLE,
    IDENTIFIER,
    MAX_DEPTH,
    METHOD_TABLE,
    OPTION_TABLE,
    PACKAGE_TABLE,
    VALUE_TABLE,
    VERSION,
    ValueKind,
)
from etconfig.transport.package import (
    Package,
    PackedBackend,
    PackedConfiguration,
    PackedMethod,
    PackedOption,
    PlainValue,
)

_T = TypeVar("_T")

MAX_BYTES = 16 << 20
"""The largest `.etargs` file that is read."""


def load_package(path: AnyPath) -> Package:
    """Return the package in an `.etargs` file.

    Raises:
        SavedResultError: the file cannot be read, or is damaged or something else.
        TypeError: `path` is not a path.
    """
    path = as_path("path", path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise _failure("unreadable-file", f"cannot read {path}: {reason}", path, home_help(path)) from error
    return read_package(data, path)


def read_package(data: bytes, path: Path = Path("package.etargs")) -> Package:
    """Return the package in the bytes of an `.etargs` file.

    Work and memory are in proportion to `data`, however tables refer to each other.

    Args:
        data: The bytes.
        path: The name of the file in errors.

    Raises:
        SavedResultError: they are damaged or something else; the message says what is wrong.
    """
    try:
        return _package(data)
    except ValueError as error:
        raise _failure("invalid-etargs", f"{path} is not an .etargs file: {error}", path) from error


def _failure(code: str, message: str, path: Path, help: str | None = None) -> SavedResultError:
    advice = help or "write it with `etconfig pack --output`"
    problem = Diagnostic(code=code, message=message, spans=(Span(file=str(path)),), help=advice)
    return SavedResultError(diagnostics=(problem,))


def _package(data: bytes) -> Package:
    if len(data) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES >> 20} MiB")
    if data[4:8] != IDENTIFIER:
        raise ValueError("its identifier is not ETAR")
    return _PackageReader(data).read()


class _PackageReader:
    """Reads the tables of one file; its methods raise ValueError if they are damaged."""

    def __init__(self, data: bytes) -> None:
        self._errors = ValueErrors()
        self._buffer = FlatBufferReader(
            memoryview(data), len(data), self._errors, max_string_bytes=MAX_BYTES, max_work_per_byte=4
        )
        self._texts: dict[int, str] = {}

    def read(self) -> Package:
        version, producer, configurations = self._buffer.table(self._buffer.root(), PACKAGE_TABLE)
        if version != VERSION:
            raise ValueError(f"its version is {version}, and this etconfig reads version {VERSION}")
        read = self._tables(configurations, "configurations", self._configuration)
        _check_distinct("configurations", [each.name for each in read])
        return Package(self._text(producer, "producer"), read)

    def _configuration(self, table: int) -> PackedConfiguration:
        name_position, fingerprint_position, methods_position = self._buffer.table(table, CONFIGURATION_TABLE)
        name = self._text(name_position, "name")
        methods = self._tables(methods_position, "methods", self._method)
        _check_distinct("methods", [each.label for each in methods])
        # the format has no checksum; the fingerprint finds damage that leaves a valid FlatBuffer
        stated = self._text(fingerprint_position, "fingerprint")
        if stated != fingerprint((each.method, each.instance, each.values()) for each in methods):
            raise ValueError(f"the values of configuration {name!r} do not have its fingerprint")
        return PackedConfiguration(name, stated, methods)

    def _method(self, table: int) -> PackedMethod:
        name, instance, backends_position = self._buffer.table(table, METHOD_TABLE)
        backends = self._tables(backends_position, "backends", self._backend)
        _check_distinct("backends", [each.id for each in backends])
        return PackedMethod(self._text(name, "name"), self._optional_text(instance, "instance"), backends)

    def _backend(self, table: int) -> PackedBackend:
        backend_id, options_position = self._buffer.table(table, BACKEND_TABLE)
        options = self._tables(options_position, "options", self._option)
        _check_distinct("options", [each.name for each in options])
        return PackedBackend(self._text(backend_id, "id"), options)

    def _option(self, table: int) -> PackedOption:
        name, value_table, key, sent_table, scope, applies, is_set = self._buffer.table(table, OPTION_TABLE)
        if not value_table:
            raise self._errors.missing_field("value")
        value = self._value(value_table)
        return PackedOption(
            name=self._text(name, "name"),
            value=value,
            key=self._optional_text(key, "key"),
            sent=self._value(sent_table) if sent_table else value,
            scope=_choice((Scope.METHOD, Scope.PROCESS), scope),
            applies=_choice((Applies.LOAD, Applies.EXECUTE), applies),
            is_set=_choice((False, True), is_set),
        )

    def _value(self, table: int, depth: int = 0) -> PlainValue:
        if depth > MAX_DEPTH:
            raise ValueError(f"arrays and tables nest more than {MAX_DEPTH} deep")
        number, integer, real, text, items, keys = self._buffer.table(table, VALUE_TABLE)
        kind = _choice(tuple(ValueKind), number)
        if kind is ValueKind.NONE:
            return None
        if kind is ValueKind.BOOLEAN:
            return _boolean(integer)
        if kind is ValueKind.INTEGER:
            return int(integer)
        if kind is ValueKind.NUMBER:
            return _finite(real)
        if kind is ValueKind.TEXT:
            return self._text(text, "text")
        if kind is ValueKind.ARRAY:
            return self._array(items, depth)
        return self._mapping(keys, items, depth)

    def _array(self, position: int, depth: int) -> tuple[PlainValue, ...]:
        return self._tables(position, "items", partial(self._value, depth=depth + 1))

    def _mapping(self, keys_position: int, items_position: int, depth: int) -> dict[str, PlainValue]:
        keys = [self._text(each, "keys") for each in self._buffer.references(keys_position, "keys")]
        items = self._array(items_position, depth)
        _check_distinct("keys", keys)
        if len(keys) != len(items):
            raise ValueError("a table has more keys than values, or fewer")
        return dict(zip(keys, items, strict=True))

    def _tables(self, position: int, field: str, read: Callable[[int], _T]) -> tuple[_T, ...]:
        return tuple([read(table) for table in self._buffer.references(position, field)])

    def _text(self, position: int, field: str) -> str:
        """Read a required text. Writers share equal texts, so each position is decoded and charged once."""
        text = self._texts.get(position)
        if text is None:
            text = self._texts[position] = self._buffer.string(position, field)
        return text

    def _optional_text(self, position: int, field: str) -> str | None:
        return self._text(position, field) if position else None


def _choice(members: Sequence[_T], number: int) -> _T:
    """Return the member with this number."""
    if number >= len(members):
        raise ValueError(f"a choice among {len(members)} has the number {number}")
    return members[number]


def _boolean(integer: int) -> bool:
    if integer not in (0, 1):
        raise ValueError(f"a boolean is {integer}, not 0 or 1")
    return integer == 1


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError("a number is not finite")
    return number


def _check_distinct(what: str, names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        raise ValueError(f"two {what} have the same name")
