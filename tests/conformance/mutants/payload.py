"""Mutants of the checks on payloads."""

from __future__ import annotations

import ctypes
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from etconfig.backend import ExecuteContext, InitContext, Processed, Value
from etconfig.conformance.interpose.interposer import Interposer
from etconfig.errors import DelegateInvalidCompatibilityError
from etconfig.method.delegate import Payload
from mutants.mutant import Mutant

_FIXED_BYTES = 24
"""The head of a reference payload: magic, version, zero, length of the text, length, checksum."""


class NoChecksum(Interposer):
    """Accepts any checksum."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        data = bytearray(processed.data)
        if len(data) >= _FIXED_BYTES:
            (total_bytes,) = struct.unpack_from("<Q", data, 12)
            checksum = zlib.crc32(data[_FIXED_BYTES:total_bytes], zlib.crc32(data[:20]))
            struct.pack_into("<I", data, 20, checksum)
        return super().init(context, Payload(memoryview(bytes(data))), compile_specs)


class NothingToDo(Interposer):
    """Treats an empty payload as a graph that does nothing."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        return super().init(context, processed, compile_specs) if processed.data else None

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        if handle is not None:
            super().execute(context, handle, args)


class AnyVersion(Interposer):
    """Reads a payload of any version as if it had the known one."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        data = bytearray(processed.data)
        version = 2 if b'"values"' in data else 1
        if len(data) >= _FIXED_BYTES:
            struct.pack_into("<H", data, 4, version)
        return super().init(context, Payload(memoryview(bytes(data))), compile_specs)


class UntypedVersion(Interposer):
    """Refuses payloads of other versions with an error of its own."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        try:
            return super().init(context, processed, compile_specs)
        except DelegateInvalidCompatibilityError as error:
            raise ValueError(str(error)) from None


class FromFile(Interposer):
    """Lets its driver read the payload from the file, at an offset that only segments have."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        if processed.data:
            offset = _address(processed.data) - _address(processed.data.obj)
            if offset % 128:
                raise ValueError(f"cannot map the payload at {offset}")
        return super().init(context, processed, compile_specs)


class FlushesInPlace(Interposer):
    """Flushes numbers that are too small for its device to zero, in the input itself."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        tensor = args[0]
        if isinstance(tensor, np.ndarray) and tensor.dtype == np.float32:
            tensor[np.abs(tensor) < np.finfo(np.float32).tiny] = 0
        super().execute(context, handle, args)


class PatchesPayload(Interposer):
    """Writes into the payload through a raw pointer."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        if processed.data:
            first = ctypes.c_ubyte.from_address(_address(processed.data))
            first.value = processed.data[0]
        return super().init(context, processed, compile_specs)


def _address(data: Any) -> int:
    return int(np.frombuffer(data, np.uint8).ctypes.data)


NO_CHECKSUM = Mutant("corrupt", "its payload, with .*, was accepted", backend=NoChecksum)
NOTHING_TO_DO = Mutant("empty", "an empty payload was loaded, but then", backend=NothingToDo)
ANY_VERSION = Mutant(
    "format-version",
    "refused, but none because of its version, such as",
    elsewhere="none with DelegateInvalidCompatibilityError",
    backend=AnyVersion,
)
UNTYPED_VERSION = Mutant(
    "version-error",
    "none with DelegateInvalidCompatibilityError, such as: .*format version",
    backend=UntypedVersion,
)
FROM_FILE = Mutant(
    "inline-equals-segment", "inline in the tables: .*cannot map the payload at", backend=FromFile
)
FLUSHES_IN_PLACE = Mutant("read-only-buffer", "in read-only memory.*is read-only", backend=FlushesInPlace)
PATCHES_PAYLOAD = Mutant("read-only-buffer", "ended with signal SIG", backend=PatchesPayload)
