"""The installed parts of TVM, found without importing any of them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from etconfig.plugin.v1 import Availability, BackendUnavailableError

FFI = "apache-tvm-ffi"
COMPILER = "apache-tvm"
INSTALL = f"pip install {COMPILER}"
_SUFFIX = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
_PREFIX = "" if sys.platform == "win32" else "lib"


def version_of(distribution: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    from importlib import metadata  # 15 ms, for all that only read the schema

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def library_directory() -> Path | None:
    """Return the directory of the libraries of apache-tvm, or None if it is not installed."""
    spec = importlib.util.find_spec("tvm")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "lib"


def runtime_libraries() -> tuple[str, ...]:
    """Return the names of the installed runtime libraries, such as `runtime` and `runtime_cuda`, sorted."""
    directory = library_directory()
    if directory is None:
        return ()
    found = directory.glob(f"{_PREFIX}tvm_*{_SUFFIX}")
    return tuple(sorted(path.name[len(_PREFIX) + len("tvm_") : -len(_SUFFIX)] for path in found))


def find_runtime_library(given: str = "") -> Path:
    """Return the path of libtvm_runtime.

    Args:
        given: The option `runtime_library`; empty for apache-tvm's. A relative path begins at the
            current directory: the system would look for a name without a directory elsewhere.

    Raises:
        BackendUnavailableError: there is none.
    """
    if given:
        path = Path(given).absolute()
        if path.is_file():
            return path
        at = "" if Path(given).is_absolute() else f" in {str(Path.cwd())!r}, the current directory"
        raise _unavailable(
            f"runtime_library is {given!r}, and there is no such file{at}",
            "correct the path, or leave it empty",
        )
    directory = library_directory()
    found = None if directory is None else directory / f"{_PREFIX}tvm_runtime{_SUFFIX}"
    if found is None or not found.is_file():
        raise _unavailable(
            f"{COMPILER} is not installed, and runtime_library is not set",
            f"`{INSTALL}`, or set runtime_library to a copy of {_PREFIX}tvm_runtime{_SUFFIX}",
        )
    return found


def check_ffi() -> None:
    """Raise BackendUnavailableError unless tvm_ffi is installed."""
    if importlib.util.find_spec("tvm_ffi") is None:
        raise _unavailable(f"{FFI} is not installed", f"`{INSTALL}`, or `pip install {FFI}` alone")


def availability() -> Availability:
    """Report whether tvm_ffi is installed, without importing it.

    The runtime library may be given by an option, so its absence is reported when a model is loaded.
    """
    if importlib.util.find_spec("tvm_ffi") is None:
        return Availability.no(f"{FFI} is not installed", f"{INSTALL}, or pip install {FFI} alone")
    return Availability.yes()


def _unavailable(reason: str, fix: str) -> BackendUnavailableError:
    return BackendUnavailableError(backend="TvmBackend", reason=reason, help=fix)
