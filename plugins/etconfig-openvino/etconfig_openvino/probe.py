"""Print OpenVINO's version and devices as JSON. A process of its own runs this file: OpenVINO stays out of
yours.

It calls OpenVINO's C library with ctypes, which takes a tenth of a second; importing `openvino` takes half
of one.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
from pathlib import Path

KEYS = {
    "name": "FULL_DEVICE_NAME",
    "type": "DEVICE_TYPE",
    "architecture": "DEVICE_ARCHITECTURE",
    "capabilities": "OPTIMIZATION_CAPABILITIES",
    "precision": "INFERENCE_PRECISION_HINT",
    "streams": "RANGE_FOR_STREAMS",
    "gpu_driver": "GPU_DRIVER_VERSION",
    "npu_driver": "NPU_DRIVER_VERSION",
}
"""The property of each member of a device in the output."""


class _Version(ctypes.Structure):
    """`ov_version_t` of OpenVINO's C API."""

    _fields_ = (("build_number", ctypes.c_char_p), ("description", ctypes.c_char_p))


class _Devices(ctypes.Structure):
    """`ov_available_devices_t` of OpenVINO's C API."""

    _fields_ = (("names", ctypes.POINTER(ctypes.c_char_p)), ("size", ctypes.c_size_t))


def find_devices() -> dict[str, object]:
    """Return the version, and for each device its id and properties. Raises OSError, AttributeError."""
    library = ctypes.CDLL(_library())
    core = ctypes.c_void_p()
    library.ov_core_free.argtypes = (ctypes.c_void_p,)
    version = _Version()
    if library.ov_get_openvino_version(ctypes.byref(version)) != 0:
        raise OSError("OpenVINO does not report its version")
    if library.ov_core_create(ctypes.byref(core)) != 0:
        raise OSError("OpenVINO does not start")
    try:
        found = _Devices()
        if library.ov_core_get_available_devices(core, ctypes.byref(found)) != 0:
            raise OSError("OpenVINO does not list its devices")
        names = [(found.names[index] or b"").decode(errors="replace") for index in range(found.size)]
        devices = [{"id": name, **_properties(library, core, name)} for name in names]
    finally:
        library.ov_core_free(core)
    number = (version.build_number or b"").decode(errors="replace").partition("-")[0]
    return {"version": number, "devices": devices}


def _properties(library: ctypes.CDLL, core: ctypes.c_void_p, device: str) -> dict[str, str]:
    found = {}
    for name, key in KEYS.items():
        value = ctypes.c_char_p()
        if library.ov_core_get_property(core, device.encode(), key.encode(), ctypes.byref(value)) == 0:
            found[name] = (value.value or b"").decode(errors="replace")
    return found


def _library() -> str:
    spec = importlib.util.find_spec("openvino")
    for directory in () if spec is None else spec.submodule_search_locations or ():
        found = sorted(Path(directory, "libs").glob("*openvino_c*"))
        if found:
            return str(found[0])
    raise OSError("OpenVINO is not installed")


if __name__ == "__main__":
    try:
        answer: dict[str, object] = find_devices()
    except (OSError, AttributeError) as error:
        answer = {"problem": str(error)}
    print(json.dumps(answer))  # noqa: T201  # the detector reads this output
