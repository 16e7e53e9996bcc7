"""Swift for ExecuTorch's Apple binding. Source: extension/apple, ExecuTorchBackendOptionsMap.h."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from etconfig.device.builders.language import CarriedMethod, Language, object_of_functions
from etconfig.wire.runtime_limits import APPLE, WireValue

_OPENING = (
    "import ExecuTorch",
    "",
    "/// Options for `module.load(method, options:)`: a function for each method instance.",
    "enum EtconfigOptions {",
)


def _function(name: str, carried: CarriedMethod) -> Iterator[str]:
    yield f"static func {name}() throws -> BackendOptionsMap {{"
    if carried.of_method:
        yield "    try BackendOptionsMap(options: ["
        for backend, entries in carried.of_method.items():
            yield f"        {swift_literal(backend)}: ["
            for entry in entries:
                yield f"            BackendOption({swift_literal(entry.key)}, {swift_literal(entry.value)}),"
            yield "        ],"
        yield "    ])"
    else:
        yield "    try BackendOptionsMap(options: [:])"
    yield "}"


def swift_literal(value: WireValue) -> str:
    """Return a bool, an integer or a text as a literal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    shown = (c if c.isprintable() and c not in '"\\' else f"\\u{{{ord(c):x}}}" for c in value)
    return f'"{"".join(shown)}"'


SWIFT = Language(APPLE, partial(object_of_functions, opening=_OPENING, function=_function))
"""Swift."""
