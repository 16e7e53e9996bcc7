from __future__ import annotations

import numpy as np
import pytest
from etconfig.plugin.v1 import DelegateInvalidCompatibilityError

from example_npu.payload import FORMAT_VERSION, Graph, PayloadError, Step, decode, encode


def make_graph(**changed: object) -> Graph:
    """Make relu(x + 1), with x of shape (2, 3)."""
    fields = {
        "shapes": ((2, 3), (), (2, 3), (2, 3)),
        "inputs": (0,),
        "constants": {1: np.array(1, np.float32)},
        "steps": (Step("add", (0, 1), 2), Step("relu", (2,), 3)),
        "outputs": (3,),
    }
    return Graph(**{**fields, **changed})


PAYLOAD = encode(make_graph())


def refusal(payload: bytes) -> str:
    with pytest.raises(PayloadError) as caught:
        decode(memoryview(payload))
    return str(caught.value)


class TestEnvelope:
    """A payload is read as it was written, or refused with a reason."""

    def test_a_payload_is_read_as_it_was_written(self) -> None:
        graph, expected = decode(memoryview(PAYLOAD)), make_graph()
        assert (graph.shapes, graph.inputs, graph.steps, graph.outputs) == (
            expected.shapes,
            expected.inputs,
            expected.steps,
            expected.outputs,
        )
        assert graph.constants[1] == 1

    def test_equal_graphs_give_equal_bytes(self) -> None:
        assert encode(make_graph()) == PAYLOAD

    def test_other_data_is_refused(self) -> None:
        assert "begins with" in refusal(b"")
        assert "begins with" in refusal(b"XXXX" + PAYLOAD[4:])

    @pytest.mark.parametrize(
        ("version", "fix"),
        [(FORMAT_VERSION + 1, "update example-npu"), (0, "export the program again")],
    )
    def test_another_version_is_refused(self, version: int, fix: str) -> None:
        changed = PAYLOAD[:4] + version.to_bytes(4, "little") + PAYLOAD[8:]
        with pytest.raises(DelegateInvalidCompatibilityError) as caught:
            decode(memoryview(changed))
        assert str(caught.value).endswith(
            f"format version {version}, this example-npu reads {FORMAT_VERSION}; {fix}"
        )

    @pytest.mark.parametrize("size", range(4, len(PAYLOAD), 7))
    def test_a_truncated_payload_is_refused(self, size: int) -> None:
        refusal(PAYLOAD[:size])

    @pytest.mark.parametrize("position", range(len(PAYLOAD)))
    def test_a_flipped_bit_is_detected(self, position: int) -> None:
        damaged = bytearray(PAYLOAD)
        damaged[position] ^= 1
        with pytest.raises((PayloadError, DelegateInvalidCompatibilityError)):
            decode(memoryview(bytes(damaged)))


class TestGraph:
    """Each value of a graph is computed once, before it is used, and in its declared shape."""

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"inputs": (0, 1)}, "inputs and constants: 1 is not a value, or is already defined"),
            ({"outputs": (4,)}, "outputs: value 4 is used before it is computed"),
            ({"steps": (Step("relu", (2,), 3),)}, "steps.0.: value 2 is used before"),
            ({"steps": (Step("relu", (0,), 0),)}, "steps.0.: 0 is not a value, or is already"),
            ({"steps": (Step("sqrt", (0,), 2),)}, "steps.0.: there is no operation 'sqrt', only"),
            ({"steps": (Step("add", (0,), 2),)}, "steps.0.: add does not take 1 inputs"),
            ({"shapes": ((2, 3), (), (3, 2), (2, 3))}, "steps.0.: add computes .2, 3., not .3, 2."),
        ],
    )
    def test_an_invalid_graph_is_refused(self, changed: dict[str, object], message: str) -> None:
        with pytest.raises(PayloadError, match=message):
            make_graph(**changed)
