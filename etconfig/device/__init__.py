"""Facts, conditions and choices on the device itself: bundles, and the C++ headers that decide them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.base.lazy import lazy_names

_HOME = {
    "PackedBackend": "deciding.configurations",
    "PackedConfiguration": "deciding.configurations",
    "PackedMethod": "deciding.configurations",
    "PackedOption": "deciding.configurations",
    "PlainValue": "deciding.configurations",
    "cmake_dir": "headers",
    "device_include_dir": "headers",
}
"""Which module each public name lives in."""

if TYPE_CHECKING:
    from etconfig.device.deciding.configurations import (
        PackedBackend,
        PackedConfiguration,
        PackedMethod,
        PackedOption,
        PlainValue,
    )
    from etconfig.device.headers import cmake_dir, device_include_dir

__all__ = [
    "PackedBackend",
    "PackedConfiguration",
    "PackedMethod",
    "PackedOption",
    "PlainValue",
    "cmake_dir",
    "device_include_dir",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
