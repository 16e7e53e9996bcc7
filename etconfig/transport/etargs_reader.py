"""`read_package`: the bytes of an `.etargs` file, verified; whatever they are, bounded work and one error."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import SavedResultError
from etconfig.fingerprint import fingerprint
from etconfig.flatbuffer.reader import Table, Tables
from etconfig.schema import Applies, Scope
from etconfig.transport.etargs_format import (
    IDENTIFIER,
    MAX_DEPTH,
    VERSION,
    BackendSlot,
    ConfigurationSlot,
    MethodSlot,
    OptionSlot,
    PackageSlot,
    ValueKind,
    ValueSlot,
)
from etconfig.transport.package import (
    Package,
    PackedBackend,
    PackedConfiguration,
    PackedMethod,
    PackedOption,
    PlainValue,
)

MAX_BYTES = 16 << 20
"""The largest `.etargs` file that is read."""


def load_package(path: Path) -> Package:
    """The package in an `.etargs` file.

    Raises:
        SavedResultError: the file cannot be read, or is damaged or something else.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise _failure("unreadable-file", f"cannot read {path}: {error.strerror or error}", path) from error
    return read_package(data, path)


def read_package(data: bytes, path: Path = Path("package.etargs")) -> Package:
    """The package in the bytes of an `.etargs` file.

    Work and memory are in proportion to `data`: nothing is read twice, however tables refer to each other.

    Args:
        data: The bytes.
        path: What errors call them.

    Raises:
        SavedResultError: they are damaged or something else; the message says what is wrong with them.
    """
    try:
        return _package(data)
    except struct.error as error:
        raise _failure("invalid-etargs", f"{path} is no .etargs file: it ends too early", path) from error
    except ValueError as error:
        raise _failure("invalid-etargs", f"{path} is no .etargs file: {error}", path) from error


def _failure(code: str, message: str, path: Path) -> SavedResultError:
    advice = "write it with `etconfig pack --output`"
    problem = Diagnostic(code=code, message=message, spans=(Span(file=str(path)),), help=advice)
    return SavedResultError(diagnostics=(problem,))


def _package(data: bytes) -> Package:
    if len(data) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES >> 20} MiB")
    if data[4:8] != IDENTIFIER:
        raise ValueError("its identifier is not ETAR")
    root = Tables(data).root()
    version = root.number(PackageSlot.VERSION, "H")
    if version != VERSION:
        raise ValueError(f"its version is {version}, and this etconfig reads version {VERSION}")
    configurations = root.tables(PackageSlot.CONFIGURATIONS, _configuration)
    _check_distinct("configurations", [each.name for each in configurations])
    return Package(root.text(PackageSlot.PRODUCER), configurations)


def _configuration(table: Table) -> PackedConfiguration:
    name = table.text(ConfigurationSlot.NAME)
    methods = table.tables(ConfigurationSlot.METHODS, _method)
    _check_distinct("methods", [each.label for each in methods])
    stated = table.text(ConfigurationSlot.FINGERPRINT)
    if stated != fingerprint((each.method, each.instance, each.values()) for each in methods):
        raise ValueError(f"the values of configuration {name!r} do not have its fingerprint")
    return PackedConfiguration(name, stated, methods)


def _method(table: Table) -> PackedMethod:
    backends = table.tables(MethodSlot.BACKENDS, _backend)
    _check_distinct("backends", [each.id for each in backends])
    return PackedMethod(table.text(MethodSlot.NAME), table.optional_text(MethodSlot.INSTANCE), backends)


def _backend(table: Table) -> PackedBackend:
    options = table.tables(BackendSlot.OPTIONS, _option)
    _check_distinct("options", [each.name for each in options])
    return PackedBackend(table.text(BackendSlot.ID), options)


def _option(table: Table) -> PackedOption:
    value = _value(table.table(OptionSlot.VALUE))
    sent = table.optional_table(OptionSlot.SENT)
    return PackedOption(
        name=table.text(OptionSlot.NAME),
        value=value,
        key=table.optional_text(OptionSlot.KEY),
        sent=value if sent is None else _value(sent),
        scope=table.choice(OptionSlot.SCOPE, (Scope.METHOD, Scope.PROCESS)),
        applies=table.choice(OptionSlot.APPLIES, (Applies.LOAD, Applies.EXECUTE)),
        is_set=table.choice(OptionSlot.IS_SET, (False, True)),
    )


def _value(table: Table, depth: int = 0) -> PlainValue:
    if depth > MAX_DEPTH:
        raise ValueError(f"arrays and tables nest more than {MAX_DEPTH} deep")
    kind = table.choice(ValueSlot.KIND, tuple(ValueKind))
    return _READERS[kind](table, depth)


def _boolean(table: Table, depth: int) -> bool:
    integer = int(table.number(ValueSlot.INTEGER, "q"))
    if integer not in (0, 1):
        raise ValueError(f"a boolean is {integer}")
    return integer == 1


def _number(table: Table, depth: int) -> float:
    number = float(table.number(ValueSlot.NUMBER, "d"))
    if not math.isfinite(number):
        raise ValueError("a number is not finite")
    return number


def _array(table: Table, depth: int) -> tuple[PlainValue, ...]:
    return table.tables(ValueSlot.ITEMS, lambda item: _value(item, depth + 1))


def _mapping(table: Table, depth: int) -> dict[str, PlainValue]:
    keys = table.texts(ValueSlot.KEYS)
    items = _array(table, depth)
    _check_distinct("keys", keys)
    if len(keys) != len(items):
        raise ValueError("a table has not as many keys as values")
    return dict(zip(keys, items, strict=True))


_READERS: dict[ValueKind, Callable[[Table, int], PlainValue]] = {
    ValueKind.NONE: lambda table, depth: None,
    ValueKind.BOOLEAN: _boolean,
    ValueKind.INTEGER: lambda table, depth: int(table.number(ValueSlot.INTEGER, "q")),
    ValueKind.NUMBER: _number,
    ValueKind.TEXT: lambda table, depth: table.text(ValueSlot.TEXT),
    ValueKind.ARRAY: _array,
    ValueKind.TABLE: _mapping,
}


def _check_distinct(what: str, names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        raise ValueError(f"two {what} have one name")
