"""Models without a program: `build`, `effective` and `update` of the backend's declaration."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from etconfig.plugin.v1 import BackendUnavailableError, EffectiveOption, LibraryError
from etconfig_tvm.installed import COMPILER, INSTALL, find_runtime_library, version_of
from etconfig_tvm.library_file import check_end, check_library, open_library
from etconfig_tvm.options import Checksum, TvmOptions
from etconfig_tvm.options import Runtime as RuntimeChoice
from etconfig_tvm.private_file import private_file
from etconfig_tvm.runtime import load_runtime
from etconfig_tvm.seal import check_seal
from etconfig_tvm.session import SessionState, full_session, small_session, state_of
from etconfig_tvm.threads import check_threads, threads_in_force, use_threads

_CHUNK_BYTES = 1 << 20


def build(options: TvmOptions, path: str | os.PathLike[str]) -> object:
    """Load a compiled library, and return a virtual machine of its own for it.

    `session["main"](array)` runs the function `main`; in whatever thread that is, it has the threads of
    `options`. The session has a copy of the library, so you may overwrite the file.

    Args:
        options: The typed options.
        path: The library that `etconfig_tvm.aot.compile_model`, or `export_library` of TVM, wrote. Loading it
            runs its code: load only libraries that you trust.

    Returns:
        A `tvm_ffi.Module`; with `runtime = "full"`, a `tvm.relax.VirtualMachine`.

    Raises:
        BackendUnavailableError: TVM, or a part of it, is not installed.
        LibraryError: the file is missing or damaged, or is not a library that fits this device and TVM.
        DeviceError: the device is not there.
        ThreadPoolError: there are not as many cores.
        PrivateFileError: there is no place for temporary files.
    """
    path = Path(path)
    check_threads(options)
    try:
        file = open_library(path)
    except (OSError, ValueError) as error:  # ValueError: the path contains a null byte
        reason = getattr(error, "strerror", None) or str(error)
        raise LibraryError(library=str(path), reason=reason, help="correct the path") from error
    with file:
        check_library(file, path)
        with private_file(_parts(file, path)) as copy:
            file.close()
            return _start(options, copy, path)


def _start(options: TvmOptions, copy: Path, path: Path) -> object:
    with copy.open("rb") as file:
        is_verified = _check(file, path, options)
    runtime = load_runtime(options.runtime_library)
    runtime.check_device(options.device, options.device_index)
    state = SessionState(runtime, options, is_verified=is_verified)
    if options.runtime is RuntimeChoice.FULL:
        return _full_machine(copy, path, state)
    module = runtime.load_library(copy, path)
    machine = runtime.start_machine(module, options.device, options.device_index, options.memory)
    return small_session(machine, state)


def _parts(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Read a library from its beginning. Raises LibraryError."""
    try:
        file.seek(0)
        while part := file.read(_CHUNK_BYTES):
            yield part
    except OSError as error:
        reason = error.strerror or str(error)
        raise LibraryError(library=str(path), reason=reason, help="copy it again") from error


def _check(file: BinaryIO, path: Path, options: TvmOptions) -> bool:
    """Check a library before it is loaded, and return True if its checksum was compared."""
    if check_seal(file, path, version_of(COMPILER)):
        return True
    check_end(file, path)
    if options.checksum is Checksum.REQUIRED:
        raise LibraryError(
            library=str(path),
            reason='it has no checksum, and checksum is "required"',
            help='add one with `etconfig_tvm.aot.seal_library`, or set checksum to "if_present"',
        )
    return False


def apply_threads(options: TvmOptions) -> None:
    """Give the calling thread's pool the threads and cores of `options`.

    Sessions do this themselves at each call. It is for modules that you load with TVM's own functions.

    Raises:
        BackendUnavailableError: TVM is not installed.
        ThreadPoolError: the threads cannot be had.
    """
    use_threads(load_runtime(options.runtime_library), options)


def effective(session: object) -> Mapping[str, EffectiveOption]:
    """Return what is in force in a session; its threads belong to the calling thread.

    Raises:
        TypeError: it is not a session that `build` returns.
    """
    state = state_of(session)
    options = state.options
    passed_on = "passed to TVM's virtual machine, which does not report it"
    verified = "the SHA-256 was compared" if state.is_verified else "the library has none"
    started = "TVM's virtual machine was started on it"
    return {
        **threads_in_force(state.runtime, options),
        "memory": EffectiveOption.assumed(options.memory, passed_on),
        "device": EffectiveOption.assumed(options.device, started),
        "device_index": EffectiveOption.assumed(options.device_index, started),
        "checksum": EffectiveOption.observed(options.checksum, verified),
        "runtime": EffectiveOption.observed(options.runtime, "the type of the session"),
        "runtime_library": EffectiveOption.observed(
            options.runtime_library, f"loaded from {state.runtime.path}"
        ),
    }


def update(session: object, options: TvmOptions, previous: TvmOptions, changed: frozenset[str]) -> None:
    """Use the new threads and cores from the next call of the session on, in whatever thread it is.

    Raises:
        ThreadPoolError: there are not as many cores; the session keeps its threads.
    """
    state = state_of(session)
    check_threads(options)
    state.options = options


def _full_machine(copy: Path, path: Path, state: SessionState) -> object:
    if importlib.util.find_spec("tvm") is None:
        raise BackendUnavailableError(
            backend="TvmBackend",
            reason='runtime is "full", and apache-tvm is not installed',
            help=f'`{INSTALL}`, or set runtime to "minimal"',
        )
    if state.runtime.path.resolve() != find_runtime_library().resolve():
        raise LibraryError(
            library=str(find_runtime_library()),
            reason=f"this process has loaded {str(state.runtime.path)!r}, and can have one such library only",
            help='use runtime "minimal" for all models, or runtime_library for none',
        )
    import tvm  # modules that are loaded from now on are its own

    options = state.options
    device = tvm.device(options.device.value, options.device_index)
    return full_session(state.runtime.load_library(copy, path), device, options.memory.value, state)
