"""`write_package`: writes a package as the bytes of an `.etargs` file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from etconfig.diagnostics import Diagnostic
from etconfig.errors import OptionError
from etconfig.flatbuffer.writer import EndOffset, FlatBufferWriter
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


def write_package(package: Package) -> bytes:
    """Return the bytes of an `.etargs` file; equal packages give equal bytes.

    Raises:
        OptionError: a value does not fit the format: an integer of more than 64 bits, or arrays and tables
            nested too deep.
    """
    writer = _Writer()
    root = writer.table(
        PACKAGE_TABLE,
        version=VERSION,
        producer=writer.string(package.producer),
        configurations=writer.reference_vector(list(map(writer.configuration, package.configurations))),
    )
    return writer.finish(root, IDENTIFIER)


class _Writer(FlatBufferWriter):
    def configuration(self, configuration: PackedConfiguration) -> EndOffset:
        return self.table(
            CONFIGURATION_TABLE,
            name=self.string(configuration.name),
            fingerprint=self.string(configuration.fingerprint),
            methods=self.reference_vector(list(map(self.method, configuration.methods))),
        )

    def method(self, method: PackedMethod) -> EndOffset:
        return self.table(
            METHOD_TABLE,
            name=self.string(method.method),
            instance=None if method.instance is None else self.string(method.instance),
            backends=self.reference_vector(list(map(self.backend, method.backends))),
        )

    def backend(self, backend: PackedBackend) -> EndOffset:
        options = self.reference_vector([self.option(backend.id, each) for each in backend.options])
        return self.table(BACKEND_TABLE, id=self.string(backend.id), options=options)

    def option(self, backend_id: str, option: PackedOption) -> EndOffset:
        try:
            value = self.value(option.value)
            # types too: True equals 1, but the runtime distinguishes bool and int
            is_sent_as_is = type(option.sent) is type(option.value) and option.sent == option.value
            sent = None if is_sent_as_is else self.value(option.sent)
        except ValueError as error:
            raise _refused(f"{backend_id}.{option.name}", str(error)) from error
        return self.table(
            OPTION_TABLE,
            name=self.string(option.name),
            value=value,
            key=None if option.key is None else self.string(option.key),
            sent=sent,
            scope=int(option.scope is Scope.PROCESS),
            applies=int(option.applies is Applies.EXECUTE),
            is_set=int(option.is_set),
        )

    def value(self, value: PlainValue, depth: int = 0) -> EndOffset:
        if depth > MAX_DEPTH:
            raise ValueError(f"its arrays and tables nest {MAX_DEPTH} deep at most")
        kind, contents = self.contents(value, depth)
        return self.table(VALUE_TABLE, kind=kind, **contents)

    def contents(self, value: PlainValue, depth: int) -> tuple[ValueKind, Mapping[str, float | EndOffset]]:
        if value is None:
            return ValueKind.NONE, {}
        if isinstance(value, bool):
            return ValueKind.BOOLEAN, {"integer": int(value)}
        if isinstance(value, int):
            if not -(2**63) <= value < 2**63:
                raise ValueError(f"its integers have 64 bits, and {value} needs more")
            return ValueKind.INTEGER, {"integer": value}
        if isinstance(value, float):
            return ValueKind.NUMBER, {"number": value}
        if isinstance(value, str):
            return ValueKind.TEXT, {"text": self.string(value)}
        if isinstance(value, Mapping):
            keys = self.reference_vector(list(map(self.string, value)))
            return ValueKind.TABLE, {"keys": keys, "items": self.items(value.values(), depth)}
        return ValueKind.ARRAY, {"items": self.items(value, depth)}

    def items(self, values: Iterable[PlainValue], depth: int) -> EndOffset:
        return self.reference_vector([self.value(each, depth + 1) for each in values])


def _refused(option: str, reason: str) -> OptionError:
    message = f"an .etargs file cannot carry {option}: {reason}"
    return OptionError(diagnostics=(Diagnostic(code="cannot-carry", message=message),))
