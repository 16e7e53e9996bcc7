"""The declared memory of a compiled model, by its operations, weights, inputs and outputs."""

from __future__ import annotations

from pathlib import Path

import pytest
from etconfig_openvino.memory import model_memory

from etconfig.plugin.v1 import DelegateFacts, DelegateMemory, InvalidPayloadError

ENGINE = 12 << 20
PORT = b'<port id="0" precision="%s"><dim>%s</dim><dim>5</dim></port></input>'


def network(shape: bytes, precision: bytes = b"FP32", size: bytes = b"2") -> bytes:
    """Return a model with one input and one output."""
    return (
        b'<layer id="0" name="x" type="Parameter" version="opset1">\n <data shape="%s" element_type="f32" />'
        b'</layer><layer id="1" type="Result" version="opset1"><input>' % shape
    ) + PORT % (precision, size)


def memory_of(data: bytes, path: Path | None = None) -> DelegateMemory:
    facts = DelegateFacts(
        payload_bytes=len(data),
        argument_bytes=1000 if path is None else 0,
        path=None if path is None else str(path),
        read=lambda: memoryview(data),
    )
    return model_memory(facts)


def test_a_delegate_has_its_weights_twice_and_code() -> None:
    data = network(b"3,4")
    found = memory_of(data)
    assert (found.held_bytes, found.running_bytes) == (2 * len(data) + 2 * (14 << 10), 1500)
    assert (found.loading_bytes, found.workspace_bytes) == (ENGINE, ENGINE)
    assert found.is_measured


def test_a_file_has_them_beside_it(tmp_path: Path) -> None:
    path, data = tmp_path / "m.xml", network(b"3,4") + b"</net>\n"
    (tmp_path / "m.bin").write_bytes(bytes(7000))
    found = memory_of(data, path)
    assert (found.held_bytes, found.running_bytes) == (14_000 + 2 * (44 << 10), int(3.5 * (48 + 40)))
    scalar = network(b"") + b"</net>"
    assert memory_of(scalar, path).running_bytes == int(3.5 * (4 + 40))
    for odd in (network(b",".join([b"9" * 12] * 9)), network(b"1", b"FP32", b"9" * 12)):
        with pytest.raises(InvalidPayloadError, match="its inputs and outputs are too large"):
            memory_of(odd.replace(b"<dim>5<", b"<dim>999999<") + b"</net>", path)
    with pytest.raises(InvalidPayloadError, match="it is cut off, or not a model in OpenVINO's format"):
        memory_of(data[:-9], path)
    (tmp_path / "m.bin").unlink()
    with pytest.raises(InvalidPayloadError, match=r"its weights are missing: m\.bin"):
        memory_of(data, path)


def test_of_an_onnx_file_little_is_known(tmp_path: Path) -> None:
    found = memory_of(b"\x08\x07" * 50, tmp_path / "m.onnx")
    assert (found.held_bytes, found.running_bytes, found.is_measured) == (200, 0, False)
