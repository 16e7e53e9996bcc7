"""Facts, conditions and choices on the device itself: bundles, and the C++ headers that decide them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.lazy import lazy_names

_HOME = {
    "PackedBackend": "packed",
    "PackedConfiguration": "packed",
    "PackedMethod": "packed",
    "PackedOption": "packed",
    "PlainValue": "packed",
    "device_include_dir": "headers",
}
"""Which module each public name lives in."""

if TYPE_CHECKING:
    from etconfig.device.headers import device_include_dir
    from etconfig.device.packed import (
        PackedBackend,
        PackedConfiguration,
        PackedMethod,
        PackedOption,
        PlainValue,
    )

__all__ = [
    "PackedBackend",
    "PackedConfiguration",
    "PackedMethod",
    "PackedOption",
    "PlainValue",
    "device_include_dir",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
