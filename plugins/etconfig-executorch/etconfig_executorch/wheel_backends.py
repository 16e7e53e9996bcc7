"""Backends that the executorch wheel ships beside XNNPACK, and what each needs from the machine.

The wheel has each of them in a library of its own, which registers it when it is loaded. ExecuTorch's own
Python bindings load the same files, so loading them first or second changes nothing.
"""

from __future__ import annotations

import _ctypes
import ctypes
import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path

from etconfig.plugin.v1 import Availability
from etconfig_executorch import openvino
from etconfig_executorch.native import RUNTIME, native

_LIBRARIES = ("libexecutorch_backend_openvino.so", "libexecutorch_backend_qnn.so")

# Source: backends/qualcomm/runtime/backends/QnnBackendUnifiedRegistry.cpp. The library of the accelerator is
# another one for each program; this one serves all of them.
_QNN_SYSTEM = "libQnnSystem.so"
_QNN_FIX = "install Qualcomm's AI Engine Direct SDK, and put its libraries on LD_LIBRARY_PATH"


def wheel_directory() -> Path:
    """Return the directory of the installed executorch package, without importing it."""
    spec = importlib.util.find_spec("executorch")
    assert spec is not None, "the version of the runtime was checked"
    assert spec.submodule_search_locations is not None, "it is a package"
    return Path(next(iter(spec.submodule_search_locations)))


def load_wheel_backends() -> None:
    """Register the wheel's backends with the runtime; wheels for some machines lack some of them."""
    openvino.find_library()
    for name in _LIBRARIES:
        path = wheel_directory() / "lib" / name
        if path.exists():
            ctypes.CDLL(str(path))


def ask_availability(backend: str) -> Availability:
    """Return whether a backend of the runtime can run here, with its reason; it may look for drivers."""
    is_available, log = native.ask_availability(backend)
    if is_available:
        return _FURTHER_CHECKS.get(backend, Availability.yes)()
    explain = _EXPLANATIONS.get(backend, _as_logged)
    return explain(log)


def version_of(backend: str) -> str | None:
    """Return the library behind a backend and its version, such as `OpenVINO 2026.4.1`; None if unknown."""
    if backend == "XnnpackBackend":
        return RUNTIME
    return openvino.version() if backend == openvino.OPENVINO else None


def _as_logged(log: list[str]) -> Availability:
    said = f": {'; '.join(log)}" if log else " and logs no reason"
    return Availability.no(
        f"the installed ExecuTorch has it, but it reports that it cannot run here{said}",
        "see what the backend needs: a driver, a library, or another device",
    )


def _qnn_system() -> Availability:
    """Look for the library that every program for QNN needs: the backend says yes without looking."""
    try:
        handle = _ctypes.dlopen(_QNN_SYSTEM, 0)
    except OSError as error:
        return Availability.no(f"the libraries of QNN cannot be loaded: {error}", _QNN_FIX)
    _ctypes.dlclose(handle)
    return Availability.yes()


_FURTHER_CHECKS: Mapping[str, Callable[[], Availability]] = {"QnnBackend": _qnn_system}
_EXPLANATIONS: Mapping[str, Callable[[list[str]], Availability]] = {
    openvino.OPENVINO: openvino.why_unavailable
}
