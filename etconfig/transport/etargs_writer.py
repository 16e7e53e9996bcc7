"""`write_package`: a package as the bytes of an `.etargs` file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from etconfig.diagnostics import Diagnostic
from etconfig.errors import OptionError
from etconfig.flatbuffer.writer import Fields, FlatBufferWriter, Place
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


def write_package(package: Package) -> bytes:
    """The bytes of an `.etargs` file; the same package gives the same bytes.

    Raises:
        OptionError: a value does not fit the format: an integer of more than 64 bits, or arrays and tables
            nested too deep.
    """
    writer = _Writer()
    configurations = writer.reference_vector([writer.configuration(each) for each in package.configurations])
    root = writer.table(
        {
            PackageSlot.VERSION: ("H", VERSION),
            PackageSlot.PRODUCER: writer.string(package.producer),
            PackageSlot.CONFIGURATIONS: configurations,
        }
    )
    return writer.finish(root, IDENTIFIER)


class _Writer(FlatBufferWriter):
    def configuration(self, configuration: PackedConfiguration) -> Place:
        methods = self.reference_vector([self.method(each) for each in configuration.methods])
        return self.table(
            {
                ConfigurationSlot.NAME: self.string(configuration.name),
                ConfigurationSlot.FINGERPRINT: self.string(configuration.fingerprint),
                ConfigurationSlot.METHODS: methods,
            }
        )

    def method(self, method: PackedMethod) -> Place:
        backends = self.reference_vector([self.backend(each) for each in method.backends])
        return self.table(
            {
                MethodSlot.NAME: self.string(method.method),
                MethodSlot.INSTANCE: None if method.instance is None else self.string(method.instance),
                MethodSlot.BACKENDS: backends,
            }
        )

    def backend(self, backend: PackedBackend) -> Place:
        options = self.reference_vector([self.option(backend.id, each) for each in backend.options])
        return self.table({BackendSlot.ID: self.string(backend.id), BackendSlot.OPTIONS: options})

    def option(self, backend_id: str, option: PackedOption) -> Place:
        try:
            value = self.value(option.value)
            is_sent_as_is = type(option.sent) is type(option.value) and option.sent == option.value
            sent = None if is_sent_as_is else self.value(option.sent)
        except ValueError as error:
            raise _refused(f"{backend_id}.{option.name}", str(error)) from error
        return self.table(
            {
                OptionSlot.NAME: self.string(option.name),
                OptionSlot.VALUE: value,
                OptionSlot.KEY: None if option.key is None else self.string(option.key),
                OptionSlot.SENT: sent,
                OptionSlot.SCOPE: ("B", int(option.scope is Scope.PROCESS)),
                OptionSlot.APPLIES: ("B", int(option.applies is Applies.EXECUTE)),
                OptionSlot.IS_SET: ("B", int(option.is_set)),
            }
        )

    def value(self, value: PlainValue, depth: int = 0) -> Place:
        if depth > MAX_DEPTH:
            raise ValueError(f"its arrays and tables nest {MAX_DEPTH} deep at most")
        kind, fields = self.content(value, depth)
        return self.table({ValueSlot.KIND: ("B", kind), **fields})

    def content(self, value: PlainValue, depth: int) -> tuple[ValueKind, Fields]:
        if value is None:
            return ValueKind.NONE, {}
        if isinstance(value, bool):
            return ValueKind.BOOLEAN, {ValueSlot.INTEGER: ("q", int(value))}
        if isinstance(value, int):
            if not -(2**63) <= value < 2**63:
                raise ValueError(f"its integers have 64 bits, and {value} needs more")
            return ValueKind.INTEGER, {ValueSlot.INTEGER: ("q", value)}
        if isinstance(value, float):
            return ValueKind.NUMBER, {ValueSlot.NUMBER: ("d", value)}
        if isinstance(value, str):
            return ValueKind.TEXT, {ValueSlot.TEXT: self.string(value)}
        if isinstance(value, Mapping):
            keys = self.reference_vector([self.string(key) for key in value])
            return ValueKind.TABLE, {ValueSlot.KEYS: keys, ValueSlot.ITEMS: self.items(value.values(), depth)}
        return ValueKind.ARRAY, {ValueSlot.ITEMS: self.items(value, depth)}

    def items(self, values: Iterable[PlainValue], depth: int) -> Place:
        return self.reference_vector([self.value(each, depth + 1) for each in values])


def _refused(option: str, reason: str) -> OptionError:
    message = f"an .etargs file cannot carry {option}: {reason}"
    return OptionError(diagnostics=(Diagnostic(code="cannot-carry", message=message),))
