from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from etconfig_reference.errors import (
    DamagedPayloadError,
    InvalidGraphError,
    NotAPayloadError,
    PayloadError,
    PayloadVersionError,
    TruncatedPayloadError,
)
from etconfig_reference.graph import Graph
from etconfig_reference.payload import decode_graph, encode_graph


def decode(payload: bytes) -> Graph:
    return decode_graph(memoryview(payload))


def seal(payload: bytes) -> bytes:
    """The payload with a length and a checksum that fit it."""
    fixed = payload[:12] + struct.pack("<Q", len(payload))
    checksum = zlib.crc32(payload[24:], zlib.crc32(fixed))
    return fixed + struct.pack("<I", checksum) + payload[24:]


def rewrite(payload: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The payload after `change` has edited its JSON object in place."""
    (length,) = struct.unpack_from("<I", payload, 8)
    header = json.loads(payload[24 : 24 + length])
    change(header)
    return replace_text(payload, json.dumps(header).encode())


def replace_text(payload: bytes, text: bytes) -> bytes:
    (length,) = struct.unpack_from("<I", payload, 8)
    constants = payload[24 + length + -(24 + length) % 64 :]
    padding = bytes(-(24 + len(text)) % 64)
    return seal(payload[:8] + struct.pack("<I", len(text)) + payload[12:24] + text + padding + constants)


@pytest.fixture
def payload(small_graph: Graph) -> bytes:
    return encode_graph(small_graph)


class TestRoundTrip:
    """What is decoded is what was encoded."""

    def test_the_graph_is_the_same(self, small_graph: Graph, payload: bytes) -> None:
        decoded = decode(payload)
        assert decoded.shapes == small_graph.shapes
        assert decoded.inputs == small_graph.inputs
        assert decoded.outputs == small_graph.outputs
        assert decoded.operations == small_graph.operations
        assert decoded.constants.keys() == small_graph.constants.keys()
        for value, constant in small_graph.constants.items():
            np.testing.assert_array_equal(decoded.constants[value], constant)

    def test_attributes_survive(self, conv_graph: Graph) -> None:
        assert decode(encode_graph(conv_graph)).operations == conv_graph.operations

    def test_a_scalar_constant_and_a_graph_without_operations_survive(self) -> None:
        graph = Graph(
            shapes=((),), inputs=(), outputs=(0,), constants={0: np.float32(2.5).reshape(())}, operations=()
        )
        assert decode(encode_graph(graph)).constants[0] == 2.5

    def test_equal_graphs_give_equal_bytes(self, small_graph: Graph, payload: bytes) -> None:
        assert encode_graph(small_graph) == payload

    def test_constants_are_aligned_read_only_views_of_the_payload(self, payload: bytes) -> None:
        whole = np.frombuffer(payload, np.uint8)
        for constant in decode(payload).constants.values():
            assert np.shares_memory(constant, whole)
            assert not constant.flags.writeable
            offset = constant.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
            assert offset % 64 == 0

    def test_the_views_stay_read_only_when_the_payload_can_be_written(self, payload: bytes) -> None:
        decoded = decode_graph(memoryview(bytearray(payload)))
        assert not any(constant.flags.writeable for constant in decoded.constants.values())


class TestEnvelope:
    """A payload that is damaged, cut, foreign or of another version is refused with a clear text."""

    def test_another_magic(self, payload: bytes) -> None:
        with pytest.raises(NotAPayloadError) as caught:
            decode(b"ABCD" + payload[4:])
        assert str(caught.value) == (
            "a payload begins with b'ETRF', this one with b'ABCD'; it was not made by etconfig-reference"
        )

    def test_an_empty_payload(self) -> None:
        with pytest.raises(NotAPayloadError, match="this one with b''"):
            decode(b"")

    def test_a_newer_version(self, payload: bytes) -> None:
        with pytest.raises(PayloadVersionError) as caught:
            decode(payload[:4] + b"\7\0" + payload[6:])
        assert str(caught.value) == (
            "the payload has format version 7, this etconfig-reference reads version 1; update it"
        )

    def test_an_older_version(self, payload: bytes) -> None:
        with pytest.raises(PayloadVersionError, match=r"version 0, .* export the program again$"):
            decode(payload[:4] + b"\0\0" + payload[6:])

    def test_a_cut_header(self, payload: bytes) -> None:
        with pytest.raises(TruncatedPayloadError) as caught:
            decode(payload[:20])
        assert str(caught.value) == "the header takes 24 bytes, but only 20 are there"

    def test_cut_constants(self, payload: bytes) -> None:
        with pytest.raises(TruncatedPayloadError) as caught:
            decode(payload[:-1])
        expected = f"the payload takes {len(payload)} bytes, but only {len(payload) - 1} are there"
        assert str(caught.value) == expected

    def test_a_wrong_checksum(self, payload: bytes) -> None:
        stored = struct.unpack_from("<I", payload, 20)[0]
        damaged = payload[:-1] + bytes([payload[-1] ^ 1])
        found = zlib.crc32(damaged[24:], zlib.crc32(damaged[:20]))
        with pytest.raises(DamagedPayloadError) as caught:
            decode(damaged)
        assert str(caught.value) == (
            f"the payload's checksum is {found:#010x}, expected {stored:#010x}; export or copy it again"
        )

    def test_bytes_behind_the_end(self, payload: bytes) -> None:
        with pytest.raises(InvalidGraphError, match="lengths in the payload's header contradict each other"):
            decode(payload + b"\0")

    def test_a_json_text_longer_than_the_payload(self, payload: bytes) -> None:
        with pytest.raises(InvalidGraphError, match="lengths in the payload's header contradict each other"):
            decode(seal(payload[:8] + struct.pack("<I", len(payload)) + payload[12:]))

    def test_no_flipped_bit_goes_unnoticed(self, payload: bytes) -> None:
        for position in range(len(payload)):
            for bit in range(8):
                damaged = bytearray(payload)
                damaged[position] ^= 1 << bit
                with pytest.raises(PayloadError):
                    decode(bytes(damaged))

    def test_no_cut_goes_unnoticed(self, payload: bytes) -> None:
        for length in range(len(payload)):
            with pytest.raises(PayloadError):
                decode(payload[:length])


class TestStructure:
    """An intact payload whose contents are wrong is refused; the message names the place."""

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda h: h.pop("shapes"), "shapes must be a list, not NoneType"),
            (lambda h: h.update(operations={}), "operations must be a list, not dict"),
            (lambda h: h["shapes"].append([2, -1]), r"shapes[5] is no shape this plugin computes: (2, -1)"),
            (lambda h: h["shapes"].append([0]), r"shapes[5] is no shape this plugin computes: (0,)"),
            (
                lambda h: h["shapes"].append([1] * 9),
                f"shapes[5] is no shape this plugin computes: {(1,) * 9}",
            ),
            (
                lambda h: h["shapes"].append([1 << 39]),
                f"shapes[5] is no shape this plugin computes: ({1 << 39},)",
            ),
            (lambda h: h["shapes"].append([2, True]), "shapes[5] must be a list of integers"),
            (lambda h: h["shapes"].append([2.0]), "shapes[5] must be a list of integers"),
            (lambda h: h["shapes"].append("23"), "shapes[5] must be a list of integers"),
            (lambda h: h["inputs"].append(5), "inputs: there is no value 5, only 0 to 4"),
            (lambda h: h["outputs"].append(-1), "outputs: there is no value -1, only 0 to 4"),
            (
                lambda h: h.update(constants=[[0]]),
                "constants[0] must be a value and an offset, not 1 numbers",
            ),
            (lambda h: h.update(constants=[[9, 0]]), "constants[0]: there is no value 9, only 0 to 4"),
            (lambda h: h.update(constants=[[0, 0], [0, 0]]), "constants[1]: value 0 has data already"),
            (
                lambda h: h.update(constants=[[0, 64]]),
                "constants[0]: 24 bytes at 64 lie outside of the 72 bytes of constants",
            ),
            (
                lambda h: h.update(constants=[[1, -4]]),
                "constants[0]: 8 bytes at -4 lie outside of the 72 bytes of constants",
            ),
            (lambda h: h["operations"].append(3), "operations[2] must be an object with a name"),
            (lambda h: h["operations"][0].pop("name"), "operations[0] must be an object with a name"),
            (
                lambda h: h["operations"][1].update(attributes=[]),
                "operations[1].attributes must be an object",
            ),
            (
                lambda h: h["operations"][1].update(attributes={"dim": 1}),
                "operations[1].attributes.dim must be a list of integers",
            ),
            (
                lambda h: h["operations"][1].update(inputs=[7]),
                "operations[1].inputs: there is no value 7, only 0 to 4",
            ),
            (
                lambda h: h["operations"][1].pop("output"),
                "operations[1].output: there is no value None, only 0 to 4",
            ),
        ],
    )
    def test_each_contradiction_is_named(
        self, payload: bytes, change: Callable[[dict[str, Any]], object], message: str
    ) -> None:
        with pytest.raises(InvalidGraphError) as caught:
            decode(rewrite(payload, change))
        assert str(caught.value) == message

    @pytest.mark.parametrize("text", [b"{", b"\xff", b"[" * 100_000, b"[" + b"1" * 5000 + b"]"])
    def test_what_is_no_json_is_refused(self, payload: bytes, text: bytes) -> None:
        with pytest.raises(InvalidGraphError, match=r"^the graph is no JSON text: "):
            decode(replace_text(payload, text))

    def test_a_list_is_no_graph(self, payload: bytes) -> None:
        with pytest.raises(InvalidGraphError, match=r"^the graph must be a JSON object, not list$"):
            decode(replace_text(payload, b"[]"))
