"""Descriptions of payloads and files of OpenVINO, read without it."""

from __future__ import annotations

import random
from pathlib import Path

import etconfig_openvino
import pytest
from etconfig_openvino.contents import describe

import etconfig
from etconfig.plugin.v1 import CompileSpecs, InvalidPayloadError

BLOB = Path(__file__).parents[3] / "tests" / "data" / "payloads" / "openvino_blob.bin"
GOLDEN = Path(etconfig_openvino.__file__).parent / "golden"


def test_a_blob_says_what_it_was_compiled_for() -> None:
    found = describe(BLOB.read_bytes(), CompileSpecs())
    assert found.sdk_version == "openvino 2026.4.1"
    assert str(found.target).startswith("Intel AVX")
    assert not str(found.target).endswith("0")  # the next field of the blob
    assert found.notes == ["a blob that OpenVINO compiled; another version or processor refuses it"]


def test_a_payload_and_a_file_of_ir() -> None:
    with etconfig.load_program(GOLDEN / "add.pte") as program:
        (delegate,) = program.program.plan("forward").delegates
        payload = bytes(program.program.delegate_data(delegate))
    found = describe(payload, CompileSpecs())
    assert (found.operators["Add"], found.operators["Parameter"]) == (1, 2)
    assert found.sdk_version == "openvino 2026.4.1"
    xml = payload[payload.index(b"<?xml") : payload.index(b"</net>") + 6]
    assert describe(xml, CompileSpecs()).operators == found.operators


@pytest.mark.parametrize("data", [b"", b"RR_UPCVO", b"<net", random.Random(0).randbytes(10**6)])
def test_other_bytes(data: bytes) -> None:
    if data.startswith(b"<net"):
        assert describe(data, CompileSpecs()).operators == {}
        return
    with pytest.raises(InvalidPayloadError, match="it is not IR, nor a blob"):
        describe(data, CompileSpecs())


def test_a_long_file_takes_time_in_proportion() -> None:
    assert describe(b"<net>" + b"<layer " * 10**5, CompileSpecs()).operators == {}
