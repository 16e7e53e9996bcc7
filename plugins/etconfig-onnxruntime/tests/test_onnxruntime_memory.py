"""The declared memory of a session, by the operators that use the weights."""

from __future__ import annotations

from pathlib import Path

import pytest
from etconfig_onnxruntime.errors import BACKEND_ID
from etconfig_onnxruntime.memory import session_memory
from etconfig_onnxruntime.model_inputs import argument_bytes, convolution_share, data_files
from etconfig_onnxruntime.options import OnnxRuntimeOptions

from etconfig.plugin.v1 import DelegateFacts, Envelope, InvalidPayloadError


def field(number: int, content: bytes) -> bytes:
    """Return a field of protobuf that has a length, below 16,384 bytes."""
    size = len(content)
    length = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
    return bytes([number << 3 | 2]) + length + content


def number(field_number: int, value: int) -> bytes:
    """Return a field of protobuf that is a number."""
    content = b""
    while value > 127:
        content, value = content + bytes([value & 127 | 128]), value >> 7
    return bytes([field_number << 3]) + content + bytes([value])


def value(name: bytes, element: int, *sizes: int) -> bytes:
    """Return an input or output."""
    dims = b"".join(field(1, number(1, size)) for size in sizes)
    return field(1, name) + field(2, field(1, number(1, element) + field(2, dims)))


def model(*weights: tuple[str, bytes, int], values: bytes = b"") -> bytes:
    """Return a model: an operator for each of the weights, by its name and size."""
    graph = b""
    for index, (operator, inputs, size) in enumerate(weights):
        name = f"w{index}".encode()
        graph += field(1, field(1, inputs) + field(1, name) + field(4, operator.encode()))
        graph += field(5, field(8, name) + field(9, bytes(size)))
    return field(7, graph + values)


def payload(*weights: tuple[str, bytes, int]) -> bytes:
    """Return such a model in an envelope."""
    return Envelope(backend=BACKEND_ID, kind="onnx", version=1).seal(model(*weights))


def test_the_share_of_convolutions_is_read_from_the_model() -> None:
    def share(*weights: tuple[str, bytes, int]) -> float:
        return round(convolution_share(memoryview(model(*weights))), 2)

    assert share(("Conv", b"x", 1000), ("Gemm", b"x", 3000)) == 0.25
    assert share(("ConvTranspose", b"x", 1000)) == 1
    assert share(("MatMul", b"x", 1000)) == 0
    assert share() == 0


def test_what_is_not_a_model_has_none() -> None:
    whole = model(("Conv", b"x", 1000), values=field(11, value(b"x", 1, 3)))
    for data in (b"", b"odd", whole[:-1], whole[:64], b"\xff" * 9):
        view = memoryview(data)
        assert convolution_share(view) == 0
        with pytest.raises(ValueError, match="it is cut off, damaged or not a model in ONNX format"):
            argument_bytes(view)
    for data in (b"", b"odd", Envelope(backend="x", kind="x", version=1).seal(b"\xff" * 9)):
        facts = DelegateFacts(payload_bytes=len(data), read=lambda data=data: memoryview(data))
        assert session_memory(OnnxRuntimeOptions(), facts).held_bytes == 3 * len(data)


def test_arguments_are_read_and_open_sizes_count_as_one() -> None:
    def size(*values: bytes) -> int:
        return argument_bytes(memoryview(model(("Gemm", b"x", 10), values=b"".join(values))))

    assert size(field(11, value(b"x", 1, 3, 4)), field(12, value(b"y", 7, 5))) == 48 + 40
    assert size(field(11, value(b"w0", 1, 3, 4))) == 0, "an initializer that is an input, too"
    assert size(field(11, value(b"x", 10, 2**63, 2**64 - 1, 0, 3))) == 6
    for sizes in ((2**62,), (2**39,) * 200):
        with pytest.raises(ValueError, match="it is cut off, damaged or not a model in ONNX format"):
            size(field(11, value(b"x", 1, *sizes)))
    assert size(field(11, value(b"x", 99))) == 1


def test_a_file_that_is_cut_off_is_refused() -> None:
    facts = DelegateFacts(payload_bytes=3, path="m.onnx", read=lambda: memoryview(b"odd"))
    with pytest.raises(InvalidPayloadError, match="it is cut off, damaged or not a model in ONNX format"):
        session_memory(OnnxRuntimeOptions(), facts)
    ort = DelegateFacts(payload_bytes=3, path="m.ort", read=lambda: memoryview(b"odd"))
    assert not session_memory(OnnxRuntimeOptions(), ort).is_measured


def test_a_file_has_its_weights_beside_it(tmp_path: Path) -> None:
    entries = field(13, field(1, b"location") + field(2, b"w.bin")) + field(13, field(1, b"length"))
    hostile = field(13, field(1, b"location") + field(2, b"../../nowhere"))
    data = field(7, field(5, entries) + field(5, hostile) + field(11, value(b"x", 1, 100)))
    assert data_files(memoryview(data)) == {"w.bin", "../../nowhere"}

    def memory() -> tuple[int, int]:
        facts = DelegateFacts(
            payload_bytes=len(data), path=str(tmp_path / "m.onnx"), read=lambda: memoryview(data)
        )
        found = session_memory(OnnxRuntimeOptions(), facts)
        return found.held_bytes, found.running_bytes

    assert memory() == (int(1.75 * len(data)), 1000)
    (tmp_path / "w.bin").write_bytes(bytes(8000))
    assert memory() == (int(1.75 * (len(data) + 8000)), 1000)


def test_convolutions_take_more_and_the_bytes_of_the_model_stay() -> None:
    def memory(operator: str) -> tuple[int, int]:
        data = memoryview(payload((operator, b"x", 10_000)))
        facts = DelegateFacts(payload_bytes=len(data), argument_bytes=7, read=lambda: data)
        found = session_memory(OnnxRuntimeOptions(), facts)
        assert found.is_measured
        assert not found.keeps_payload
        assert found.running_bytes == 14
        return found.held_bytes, found.loading_bytes

    size = len(payload(("Gemm", b"x", 10_000)))
    assert memory("Gemm") == (3 * size, 0)
    assert memory("Conv") == (4 * size, int(0.25 * size))
