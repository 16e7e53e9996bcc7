"""`Runtime`: tvm_ffi and libtvm_runtime, loaded without the compiler."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from etconfig.plugin.v1 import LibraryError
from etconfig_tvm.errors import DeviceError
from etconfig_tvm.installed import check_ffi, find_runtime_library
from etconfig_tvm.options import Device, Memory
from etconfig_tvm.threads import PoolState

_DEVICE_TYPES = {
    Device.CPU: 1,
    Device.CUDA: 2,
    Device.OPENCL: 4,
    Device.VULKAN: 7,
    Device.METAL: 8,
    Device.ROCM: 10,
}
"""The numbers of DLPack."""

_ALLOCATORS = {Memory.NAIVE: 1, Memory.POOLED: 2}
"""The numbers of `tvm.relax.VirtualMachine`."""

_EXISTS = 0
"""The attribute of a device that says whether it is there."""


class Runtime:
    """The functions of TVM's runtime that running a model takes.

    Args:
        ffi: The module tvm_ffi, with libtvm_runtime loaded into the process.
        path: The path of libtvm_runtime.
    """

    def __init__(self, ffi: Any, path: Path) -> None:
        self._ffi = ffi
        self.path = path
        self.pool = PoolState()
        self._configure_threads = ffi.get_global_func("runtime.config_threadpool")
        self.count_threads = ffi.get_global_func("runtime.NumThreads")
        self._device_attribute = ffi.get_global_func("runtime.GetDeviceAttr")

    def configure_threads(self, mode: int, count: int, cores: Sequence[int]) -> None:
        """Set the pool of the calling thread; see `etconfig_tvm.threads` for the modes."""
        self._configure_threads(mode, count, [str(core) for core in cores])

    def has_device(self, device: Device, index: int) -> bool:
        """Return True if a device is there, and TVM's library for its kind."""
        try:
            return bool(self._device_attribute(_DEVICE_TYPES[device], index, _EXISTS))
        except RuntimeError:
            return False

    def load_library(self, path: Path, name: Path | str) -> Any:
        """Load a compiled library into the process, which runs its code, and return its module.

        The library is unloaded with the last reference to the module or to its functions.

        Args:
            path: The file to load.
            name: What to call it in messages.

        Raises:
            LibraryError: it cannot be loaded, or was not exported from TVM's virtual machine.
        """
        try:
            module = self._ffi.load_module(str(path), keep_module_alive=False)
        except (RuntimeError, ValueError) as error:
            raise _load_error(path, name, error) from error
        if not module.implements_function("vm_load_executable"):
            raise LibraryError(
                library=str(name),
                reason="it has no executable of TVM's virtual machine",
                help="export what `tvm.compile` returns, with `export_library`",
            )
        return module

    def start_machine(self, module: Any, device: Device, index: int, memory: Memory) -> Any:
        """Return a virtual machine of its own for a loaded library; its functions are its items.

        Raises:
            DeviceError: there is no such device.
        """
        self.check_device(device, index)
        machine = module["vm_load_executable"]()
        allocator = _ALLOCATORS[memory]
        host = (_DEVICE_TYPES[Device.CPU], 0, allocator)
        devices = host if device is Device.CPU else (_DEVICE_TYPES[device], index, allocator, *host)
        machine["vm_initialization"](*devices)
        return machine

    def check_device(self, device: Device, index: int) -> None:
        """Raise DeviceError if there is no such device."""
        if not self.has_device(device, index):
            raise DeviceError(
                problem=f"TVM finds no device {device.value}:{index} here",
                help="set device and device_index to one that is there, or install a TVM with its library",
            )

    def tensor(self, array: Any) -> Any:
        """Return a tensor that shares the memory of a writable, contiguous numpy array."""
        return self._ffi.from_dlpack(array)


@functools.cache
def load_runtime(runtime_library: str = "") -> Runtime:
    """Load tvm_ffi and libtvm_runtime into this process, once, and return their functions.

    Args:
        runtime_library: The option of this name.

    Raises:
        BackendUnavailableError: one of them is missing.
        LibraryError: the library cannot be loaded.
    """
    check_ffi()
    path = find_runtime_library(runtime_library)
    import tvm_ffi

    _check_single(tvm_ffi, path)
    try:
        ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise LibraryError(
            library=str(path), reason=_first_line(error), help="use the library of a TVM of the same version"
        ) from error
    try:
        return Runtime(tvm_ffi, path)
    except ValueError as error:  # a function is missing
        reason = f"it is not libtvm_runtime: {_first_line(error)}"
        raise LibraryError(
            library=str(path), reason=reason, help="use the library of a TVM of the same version"
        ) from error


def _check_single(ffi: Any, path: Path) -> None:
    """Raise LibraryError if the process has another libtvm_runtime: a second one would end the process."""
    if (
        not hasattr(os, "RTLD_NOLOAD")
        or ffi.get_global_func("runtime.NumThreads", allow_missing=True) is None
    ):
        return
    try:
        ctypes.CDLL(str(path), os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        raise LibraryError(
            library=str(path),
            reason="this process has loaded another libtvm_runtime, and can have one only",
            help="set runtime_library to the same file for all models, or leave it empty if tvm is imported",
        ) from None


def _load_error(path: Path, name: Path | str, error: Exception) -> LibraryError:
    """Return the error for a library that the system or TVM refuses to load."""
    text, reason = str(error), _first_line(error).replace(str(path), str(name))
    if "failed to map segment" in text and path.is_symlink():  # to memory
        reason = (
            "the system does not execute what a process has written to memory, or there is no memory left"
        )
        return LibraryError(library=str(name), reason=reason, help="allow it, or free memory")
    if "failed to map segment" in text:
        place = str(path.parent.parent)
        return LibraryError(
            library=str(name),
            reason=f"the system does not execute files in {place!r}, or there is no memory left",
            help="set TMPDIR to a directory on a file system that is not mounted with noexec",
        )
    return LibraryError(library=str(name), reason=reason, help="compile and export the model again")


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
