"""`Envelope`: the frame around the payload of a delegate, so that no reader takes it for anything else.

Little-endian:

    offset  size  field
         0     4  magic `ETAP`
         4     2  format version of the envelope, 1
         6     2  zero
         8     4  length of the description, D
        12     8  length of everything, from the magic to the last byte
        20    32  SHA-256 of every other byte before the payload, followed by the payload's SHA-256
        52     D  the description: a JSON object, UTF-8
    52 + D     …  zeros up to a multiple of 64, then the payload

The description has the attributes of `Envelope`, without the attributes that have their defaults. Equal
envelopes and payloads give equal bytes. The checksum detects damage, not forgery: verify the payload's
contents still.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from etconfig.aot.engine_range import EngineRange
from etconfig.aot.host_constraints import HostConstraints
from etconfig.base.records import record
from etconfig.errors import DelegateInvalidCompatibilityError, InvalidPayloadError
from etconfig.schema.payload_description import PayloadDescription

MAGIC = b"ETAP"
FORMAT_VERSION = 1
ALIGNMENT_BYTES = 64
"""The payload begins at a multiple of this from the start of the envelope."""

_FIXED = struct.Struct("<4sHHIQ")
_DIGEST_BYTES = 32
_HEAD_BYTES = _FIXED.size + _DIGEST_BYTES
_MAX_DESCRIPTION_BYTES = 1 << 20


@record(frozen=True, kw_only=True)
class Envelope:
    """The description of a payload: its backend, its format, and the devices and engines that it is for.

    Attributes:
        backend: The id of the backend that runs it.
        kind: The format of the payload, such as `onnx` or `shared library`.
        version: The version of that format; raise it when an older reader would misunderstand the bytes.
        engine: The engine and its versions that can run the payload, or None if any can.
        host: The devices that it fits.
        metadata: Texts by name that the backend needs beside the payload.
        sha256: The SHA-256 of the payload in hex; filled in by `read`, and not part of comparisons.

    Raises:
        ValueError: a name is empty, or the version is not from 1 to 65535.
    """

    backend: str
    kind: str
    version: int = 1
    engine: EngineRange | None = None
    host: HostConstraints = HostConstraints()
    metadata: Mapping[str, str] = field(default_factory=dict)
    sha256: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.backend or not self.kind:
            raise ValueError("an envelope needs the backend's id and the kind of its payload")
        if type(self.version) is not int or not 1 <= self.version <= 0xFFFF:
            raise ValueError(f"the version of a payload's format is {self.version!r}; expected 1 to 65535")

    def seal(self, payload: bytes | bytearray | memoryview) -> bytes:
        """Return the bytes of the envelope with a payload in it; equal ones give equal bytes.

        Raises:
            ValueError: the description takes more than 1 MiB.
        """
        import json

        text = json.dumps(self._description(), sort_keys=True, separators=(",", ":")).encode()
        if len(text) > _MAX_DESCRIPTION_BYTES:
            raise ValueError(
                f"the description takes {len(text)} bytes, at most {_MAX_DESCRIPTION_BYTES} are allowed; "
                "put what is long into the payload"
            )
        start = _payload_start(len(text))
        total = start + memoryview(payload).nbytes
        fixed = _FIXED.pack(MAGIC, FORMAT_VERSION, 0, len(text), total)
        padding = bytes(start - _HEAD_BYTES - len(text))
        digest = _digest(fixed, text + padding, _sha256(payload))
        return b"".join((fixed, digest, text, padding, payload))

    @classmethod
    def read(cls, data: bytes | bytearray | memoryview) -> tuple[Envelope, memoryview]:
        """Return the description and the payload, whole and undamaged, of any backend and for any device.

        The payload is a read-only view into `data`.

        Raises:
            DelegateInvalidCompatibilityError: the envelope has another version.
            InvalidPayloadError: the bytes are something else, truncated or damaged.
        """
        import json

        view = memoryview(data).cast("B").toreadonly()
        text_bytes, digest = _checked_head(view)
        text = view[_HEAD_BYTES : _HEAD_BYTES + text_bytes]
        try:
            return _described(json.loads(bytes(text)), digest.hex()), view[_payload_start(text_bytes) :]
        except (ValueError, TypeError, RecursionError) as error:
            raise InvalidPayloadError(cause=f"the payload's description is malformed: {error}") from None

    def check(
        self,
        *,
        backend_id: str,
        kind: str | None = None,
        versions: Sequence[int] = (),
        host: Mapping[str, object] | None = None,
        engine_version: str | None = None,
    ) -> None:
        """Refuse a payload of another backend, format or engine, or for another device.

        Args:
            backend_id: The backend that reads the payload.
            kind: The format that it reads, or None for any.
            versions: The versions of that format that it reads, or none for any.
            host: The device's facts by name, see `HostConstraints.check`. By default this device is detected.
            engine_version: The version of the installed engine, or None if there is nothing to compare.

        Raises:
            DelegateInvalidCompatibilityError: the payload is for something else; the help has the fix.
        """
        if self.backend != backend_id:
            raise DelegateInvalidCompatibilityError(
                cause=f"the payload is for backend {self.backend!r}, and {backend_id!r} was asked to run it",
                help="export the program again with one partitioner for each backend",
            )
        if kind not in (None, self.kind):
            raise DelegateInvalidCompatibilityError(
                cause=f"the payload is of kind {self.kind!r}, {backend_id} reads {kind!r}",
                help="export the program again",
            )
        if versions and self.version not in versions:
            raise DelegateInvalidCompatibilityError(
                cause=f"the payload has version {self.version} of its format, this {backend_id} reads "
                f"{', '.join(map(str, versions))}",
                help="update its plugin" if self.version > max(versions) else "export the program again",
            )
        if self.engine is not None and engine_version is not None:
            self.engine.check(engine_version)
        self.host.check(host)

    def describe(self, operators: Mapping[str, int] | None = None, *notes: str) -> PayloadDescription:
        """Return the description of a payload, as `BackendSpec.describe_payload` does."""
        engine = (
            None if self.engine is None else " ".join(filter(None, (self.engine.name, self.engine.built)))
        )
        needs, texts = self.host.needs(), (self.kind, *notes)
        return PayloadDescription(
            operators=operators or {}, target=self.host.triple, sdk_version=engine, needs=needs, notes=texts
        )

    def _description(self) -> dict[str, Any]:
        engine = None if self.engine is None else _without_defaults(vars(self.engine))
        fields = {
            "backend": self.backend,
            "kind": self.kind,
            "version": self.version,
            "engine": engine,
            "host": _without_defaults(vars(self.host)),
            "metadata": dict(self.metadata),
        }
        return _without_defaults(fields)


def open_envelope(
    data: bytes | bytearray | memoryview,
    *,
    backend_id: str,
    kind: str | None = None,
    versions: Sequence[int] = (),
    host: Mapping[str, object] | None = None,
    engine_version: str | None = None,
) -> memoryview:
    """Return the payload in an envelope, if it is undamaged and this backend and device can run it.

    It is `Envelope.read` and `Envelope.check` in one call, with the arguments of `check`. The payload is a
    read-only view into `data`.

    Example:
        >>> from etconfig.plugin.v1 import Envelope, open_envelope
        >>> sealed = Envelope(backend="AcmeBackend", kind="acme graph").seal(b"payload")
        >>> bytes(open_envelope(sealed, backend_id="AcmeBackend"))
        b'payload'

    Raises:
        DelegateInvalidCompatibilityError: the payload is for something else; the help has the fix.
        InvalidPayloadError: the bytes are something else, truncated or damaged.
    """
    envelope, payload = Envelope.read(data)
    envelope.check(
        backend_id=backend_id, kind=kind, versions=versions, host=host, engine_version=engine_version
    )
    return payload


def _payload_start(text_bytes: int) -> int:
    end = _HEAD_BYTES + text_bytes
    return end + -end % ALIGNMENT_BYTES


def _sha256(payload: bytes | bytearray | memoryview) -> bytes:
    from hashlib import sha256

    return sha256(payload).digest()


def _digest(fixed: bytes | memoryview, text: bytes | memoryview, payload_sha256: bytes) -> bytes:
    return _sha256(b"".join((fixed, text, payload_sha256)))


def _checked_head(view: memoryview) -> tuple[int, bytes]:
    """Verify all but the description's contents; return its length in bytes and the payload's SHA-256."""
    if bytes(view[: len(MAGIC)]) != MAGIC:
        begin = bytes(view[: len(MAGIC)])
        raise InvalidPayloadError(
            cause=f"a payload in an envelope begins with {MAGIC!r}, this one with {begin!r}",
            help="export the program again with this backend's partitioner",
        )
    if len(view) < _HEAD_BYTES:
        raise _truncated(_HEAD_BYTES, len(view))
    _, version, zero, text_bytes, total_bytes = _FIXED.unpack_from(view)
    if version != FORMAT_VERSION:
        raise DelegateInvalidCompatibilityError(
            cause=f"the envelope has format version {version}, this etconfig reads {FORMAT_VERSION}",
            help="update etconfig" if version > FORMAT_VERSION else "export the program again",
        )
    if len(view) < total_bytes:
        raise _truncated(total_bytes, len(view))
    start = _payload_start(text_bytes)
    payload_sha256 = _sha256(view[start:])
    found = _digest(view[: _FIXED.size], view[_HEAD_BYTES:start], payload_sha256)
    if found != view[_FIXED.size : _HEAD_BYTES]:
        raise InvalidPayloadError(
            cause="the payload is damaged: its SHA-256 is not the one that it was sealed with",
            help="copy or export the program again",
        )
    is_whole = zero == 0 and len(view) == total_bytes and start <= total_bytes
    if not is_whole or any(view[_HEAD_BYTES + text_bytes : start]) or text_bytes > _MAX_DESCRIPTION_BYTES:
        raise InvalidPayloadError(cause="the lengths in the payload's envelope contradict each other")
    return int(text_bytes), payload_sha256


def _truncated(needed: int, found: int) -> InvalidPayloadError:
    return InvalidPayloadError(
        cause=f"the payload is truncated: it takes {needed} bytes, and {found} are there",
        help="copy or export the program again",
    )


def _without_defaults(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, (), {})}


def _described(fields: Any, sha256: str) -> Envelope:
    """Return the envelope of a description. Raises ValueError or TypeError if it is not one."""
    fields = _object(fields, {"backend": str, "kind": str, "version": int}, {"engine", "host", "metadata"})
    engine, host = fields.pop("engine", None), fields.pop("host", {})
    metadata = fields.pop("metadata", {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise ValueError("metadata: expected texts by name")
    texts = {"arch", "os", "abi", "triple"}
    host = _object(host, {}, {*texts, "features"})
    features = host.pop("features", [])
    are_texts = isinstance(features, list) and all(isinstance(t, str) for t in [*features, *host.values()])
    if not are_texts:
        raise ValueError("host: expected texts, and a list of texts for features")
    return Envelope(
        **fields,
        engine=None if engine is None else _engine(engine),
        host=HostConstraints(**host, features=tuple(features)),
        metadata=metadata,
        sha256=sha256,
    )


def _engine(fields: Any) -> EngineRange:
    fields = _object(fields, {"name": str}, {"built", "min", "below"})
    if not all(isinstance(text, str) for text in fields.values()):
        raise ValueError("engine: expected texts")
    return EngineRange(**fields)


def _object(value: Any, needed: Mapping[str, type], optional: set[str]) -> dict[str, Any]:
    """Return a copy of a JSON object with these members and no others. Raises ValueError otherwise."""
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, found {type(value).__name__}")
    unknown = sorted(value.keys() - needed.keys() - optional)
    if unknown:
        raise ValueError(f"unknown field {unknown[0]!r}; it may matter, so update etconfig")
    for name, kind in needed.items():
        # bool is a subclass of int, but JSON distinguishes the two
        if type(value.get(name)) is not kind:
            raise ValueError(f"{name}: expected {kind.__name__}, found {value.get(name)!r:.80}")
    return dict(value)
