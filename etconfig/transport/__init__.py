"""Arguments for runtimes outside of Python: `.etargs` files, generated code, and the limits of each.

Importing this package loads none of its modules, because plugins need only those about the option map.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.lazy import lazy_names

_HOME = {
    "ANDROID": "runtime_limits",
    "APPLE": "runtime_limits",
    "EXECUTORCH": "runtime_limits",
    "INCLUDE": "headers",
    "LANGUAGES": "builders",
    "RuntimeLimits": "runtime_limits",
    "Package": "package",
    "PackedBackend": "package",
    "PackedConfiguration": "package",
    "PackedMethod": "package",
    "PackedOption": "package",
    "PlainValue": "package",
    "WireOption": "wire",
    "WireValue": "runtime_limits",
    "emit": "builders",
    "include_files": "headers",
    "load_package": "etargs_reader",
    "read_package": "etargs_reader",
    "sent_value": "wire",
    "wire_options": "wire",
    "write_package": "etargs_writer",
}
"""Which module each public name lives in."""

if TYPE_CHECKING:
    from etconfig.transport.builders import LANGUAGES, emit
    from etconfig.transport.etargs_reader import load_package, read_package
    from etconfig.transport.etargs_writer import write_package
    from etconfig.transport.headers import INCLUDE, include_files
    from etconfig.transport.package import (
        Package,
        PackedBackend,
        PackedConfiguration,
        PackedMethod,
        PackedOption,
        PlainValue,
    )
    from etconfig.transport.runtime_limits import ANDROID, APPLE, EXECUTORCH, RuntimeLimits, WireValue
    from etconfig.transport.wire import WireOption, sent_value, wire_options

__all__ = [
    "ANDROID",
    "APPLE",
    "EXECUTORCH",
    "INCLUDE",
    "LANGUAGES",
    "Package",
    "PackedBackend",
    "PackedConfiguration",
    "PackedMethod",
    "PackedOption",
    "PlainValue",
    "RuntimeLimits",
    "WireOption",
    "WireValue",
    "emit",
    "include_files",
    "load_package",
    "read_package",
    "sent_value",
    "wire_options",
    "write_package",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
