"""Windows: the registry and the few functions whose results detectors read.

The result of a function is the bytes of the structure that it fills in, so that captured results can replace
a device. The calls below were checked against Microsoft's documentation, but not on Windows; the code that
reads their results is tested with captured bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

MEMORY = "GlobalMemoryStatusEx"
"""MEMORYSTATUSEX."""
POWER = "GetSystemPowerStatus"
"""SYSTEM_POWER_STATUS."""
PROCESSORS = "GetLogicalProcessorInformationEx"
"""SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX, several: all relations."""
AFFINITY = "GetProcessAffinityMask"
"""Two 64-bit masks: of this process, and of the system."""
FEATURES = "IsProcessorFeaturePresent"
"""A byte, 0 or 1, for each of the features from 0 to 63."""

FEATURE_COUNT = 64

if sys.platform == "win32":
    import ctypes
    import winreg

    _RELATION_ALL = 0xFFFF
    _MEMORY_BYTES = 64
    _POWER_BYTES = 12

    def windows_call(name: str) -> bytes | None:
        """Call a function of kernel32 and return its result, or None if it fails."""
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        if name == MEMORY:
            # the first member must contain the size of the structure
            memory = ctypes.create_string_buffer(_MEMORY_BYTES.to_bytes(4, "little"), _MEMORY_BYTES)
            return memory.raw if kernel.GlobalMemoryStatusEx(memory) else None
        if name == POWER:
            power = ctypes.create_string_buffer(_POWER_BYTES)
            return power.raw if kernel.GetSystemPowerStatus(power) else None
        if name == PROCESSORS:
            return _processors(kernel)
        if name == AFFINITY:
            return _affinity(kernel)
        if name == FEATURES:
            return bytes(bool(kernel.IsProcessorFeaturePresent(number)) for number in range(FEATURE_COUNT))
        return None

    def _processors(kernel: ctypes.WinDLL) -> bytes | None:
        size = ctypes.c_ulong()
        kernel.GetLogicalProcessorInformationEx(_RELATION_ALL, None, ctypes.byref(size))
        answer = ctypes.create_string_buffer(size.value)
        is_filled = kernel.GetLogicalProcessorInformationEx(_RELATION_ALL, answer, ctypes.byref(size))
        return answer.raw[: size.value] if is_filled else None

    def _affinity(kernel: ctypes.WinDLL) -> bytes | None:
        kernel.GetCurrentProcess.restype = ctypes.c_void_p
        process, system = ctypes.c_size_t(), ctypes.c_size_t()
        handle = ctypes.c_void_p(kernel.GetCurrentProcess())
        if not kernel.GetProcessAffinityMask(handle, ctypes.byref(process), ctypes.byref(system)):
            return None
        return process.value.to_bytes(8, "little") + system.value.to_bytes(8, "little")

    def registry_values(key: str) -> Mapping[str, object] | None:
        r"""Return the values of a key such as `HKLM\SOFTWARE` by name, or None if the key does not exist."""
        values: dict[str, object] = {}
        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key.removeprefix("HKLM\\")) as opened:
                for index in range(winreg.QueryInfoKey(opened)[1]):
                    name, value, _ = winreg.EnumValue(opened, index)
                    values[name] = value
        except OSError:
            return None
        return values

else:

    def windows_call(name: str) -> bytes | None:
        """Return nothing: this is not Windows."""
        return None

    def registry_values(key: str) -> Mapping[str, object] | None:
        """Return nothing: this is not Windows."""
        return None
