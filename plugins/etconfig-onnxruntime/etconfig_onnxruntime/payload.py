"""The payload of a delegate: an ONNX model in an envelope."""

from __future__ import annotations

from etconfig.plugin.v1 import open_envelope
from etconfig_onnxruntime.errors import BACKEND_ID

PAYLOAD_KIND = "onnx"
PAYLOAD_VERSION = 1


def open_payload(data: memoryview, engine_version: str) -> bytes:
    """Return the ONNX model in a payload.

    ONNX Runtime itself runs some models with a damaged bit and gives wrong answers, so the envelope's
    checksum is compared first.

    Raises:
        DelegateInvalidCompatibilityError: it is for another backend, version or engine.
        InvalidPayloadError: it is damaged or something else.
    """
    model = open_envelope(
        data,
        backend_id=BACKEND_ID,
        kind=PAYLOAD_KIND,
        versions=(PAYLOAD_VERSION,),
        engine_version=engine_version,
    )
    return bytes(model)
