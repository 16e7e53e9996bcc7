"""The payload of a delegate: a shared library in an envelope that names the devices it is for."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from etconfig.plugin.v1 import (
    CompileSpecEncoding,
    CompileSpecInfo,
    CompileSpecs,
    Envelope,
    HostConstraints,
    InvalidPayloadError,
    LibraryError,
    PayloadDescription,
)

BACKEND_ID = "TvmBackend"
TARGET_SPEC, SETTINGS_SPEC = "target", "settings"
"""The keys of the compile specs."""

KIND = "tvm library"
VERSION = 1
ENGINE = "apache-tvm"
OLDEST_ENGINE, FIRST_UNKNOWN_ENGINE = "0.27", "0.28"
"""The versions that read such a library: the format of its code changes with each minor version."""
_ENVELOPE_MAGIC = b"ETAP"
_HEADER_BYTES = 64

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


def describe(payload: bytes, compile_specs: CompileSpecs) -> PayloadDescription:
    """Return the target of a library, which is machine code: its operators are not known.

    A library of `export_library` has its description at its end, see `etconfig_tvm.seal`, or only its header.

    Raises:
        InvalidPayloadError: it is damaged, or not a library.
        DelegateInvalidCompatibilityError: it is in an envelope of another version.
    """
    from etconfig_tvm.library_file import machine_of
    from etconfig_tvm.seal import read_seal

    if payload.startswith(_ENVELOPE_MAGIC):
        return Envelope.read(payload)[0].describe()
    try:
        sealed = read_seal(BytesIO(payload), Path("library"))
    except LibraryError as error:
        raise InvalidPayloadError(cause=error.reason) from error
    if sealed is not None:
        return sealed.describe()
    machine = machine_of(payload[:_HEADER_BYTES])
    if machine is None:
        raise InvalidPayloadError(cause="it is not a shared library for Linux or Android, nor in an envelope")
    needs = HostConstraints(arch=machine, triple=machine).needs()
    return PayloadDescription(target=machine, needs=needs, notes=["it does not say which TVM compiled it"])
