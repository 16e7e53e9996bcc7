"""OpenVINO: the library behind ExecuTorch's backend, its devices, and why it cannot run here."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from etconfig.plugin.v1 import Availability

OPENVINO = "OpenvinoBackend"

OPENVINO_VARIABLE = "OPENVINO_LIB_PATH"
"""The variable that names OpenVINO's C library; the backend reads it once in a process."""

_LIBRARY = "libopenvino_c.so"
_INSTALL = f"pip install openvino, or let {OPENVINO_VARIABLE} name {_LIBRARY}; then start Python again"
_REPAIR = (
    f"let {OPENVINO_VARIABLE} name {_LIBRARY}, or unset it and pip install openvino; then start Python again"
)

# Source of the texts: backends/openvino/runtime/OpenvinoBackend.cpp.
_NOT_LOADED = re.compile(r"OpenVINO runtime not found \(dlopen failed: (.*?)\)\. ")
_LACKS = re.compile(r"OpenVINO: failed to resolve symbol '(\w+)'")
_NOT_IMPORTED = re.compile(r"OpenVINO: failed to import model for device '(.*?)'")


class _Version(ctypes.Structure):
    """`ov_version_t` of OpenVINO's C API."""

    _fields_ = (("build_number", ctypes.c_char_p), ("description", ctypes.c_char_p))


class _Devices(ctypes.Structure):
    """`ov_available_devices_t` of OpenVINO's C API."""

    _fields_ = (("names", ctypes.POINTER(ctypes.c_char_p)), ("size", ctypes.c_size_t))


def find_library() -> None:
    """Let the environment name the library of the pip package, unless it names another one already.

    ExecuTorch's own bindings make the same choice.
    """
    if not os.environ.get(OPENVINO_VARIABLE):
        os.environ.pop(OPENVINO_VARIABLE, None)  # for an empty name, the backend opens the program itself
        found = _library_of_pip()
        if found is not None:
            os.environ[OPENVINO_VARIABLE] = str(found)


def version() -> str | None:
    """Return the installed OpenVINO, such as `OpenVINO 2026.4.1`; None if there is none."""
    found = _Version()
    try:
        library = _opened()
        if library.ov_get_openvino_version(ctypes.byref(found)) != 0:
            return None
    except (OSError, AttributeError):
        return None
    number = found.build_number.decode(errors="replace").partition("-")[0]
    library.ov_version_free(ctypes.byref(found))
    return f"OpenVINO {number}"


def devices() -> Sequence[str]:
    """Return the devices that OpenVINO finds here, such as `CPU` and `GPU.0`; starts its plugins."""
    found = _Devices()
    try:
        with _core() as (library, core):
            if library.ov_core_get_available_devices(core, ctypes.byref(found)) != 0:
                return ()
            names = [found.names[index] or b"" for index in range(found.size)]
            library.ov_available_devices_free(ctypes.byref(found))
    except (OSError, AttributeError):
        return ()
    return [name.decode(errors="replace") for name in names]


def import_help(log: Sequence[str]) -> str | None:
    """Return what to do about a payload that OpenVINO does not import, from the lines that it logged."""
    for line in log:
        if match := _NOT_IMPORTED.search(line):
            wanted, found = match[1], devices()
            if any(each.partition(".")[0] == wanted.partition(".")[0] for each in found):
                return "export the program again, with this version of OpenVINO"
            if ":" not in wanted:
                here = ", ".join(found) or "no device"
                return f"export the program for a device that OpenVINO finds here: {here}, not {wanted}"
    return None


def why_unavailable(log: Sequence[str]) -> Availability:
    """Return why the backend cannot run here, from the lines that it logged."""
    for line in log:
        if match := _NOT_LOADED.search(line):
            return _not_loaded(match[1])
        if match := _LACKS.search(line):
            return Availability.no(f"the installed OpenVINO has no function {match[1]}", _INSTALL)
    return Availability.no(
        f"{version() or 'OpenVINO'} is installed, but finds no device that it can use",
        "install OpenVINO's plugin of a device: those of pip install openvino include the CPU; "
        "openvino.Core().available_devices lists what it finds",
    )


def _not_loaded(problem: str) -> Availability:
    named = os.environ.get(OPENVINO_VARIABLE)
    if named:
        return Availability.no(
            f"{OPENVINO_VARIABLE} names {named}, which cannot be loaded: {problem}", _REPAIR
        )
    return Availability.no(
        f"OpenVINO is not installed; the executorch package has only the backend that calls it ({problem})",
        _INSTALL,
    )


def _library_of_pip() -> Path | None:
    spec = importlib.util.find_spec("openvino")
    for directory in () if spec is None else spec.submodule_search_locations or ():
        found = sorted(Path(directory, "libs").glob(f"{_LIBRARY}*"))
        if found:
            return found[0]
    return None


def _opened() -> ctypes.CDLL:
    return ctypes.CDLL(os.environ.get(OPENVINO_VARIABLE) or _LIBRARY)


@contextmanager
def _core() -> Iterator[tuple[ctypes.CDLL, ctypes.c_void_p]]:
    library, core = _opened(), ctypes.c_void_p()
    library.ov_core_free.argtypes = (ctypes.c_void_p,)
    if library.ov_core_create(ctypes.byref(core)) != 0:
        raise OSError("OpenVINO does not start")
    try:
        yield library, core
    finally:
        library.ov_core_free(core)
