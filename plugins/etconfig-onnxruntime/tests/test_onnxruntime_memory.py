"""The declared memory of a session, by the operators that use the weights."""

from __future__ import annotations

from etconfig_onnxruntime.errors import BACKEND_ID
from etconfig_onnxruntime.memory import session_memory
from etconfig_onnxruntime.model_inputs import convolution_share
from etconfig_onnxruntime.options import OnnxRuntimeOptions

from etconfig.plugin.v1 import DelegateFacts, Envelope


def field(number: int, content: bytes) -> bytes:
    """Return a field of protobuf that has a length, below 16,384 bytes."""
    size = len(content)
    length = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
    return bytes([number << 3 | 2]) + length + content


def payload(*weights: tuple[str, bytes, int]) -> bytes:
    """Return a model in an envelope: an operator for each of the weights, by its name and size."""
    graph = b""
    for index, (operator, inputs, size) in enumerate(weights):
        name = f"w{index}".encode()
        graph += field(1, field(1, inputs) + field(1, name) + field(4, operator.encode()))
        graph += field(5, field(8, name) + field(9, bytes(size)))
    return Envelope(backend=BACKEND_ID, kind="onnx", version=1).seal(field(7, graph))


def test_the_share_of_convolutions_is_read_from_the_model() -> None:
    def share(*weights: tuple[str, bytes, int]) -> float:
        return round(convolution_share(memoryview(payload(*weights))), 2)

    assert share(("Conv", b"x", 1000), ("Gemm", b"x", 3000)) == 0.25
    assert share(("ConvTranspose", b"x", 1000)) == 1
    assert share(("MatMul", b"x", 1000)) == 0
    assert share() == 0


def test_what_is_not_a_model_has_none() -> None:
    whole = payload(("Conv", b"x", 1000))
    for data in (
        b"",
        b"odd",
        whole[:-1],
        whole[:64],
        Envelope(backend="x", kind="x", version=1).seal(b"\xff" * 9),
    ):
        assert convolution_share(memoryview(data)) == 0


def test_convolutions_take_more_and_the_bytes_of_the_model_stay() -> None:
    def memory(operator: str) -> tuple[int, int]:
        data = memoryview(payload((operator, b"x", 10_000)))
        facts = DelegateFacts(payload_bytes=len(data), argument_bytes=7, read=lambda: data)
        found = session_memory(OnnxRuntimeOptions(), facts)
        assert found.is_measured
        assert not found.keeps_payload
        return found.held_bytes - 14, found.loading_bytes

    size = len(payload(("Gemm", b"x", 10_000)))
    assert memory("Gemm") == (3 * size, 0)
    assert memory("Conv") == (size + int(3.25 * size), int(0.25 * size))
