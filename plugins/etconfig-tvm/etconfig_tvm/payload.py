"""The payload of a delegate: a shared library in an envelope that names the devices it is for."""

from __future__ import annotations

from etconfig.plugin.v1 import CompileSpecEncoding, CompileSpecInfo, Envelope

BACKEND_ID = "TvmBackend"
TARGET_SPEC, SETTINGS_SPEC = "target", "settings"
"""The keys of the compile specs."""

KIND = "tvm library"
VERSION = 1
ENGINE = "apache-tvm"
OLDEST_ENGINE, FIRST_UNKNOWN_ENGINE = "0.27", "0.28"
"""The versions that read such a library: the format of its code changes with each minor version."""


COMPILE_SPECS = {
    TARGET_SPEC: CompileSpecInfo(
        doc="The processor that the delegate was compiled for: a `TvmTarget` as JSON.",
        encoding=CompileSpecEncoding.UTF8,
    ),
    SETTINGS_SPEC: CompileSpecInfo(
        doc="How it was compiled: `CompileSettings` as JSON.", encoding=CompileSpecEncoding.UTF8
    ),
}
"""The compile specs of delegates. They are a record; `init` reads the envelope of the payload instead."""


def open_payload(data: memoryview, engine_version: str | None) -> memoryview:
    """Return the library in a payload that fits this device and the installed TVM.

    Args:
        data: The payload.
        engine_version: The version of apache-tvm, or None if only its runtime library is here.

    Raises:
        DelegateInvalidCompatibilityError: it is for another device or TVM, or another backend.
        EtconfigError: the payload is damaged.
    """
    envelope, library = Envelope.read(data)
    envelope.check(backend_id=BACKEND_ID, kind=KIND, versions=(VERSION,), engine_version=engine_version)
    return library
