"""Models without a program: `build`, `effective` and `update` of the backend's declaration."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path

from etconfig.plugin.v1 import BackendUnavailableError, EffectiveOption
from etconfig_tvm.installed import INSTALL
from etconfig_tvm.library_file import check_library
from etconfig_tvm.options import Runtime as RuntimeChoice
from etconfig_tvm.options import TvmOptions
from etconfig_tvm.runtime import load_runtime, loaded_runtime
from etconfig_tvm.threads import use_threads

_SESSIONS = {"Module": RuntimeChoice.MINIMAL, "VirtualMachine": RuntimeChoice.FULL}
"""The runtime by the name of a session's type: where `tvm` is imported, it has a `Module` of its own."""


def build(options: TvmOptions, path: str | os.PathLike[str]) -> object:
    """Load a compiled library, and return a virtual machine of its own for it.

    `session["main"](array)` runs the function `main`. The threads of `options` are those of the calling
    thread's pool: call `apply_threads` in every other thread that runs the session.

    Args:
        options: The typed options.
        path: The library that `etconfig_tvm.aot.compile_model`, or `export_library` of TVM, wrote. Loading it
            runs its code: load only libraries that you trust.

    Returns:
        A `tvm_ffi.Module`; with `runtime = "full"`, a `tvm.relax.VirtualMachine`.

    Raises:
        BackendUnavailableError: TVM, or a part of it, is not installed.
        LibraryError: the file is missing, or is not a library that fits this device.
        DeviceError: the device is not there.
        ThreadPoolError: the threads cannot be had.
    """
    check_library(Path(path))
    runtime = load_runtime(options.runtime_library)
    runtime.check_device(options.device, options.device_index)
    use_threads(runtime, options)
    module = runtime.load_library(Path(path).absolute())
    if options.runtime is RuntimeChoice.FULL:
        return _full_machine(Path(path).absolute(), options)
    return runtime.start_machine(module, options.device, options.device_index, options.memory)


def apply_threads(options: TvmOptions) -> None:
    """Give the calling thread's pool the threads and cores of `options`.

    Raises:
        BackendUnavailableError: TVM is not installed.
        ThreadPoolError: the threads cannot be had.
    """
    use_threads(load_runtime(options.runtime_library), options)


def effective(session: object) -> Mapping[str, EffectiveOption]:
    """Return what can be known about a session: the threads of the calling thread's pool, and the runtime.

    Raises:
        TypeError: it is not a session that `build` returns.
    """
    choice = _SESSIONS.get(type(session).__name__)
    if choice is None:
        raise TypeError(f"expected a session that build returned, given {type(session).__name__}")
    runtime = loaded_runtime()
    found = {
        "num_threads": EffectiveOption.read_back(
            runtime.count_threads(), "NumThreads of the calling thread's pool"
        ),
        "runtime": EffectiveOption.read_back(choice, "the type of the session"),
    }
    if hasattr(os, "sched_getaffinity"):
        cores = tuple(sorted(os.sched_getaffinity(0)))
        found["cores"] = EffectiveOption.observed(cores, "the cores that the calling thread may use")
    return found


def update(session: object, options: TvmOptions, previous: TvmOptions, changed: frozenset[str]) -> None:
    """Give the calling thread's pool the new threads and cores. Raises ThreadPoolError."""
    apply_threads(options)


def _full_machine(path: Path, options: TvmOptions) -> object:
    if importlib.util.find_spec("tvm") is None:
        raise BackendUnavailableError(
            backend="TvmBackend",
            reason='runtime is "full", and apache-tvm is not installed',
            help=f'`{INSTALL}`, or set runtime to "minimal"',
        )
    import tvm
    from tvm.relax import VirtualMachine

    device = tvm.device(options.device.value, options.device_index)
    return VirtualMachine(tvm.runtime.load_module(str(path)), device, memory_cfg=options.memory.value)
