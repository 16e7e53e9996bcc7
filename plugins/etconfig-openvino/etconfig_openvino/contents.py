"""The operations and the target of a payload or a file, without OpenVINO: IR, or a blob that it compiled."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Mapping

from etconfig.plugin.v1 import CompileSpecs, Envelope, InvalidPayloadError, PayloadDescription

_ENVELOPE_MAGIC = b"ETAP"
_IR = "openvino ir"
_LENGTH_BYTES = 8
_LAYER = re.compile(rb'<layer [^<>]{0,2000}?\btype="(\w{1,100})"')
_HEAD_BYTES = 512
_BLOB = struct.Struct("<8sIQ")
"""The magic of a blob for CPUs, its format, and the size of the text that says what it needs."""
_BLOB_MAGIC = b"RR_UPCVO"
_MODEL = re.compile(rb"\s*(?:<\?xml[^<>]*>\s*)?<net\b")


def describe(payload: bytes, compile_specs: CompileSpecs) -> PayloadDescription:
    """Return the operations of IR, or the OpenVINO and the instructions that a blob was compiled for.

    Raises:
        InvalidPayloadError: it is damaged, or something else.
        DelegateInvalidCompatibilityError: it is in an envelope of another version.
    """
    if payload.startswith(_ENVELOPE_MAGIC):
        envelope, body = Envelope.read(payload)
        return envelope.describe(_operations(bytes(body[_LENGTH_BYTES:])) if envelope.kind == _IR else {})
    if _MODEL.match(payload[:_HEAD_BYTES]):
        return PayloadDescription(operators=_operations(payload), notes=["IR"])
    if not payload.startswith(_BLOB_MAGIC) or len(payload) < _BLOB.size:
        raise InvalidPayloadError(cause="it is not IR, nor a blob that OpenVINO compiled for a CPU")
    text = payload[_BLOB.size : _BLOB.size + min(_BLOB.unpack_from(payload)[2], _HEAD_BYTES)]
    needs = dict(part.partition("=")[::2] for part in text.decode("utf-8", "replace").split(";"))
    return PayloadDescription(
        target=needs.get("isa"),
        sdk_version=f"openvino {needs['ov']}" if "ov" in needs else None,
        notes=["a blob that OpenVINO compiled; another version or processor refuses it"],
    )


def _operations(xml: bytes) -> Mapping[str, int]:
    return dict(sorted((name.decode(), count) for name, count in Counter(_LAYER.findall(xml)).items()))
