"""Options as ExecuTorch takes them: keys and plain values, and the limits of each of its bindings.

Importing this package loads none of its modules, because plugins need only those about the option map.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.lazy import lazy_names

_HOME = {
    "ANDROID": "runtime_limits",
    "APPLE": "runtime_limits",
    "EXECUTORCH": "runtime_limits",
    "RuntimeLimits": "runtime_limits",
    "THREAD_POOL_OPTIONS": "runtime_limits",
    "WireOption": "options",
    "WireValue": "runtime_limits",
    "cannot_carry": "options",
    "value_help": "options",
    "wire_options": "options",
}
"""Which module each public name lives in."""

if TYPE_CHECKING:
    from etconfig.wire.options import WireOption, cannot_carry, value_help, wire_options
    from etconfig.wire.runtime_limits import (
        ANDROID,
        APPLE,
        EXECUTORCH,
        THREAD_POOL_OPTIONS,
        RuntimeLimits,
        WireValue,
    )

__all__ = [
    "ANDROID",
    "APPLE",
    "EXECUTORCH",
    "THREAD_POOL_OPTIONS",
    "RuntimeLimits",
    "WireOption",
    "WireValue",
    "cannot_carry",
    "value_help",
    "wire_options",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
