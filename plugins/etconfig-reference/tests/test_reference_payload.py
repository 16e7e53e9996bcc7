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
    MissingDataError,
    NotAPayloadError,
    PayloadError,
    TruncatedPayloadError,
)
from etconfig_reference.graph import DTYPES, Graph, ValueType
from etconfig_reference.payload import decode_graph, encode_graph

from etconfig.plugin.v1 import DelegateInvalidCompatibilityError


def decode(payload: bytes) -> Graph:
    return decode_graph(memoryview(payload))


def seal(payload: bytes) -> bytes:
    """Return the payload with the right length and checksum."""
    fixed = payload[:12] + struct.pack("<Q", len(payload))
    checksum = zlib.crc32(payload[24:], zlib.crc32(fixed))
    return fixed + struct.pack("<I", checksum) + payload[24:]


def rewrite(payload: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """Return the payload after `change` has edited its JSON object in place."""
    (length,) = struct.unpack_from("<I", payload, 8)
    header = json.loads(payload[24 : 24 + length])
    change(header)
    return replace_text(payload, json.dumps(header).encode())


def replace_text(payload: bytes, text: bytes) -> bytes:
    (length,) = struct.unpack_from("<I", payload, 8)
    constants = payload[24 + length + -(24 + length) % 64 :]
    padding = bytes(-(24 + len(text)) % 64)
    return seal(payload[:8] + struct.pack("<I", len(text)) + payload[12:24] + text + padding + constants)


def value_with(**changes: object) -> Callable[[dict[str, Any]], object]:
    """Return an edit of the first value."""
    return lambda header: header["values"][0].update(changes)


KNOWN = ", ".join(DTYPES)


@pytest.fixture
def payload(small_graph: Graph) -> bytes:
    return encode_graph(small_graph)


class TestRoundTrip:
    """Decoding returns the graph that was encoded."""

    def test_the_graph_is_the_same(self, small_graph: Graph, payload: bytes) -> None:
        decoded = decode(payload)
        assert decoded.values == small_graph.values
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
            values=(ValueType(shape=()),),
            inputs=(),
            outputs=(0,),
            constants={0: np.float32(2.5).reshape(())},
            operations=(),
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


class TestNamedData:
    """Constants may be in the named data of the program, under the hash of their bytes."""

    @pytest.fixture
    def stored(self, small_graph: Graph) -> tuple[bytes, dict[str, bytes]]:
        data: dict[str, bytes] = {}
        return encode_graph(small_graph, data.__setitem__), data

    def test_the_constants_are_views_of_the_named_data(
        self, small_graph: Graph, stored: tuple[bytes, dict[str, bytes]]
    ) -> None:
        payload, data = stored
        graph = decode_graph(memoryview(payload), {key: memoryview(each) for key, each in data.items()})
        for value, constant in small_graph.constants.items():
            np.testing.assert_array_equal(graph.constants[value], constant)
            assert any(
                np.shares_memory(graph.constants[value], np.frombuffer(each, np.uint8))
                for each in data.values()
            )

    def test_equal_constants_have_one_key(self, small_graph: Graph) -> None:
        keys: list[str] = []
        for _ in range(2):
            encode_graph(small_graph, lambda key, data: keys.append(key))
        assert len(keys) == 4
        assert len(set(keys)) == 2

    def test_missing_data_are_named(self, stored: tuple[bytes, dict[str, bytes]]) -> None:
        with pytest.raises(MissingDataError) as caught:
            decode(stored[0])
        (key, *_) = stored[1]
        assert str(caught.value) == (
            f"constants[0]: the program has no data {key!r}; "
            "load it together with the .ptd file of its export"
        )

    @pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: bytes(len(data))])
    def test_data_of_another_export_are_refused(
        self, stored: tuple[bytes, dict[str, bytes]], change: Callable[[bytes], bytes]
    ) -> None:
        payload, data = stored
        (key, *_) = data
        with pytest.raises(DamagedPayloadError) as caught:
            decode_graph(memoryview(payload), {each: memoryview(change(data[each])) for each in data})
        assert str(caught.value) == (
            f"constants[0]: the data {key!r} are not those of the export; copy them again"
        )


