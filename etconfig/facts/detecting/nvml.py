"""NVIDIA's management library through ctypes, which needs no further package.

Source: nvml.h of CUDA 12. This was not tried with the library itself; the tests call a stand-in with the same
functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from etconfig.base.records import record

if TYPE_CHECKING:
    import ctypes

_LIBRARIES = ("libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1", "nvml.dll")
_SUCCESS = 0
_MAX_GPUS = 64
_NAME_BYTES = 96
_PCI_INFO_BYTES = 16 + 5 * 4 + 32
_BUS_ID = slice(16 + 5 * 4, None)


@record(frozen=True)
class NvmlGpu:
    """One GPU in the list of NVML.

    Attributes:
        pci_address: The address in the kernel's form, such as `0000:01:00.0`.
        name: The name, such as `NVIDIA GeForce RTX 4090`.
        memory_bytes: The size of its own memory; None if it has none, as on Jetson.
    """

    pci_address: str
    name: str
    memory_bytes: int | None = None


def load_library() -> Any | None:
    """Return the library, or None if it is not installed."""
    import ctypes

    for name in _LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def list_gpus(library: Any) -> tuple[NvmlGpu, ...] | None:
    """Return the GPUs that the library lists, or None if it does not work, for example without the driver."""
    import ctypes

    if library.nvmlInit_v2() != _SUCCESS:
        return None
    try:
        count = ctypes.c_uint()
        if library.nvmlDeviceGetCount_v2(ctypes.byref(count)) != _SUCCESS:
            return None
        found = (_gpu(library, index) for index in range(min(count.value, _MAX_GPUS)))
        return tuple(gpu for gpu in found if gpu is not None)
    finally:
        library.nvmlShutdown()


def _gpu(library: Any, index: int) -> NvmlGpu | None:
    import ctypes

    handle = ctypes.c_void_p()
    if library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) != _SUCCESS:
        return None  # for example, the GPU fell off the bus
    name = ctypes.create_string_buffer(_NAME_BYTES)
    pci = ctypes.create_string_buffer(_PCI_INFO_BYTES)
    if library.nvmlDeviceGetName(handle, name, _NAME_BYTES) != _SUCCESS:
        return None
    if library.nvmlDeviceGetPciInfo_v3(handle, pci) != _SUCCESS:
        return None
    return NvmlGpu(_address(pci), name.value.decode(errors="replace"), _memory_bytes(library, handle))


def _memory_bytes(library: Any, handle: ctypes.c_void_p) -> int | None:
    import ctypes

    memory = (ctypes.c_ulonglong * 3)()  # total, free, used
    return memory[0] if library.nvmlDeviceGetMemoryInfo(handle, memory) == _SUCCESS else None


def _address(pci_info: ctypes.Array[ctypes.c_char]) -> str:
    """Return the address in the kernel's form; NVML writes 8 digits and upper case: `00000000:01:00.0`."""
    bus_id = pci_info.raw[_BUS_ID].split(b"\0")[0].decode(errors="replace")
    return bus_id.lower()[-len("0000:00:00.0") :]
