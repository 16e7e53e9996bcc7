"""Swift for the app. Source: extension/apple, ExecuTorchBackendOptionsMap.h and ExecuTorch+Module.swift."""

from __future__ import annotations

from collections.abc import Iterator

from etconfig.device.builders.language import camel_case, comment
from etconfig.device.builders.swift import SWIFT, swift_literal
from etconfig.device.typed.typed_option import NamingStyle, Parts, TypedOption, TypedOptions
from etconfig.schema.option_type import OptionKind

SWIFT_STYLE = NamingStyle("swift", camel_case, camel_case, SWIFT)
"""The names of Swift."""
_KINDS = {OptionKind.BOOLEAN: "Bool", OptionKind.INTEGER: "Int"}


def swift_parts(options: TypedOptions) -> Parts:
    """Return what fills `builder.swift.txt`."""
    return {
        "id": [swift_literal(options.backend)],
        "properties": (line for option in options.carried for line in _property(option)),
        "steps": (line for option in options.carried for line in _step(option)),
    }


def _property(option: TypedOption) -> Iterator[str]:
    yield ""
    kind = option.type_name if option.choices else _KINDS.get(option.info.type.kind, "String")
    if option.choices:
        yield from (f"public enum {kind} {{", f"    case {', '.join(option.choices)}", "")
        yield from ("    var sent: BackendOption {", "        switch self {")
        for name, sent in option.choices.items():
            pair = f"{swift_literal(option.key)}, {swift_literal(sent)}"
            yield f"        case .{name}: return BackendOption({pair})"
        yield from ("        }", "    }", "}", "")
    yield from (comment(option.doc), comment(option.expected), f"public var {option.name}: {kind}?")


def _step(option: TypedOption) -> Iterator[str]:
    yield f"if let value = {option.name} {{"
    for test in () if option.choices else _tests(option):
        refused = swift_literal(f"{option.info.name}: expected {option.expected}")
        yield f"    guard {test} else {{ throw Refused(description: {refused}) }}"
    value = "String(value)" if option.info.wire.as_text else "value"
    sent = "value.sent" if option.choices else f"BackendOption({swift_literal(option.key)}, {value})"
    yield from (f"    found.append({sent})", "}")


def _tests(option: TypedOption) -> Iterator[str]:
    if option.is_integer:
        yield f"({option.range[0]}...{option.range[1]}).contains(value)"
        if option.step > 1:
            yield f"value % {option.step} == 0"
    elif option.info.type.kind is OptionKind.STRING and option.info.constraints:
        yield f"({option.lengths[0]}...{option.lengths[1]}).contains(value.unicodeScalars.count)"
