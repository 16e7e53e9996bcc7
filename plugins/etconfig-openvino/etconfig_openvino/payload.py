"""The payloads of delegates: compiled blobs of ExecuTorch's partitioner, and models in an envelope."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from etconfig.plugin.v1 import (
    DelegateInvalidCompatibilityError,
    Envelope,
    InvalidPayloadError,
)
from etconfig_openvino import engine
from etconfig_openvino.errors import ModelError
from etconfig_openvino.installed import BACKEND_ID, installed_version
from etconfig_openvino.options import OpenvinoOptions

IR, ONNX = "openvino ir", "onnx"
"""The kinds of payload in an envelope."""

VERSION = 1
"""The version of both kinds: IR is the length of the .xml, the .xml and the .bin; ONNX is the file."""

_ENVELOPE_MAGIC = b"ETAP"
_LENGTH = struct.Struct("<Q")
_OTHER_RUNTIME = "built for a different runtime configuration"
_DAMAGED = ("deserialize", "requirements", "Error parsing", "tags mismatch", "Error reading", "not a valid")
_EXPORT_AGAIN = "export the program again, with this version of OpenVINO on this kind of processor"


def load(options: OpenvinoOptions, data: memoryview, core: Any) -> Any:
    """Return the compiled model of a payload.

    A blob of ExecuTorch's partitioner has no checksum: OpenVINO notices damage only where it breaks the
    structure. Payloads in an envelope have one.

    Raises:
        DelegateInvalidCompatibilityError: it is for another OpenVINO, processor or backend.
        InvalidPayloadError: it is damaged, or is not a model.
        ModelError, PropertyError, AdjustedValueError: as `engine.build`.
    """
    if bytes(data[: len(_ENVELOPE_MAGIC)]) == _ENVELOPE_MAGIC:
        return _of_envelope(options, data, core)
    return _explained(lambda: engine.import_blob(options, data, "the payload", core))


def join_ir(xml: bytes, weights: bytes) -> bytes:
    """Return the payload of an OpenVINO IR model."""
    return b"".join((_LENGTH.pack(len(xml)), xml, weights))


def split_ir(payload: memoryview) -> tuple[memoryview, memoryview]:
    """Return the .xml and the .bin of a payload. Raises InvalidPayloadError if it is too short."""
    if len(payload) < _LENGTH.size:
        raise InvalidPayloadError(
            cause="the payload has no length of its .xml", help="export the program again"
        )
    (xml_bytes,) = _LENGTH.unpack_from(payload)
    body = payload[_LENGTH.size :]
    if xml_bytes > len(body):
        raise InvalidPayloadError(
            cause=f"the payload's .xml takes {xml_bytes} bytes, and {len(body)} are there",
            help="export the program again",
        )
    return body[:xml_bytes], body[xml_bytes:]


def _of_envelope(options: OpenvinoOptions, data: memoryview, core: Any) -> Any:
    envelope, payload = Envelope.read(data)
    envelope.check(backend_id=BACKEND_ID, versions=(VERSION,), engine_version=installed_version())
    if envelope.kind == IR:
        xml, weights = split_ir(payload)
        return _explained(lambda: engine.build(options, xml, weights=weights, core=core))
    if envelope.kind == ONNX:
        return _explained(lambda: engine.build(options, payload, core=core))
    raise DelegateInvalidCompatibilityError(
        cause=f"the payload is of kind {envelope.kind!r}; {BACKEND_ID} reads {IR!r} and {ONNX!r}",
        help="update etconfig-openvino, or export the program again",
    )


def _explained(make: Callable[[], Any]) -> Any:
    """Return what `make` returns; its error as one of the payload where OpenVINO blames the payload."""
    try:
        return make()
    except ModelError as error:
        text = str(error.__cause__)
        if _OTHER_RUNTIME in text:
            raise DelegateInvalidCompatibilityError(cause=_runtimes(text), help=_EXPORT_AGAIN) from error
        if any(sign in text for sign in _DAMAGED):
            raise InvalidPayloadError(
                cause=f"OpenVINO cannot read the payload: {error}", help="copy or export the program again"
            ) from error
        raise


def _runtimes(text: str) -> str:
    """Return what a blob is for and what is here, from the lines of OpenVINO's error."""
    found: Mapping[str, str] = {
        name.strip(): value.strip()
        for name, _, value in (line.partition(":") for line in text.splitlines())
        if name.strip() in ("blob", "current")
    }
    if len(found) < 2:
        return "the payload is for another OpenVINO or processor"
    return f"the payload is for {_words(found['blob'])}; this is {_words(found['current'])}"


def _words(requirements: str) -> str:
    """Return `meta=1.0;ov=2026.4.1;isa=Intel AVX-512` as `OpenVINO 2026.4.1 with Intel AVX-512`."""
    fields = dict(part.partition("=")[::2] for part in requirements.split(";"))
    return f"OpenVINO {fields.get('ov', '?')} with {fields.get('isa', 'an unknown processor')}"
