"""The operators and versions of a payload or a file: an ONNX model, or one in ORT format.

Source: onnx/onnx.proto; onnxruntime/core/flatbuffers/schema/ort.fbs.
"""

from __future__ import annotations

from collections import Counter

from etconfig.plugin.v1 import CompileSpecs, Envelope, InvalidPayloadError, PayloadDescription
from etconfig_onnxruntime.model_inputs import every_field, inside

_IR_VERSION, _PRODUCER, _PRODUCER_VERSION, _GRAPH, _OPSETS, _FUNCTIONS = 1, 2, 3, 7, 8, 25
_NODE, _OPERATOR, _DOMAIN, _OPSET_VERSION = 1, 4, 7, 2
_ENVELOPE_MAGIC, _ORT_MAGIC, _ORT_MAGIC_AT = b"ETAP", b"ORTM", 4


def describe(payload: bytes, compile_specs: CompileSpecs) -> PayloadDescription:
    """Return the operators of a model, without those in branches and loops.

    Raises:
        InvalidPayloadError: it is damaged, or not a model.
        DelegateInvalidCompatibilityError: it is in an envelope of another version.
    """
    if payload.startswith(_ENVELOPE_MAGIC):
        envelope, model = Envelope.read(payload)
        operators, notes, _ = _read(model)
        return envelope.describe(operators, *notes)
    if payload[_ORT_MAGIC_AT : _ORT_MAGIC_AT + len(_ORT_MAGIC)] == _ORT_MAGIC:
        return PayloadDescription(notes=["a model in ORT format, whose operators are not read"])
    operators, notes, producer = _read(memoryview(payload))
    return PayloadDescription(operators=operators, sdk_version=producer or None, notes=notes)


def _read(model: memoryview) -> tuple[dict[str, int], list[str], str]:
    """Return the operators, a line about versions, and what wrote the model."""
    try:
        fields = [*every_field(model)]
        version = next((value for field, value in fields if field == _IR_VERSION), 0)
        if not isinstance(version, int) or not version or not any(field == _GRAPH for field, _ in fields):
            raise ValueError("it has no version or no graph")
        texts = {
            field: bytes(value).decode()
            for field, value in fields
            if field in (_PRODUCER, _PRODUCER_VERSION) and not isinstance(value, int)
        }
        operators = Counter(_operator(node) for node in inside(model, (_GRAPH, _NODE)))
        opsets = [_opset(each) for each in inside(model, (_OPSETS,))]
        functions = sum(1 for _ in inside(model, (_FUNCTIONS,)))
    except (ValueError, IndexError, TypeError) as error:
        raise InvalidPayloadError(cause="it is damaged, or not a model in ONNX format") from error
    notes = [f"IR version {version}, opset {', '.join(opsets) or 'of no version'}"]
    notes += [f"{functions} functions of the model's own"] if functions else []
    producer = " ".join(filter(None, (texts.get(_PRODUCER, ""), texts.get(_PRODUCER_VERSION, ""))))
    return dict(sorted(operators.items())), notes, producer


def _operator(node: memoryview) -> str:
    texts = {
        field: bytes(value).decode()
        for field, value in every_field(node)
        if field in (_OPERATOR, _DOMAIN) and not isinstance(value, int)
    }
    domain = texts.get(_DOMAIN, "")
    name = texts.get(_OPERATOR, "")
    return name if domain in ("", "ai.onnx") else f"{domain}.{name}"


def _opset(entry: memoryview) -> str:
    fields = dict(every_field(entry))
    domain = fields.get(1, b"")
    name = "" if isinstance(domain, int) else bytes(domain).decode()
    return f"{fields.get(_OPSET_VERSION, 0)!s} of {name or 'ai.onnx'}"