class TestVersions:
    """A payload of the first version is read as one of float32 and fixed shapes."""

    def test_the_first_version_is_read(self, small_graph: Graph, payload: bytes) -> None:
        def as_version_1(header: dict[str, Any]) -> None:
            header["shapes"] = [value["shape"] for value in header.pop("values")]

        older = rewrite(payload, as_version_1)
        assert decode(seal(older[:4] + b"\1\0" + older[6:])).values == small_graph.values

    def test_a_list_of_shapes_must_be_there(self, payload: bytes) -> None:
        with pytest.raises(InvalidGraphError, match=r"^shapes must be a list, not NoneType$"):
            decode(seal(payload[:4] + b"\1\0" + payload[6:]))


class TestEnvelope:
    """A payload that is damaged, truncated, foreign or of another version is refused with a clear message."""

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
        with pytest.raises(DelegateInvalidCompatibilityError) as caught:
            decode(payload[:4] + b"\7\0" + payload[6:])
        assert str(caught.value) == (
            "the payload has format version 7, this etconfig-reference reads versions 1 to 2; update it"
        )

    def test_an_older_version(self, payload: bytes) -> None:
        with pytest.raises(
            DelegateInvalidCompatibilityError, match=r"version 0, .* export the program again$"
        ):
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

    def test_bytes_after_the_end(self, payload: bytes) -> None:
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
                with pytest.raises((PayloadError, DelegateInvalidCompatibilityError)):
                    decode(bytes(damaged))

    def test_no_cut_goes_unnoticed(self, payload: bytes) -> None:
        for length in range(len(payload)):
            with pytest.raises(PayloadError):
                decode(payload[:length])


class TestStructure:
    """An intact payload with wrong contents is refused; the message names the place."""

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda h: h.pop("values"), "values must be a list, not NoneType"),
            (lambda h: h.update(operations={}), "operations must be a list, not dict"),
            (lambda h: h["values"].append(7), f"values[5] must be an object with a dtype of {KNOWN}"),
            (
                lambda h: h["values"].append({"dtype": ["int8"]}),
                f"values[5] must be an object with a dtype of {KNOWN}",
            ),
            (value_with(shape=[2, -1]), "values[0].shape is none this plugin computes: (2, -1)"),
            (value_with(shape=[1] * 9), f"values[0].shape is none this plugin computes: {(1,) * 9}"),
            (value_with(shape=[1 << 39]), f"values[0].shape is none this plugin computes: ({1 << 39},)"),
            (value_with(shape=[0, 1 << 39]), f"values[0].shape is none this plugin computes: (0, {1 << 39})"),
            (value_with(shape=[2, True]), "values[0].shape must be a list of integers"),
            (value_with(shape=[2.0]), "values[0].shape must be a list of integers"),
            (value_with(shape="23"), "values[0].shape must be a list of integers"),
            (value_with(dynamic=None), "values[0].dynamic must be a list of integers"),
            (value_with(dynamic=[2]), "values[0].dynamic: [2] are not dimensions of (2, 3)"),
            (lambda h: h["inputs"].append(5), "inputs: there is no value 5, only 0 to 4"),
            (lambda h: h["outputs"].append(-1), "outputs: there is no value -1, only 0 to 4"),
            (
                lambda h: h.update(constants=[[0]]),
                "constants[0] must be a value and an offset or key, not [0]",
            ),
            (
                lambda h: h.update(constants=[[0, 1.5]]),
                "constants[0] must be a value and an offset or key, not [0, 1.5]",
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
    def test_a_text_that_is_not_json_is_refused(self, payload: bytes, text: bytes) -> None:
        with pytest.raises(InvalidGraphError, match=r"^the graph is not JSON: "):
            decode(replace_text(payload, text))

    def test_a_list_is_not_a_graph(self, payload: bytes) -> None:
        with pytest.raises(InvalidGraphError, match=r"^the graph must be a JSON object, not list$"):
            decode(replace_text(payload, b"[]"))
