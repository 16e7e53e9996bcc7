"""Descriptions of payloads and files of ONNX Runtime, read without it."""

from __future__ import annotations

import random
from pathlib import Path

import etconfig_onnxruntime
import pytest
from effort import scaled
from etconfig_onnxruntime.contents import describe

import etconfig
from etconfig.plugin.v1 import CompileSpecs, Envelope, InvalidPayloadError, PayloadDescription

GOLDEN = Path(etconfig_onnxruntime.__file__).parent / "golden"


def payload_of(name: str) -> bytes:
    with etconfig.load_program(GOLDEN / f"{name}.pte") as program:
        delegate, *_ = program.program.plan("forward").delegates
        return bytes(program.program.delegate_data(delegate))


def test_a_payload() -> None:
    assert describe(payload_of("mixed_graph"), CompileSpecs()) == PayloadDescription(
        operators={"Add": 1, "CumSum": 1},
        sdk_version="onnxruntime",
        needs=[],
        notes=("onnx", "IR version 10, opset 20 of ai.onnx"),
    )


def test_a_file() -> None:
    model = bytes(Envelope.read(payload_of("linear"))[1])
    found = describe(model, CompileSpecs())
    assert found.operators == {"Gemm": 1}
    assert found.sdk_version == "pytorch 2.13.0+cpu"
    assert found.notes == ["IR version 10, opset 20 of ai.onnx"]


def test_a_file_in_ort_format() -> None:
    assert describe(b"\x20\0\0\0ORTM", CompileSpecs()).notes == [
        "a model in ORT format, whose operators are not read"
    ]


def test_operators_of_other_domains_have_their_domain() -> None:
    def text(number: int, value: bytes) -> bytes:
        return bytes((number << 3 | 2, len(value))) + value

    node = text(4, b"Attention") + text(7, b"com.microsoft")
    opset = text(1, b"com.microsoft") + b"\x10\x01"
    found = describe(b"\x08\x0a" + text(7, text(1, node)) + text(8, opset), CompileSpecs())
    assert found.operators == {"com.microsoft.Attention": 1}
    assert found.notes == ["IR version 10, opset 1 of com.microsoft"]


@pytest.mark.parametrize("data", [b"", b"\x08\x0a", b"\xff" * 10**6, random.Random(0).randbytes(10**6)])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidPayloadError, match="it is damaged, or not a model in ONNX format"):
        describe(data, CompileSpecs())


def test_damage_is_described_or_refused() -> None:
    chance, whole = random.Random(5), bytes(Envelope.read(payload_of("mixed_graph"))[1])
    for _ in range(scaled(500)):
        damaged = bytearray(whole[: chance.choice((len(whole), chance.randrange(len(whole))))])
        for _ in range(chance.randrange(4) if damaged else 0):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            describe(bytes(damaged), CompileSpecs())
        except InvalidPayloadError:
            continue
