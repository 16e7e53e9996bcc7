from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from etconfig.plugin.v1 import CompileSpecs, DelegateInvalidCompatibilityError, InitContext
from etconfig.plugin.v1_c import CBackend, CBackendError

from example_cpp.options import ExampleCppOptions
from example_cpp.payload import FORMAT_VERSION, Graph, Step, encode
from example_cpp.plugin import SPEC, make_backend


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


@pytest.fixture(scope="module")
def backend() -> CBackend:
    backend = make_backend()
    assert isinstance(backend, CBackend)
    return backend


def load(backend: CBackend, payload: bytes) -> Any:
    context = InitContext(
        options=ExampleCppOptions(),
        method_name="forward",
        instance_name=None,
        delegate_index=0,
        named_data={},
        allocator=SimpleNamespace(allocate=lambda size, alignment: np.zeros(size, np.uint8)),
        tracer=None,
    )
    processed = SimpleNamespace(data=memoryview(payload), free=lambda: None)
    return backend.init(context, processed, CompileSpecs())


def refusal(backend: CBackend, payload: bytes) -> str:
    with pytest.raises((CBackendError, DelegateInvalidCompatibilityError)) as caught:
        load(backend, payload)
    return str(caught.value)


class TestLibrary:
    """The library is there, and loads what the ahead-of-time half writes."""

    def test_it_can_run_here(self, backend: CBackend) -> None:
        assert backend.availability().is_available

    def test_it_loads_a_payload_and_reports_its_options(self, backend: CBackend) -> None:
        handle = load(backend, PAYLOAD)
        assert backend.effective_options(handle) == dict(ExampleCppOptions())
        backend.destroy(handle)

    def test_it_has_the_backend_of_the_spec_only(self) -> None:
        availability = CBackend(SPEC.factory.__globals__["LIBRARY"], "OtherBackend").availability()
        assert "only ExampleCppBackend" in str(availability.reason)


class TestRefusals:
    """A payload is read as it was written, or refused with a reason."""

    def test_other_data_is_refused(self, backend: CBackend) -> None:
        assert "begins with" in refusal(backend, b"")
        assert "begins with" in refusal(backend, b"XXXX" + PAYLOAD[4:])

    @pytest.mark.parametrize(
        ("version", "fix"),
        [(FORMAT_VERSION + 1, "update example-cpp"), (0, "export the program again")],
    )
    def test_another_version_is_refused(self, backend: CBackend, version: int, fix: str) -> None:
        message = refusal(backend, PAYLOAD[:4] + version.to_bytes(4, "little") + PAYLOAD[8:])
        assert message.endswith(
            f"format version {version}, this example-cpp reads {FORMAT_VERSION}; {fix}"
        )

    def test_a_truncated_payload_is_refused(self, backend: CBackend) -> None:
        for size in range(len(PAYLOAD)):
            refusal(backend, PAYLOAD[:size])

    def test_a_flipped_bit_is_detected(self, backend: CBackend) -> None:
        for position in range(len(PAYLOAD)):
            damaged = bytearray(PAYLOAD)
            damaged[position] ^= 1
            refusal(backend, bytes(damaged))

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"inputs": (0, 1)}, "1 is not a value, or is already defined"),
            ({"outputs": (4,)}, "value 4 is used before it is computed"),
            ({"steps": (Step("relu", (2,), 3),)}, "value 2 is used before"),
            ({"steps": (Step("add", (0,), 2),)}, "operation 0 does not take 1 inputs"),
            ({"shapes": ((2, 3), (), (3, 2), (2, 3))}, "a step computes [2, 3], not [3, 2]"),
            ({"shapes": ((2, 3), (), (2, 0), (2, 3))}, "a value has a dimension of 0"),
        ],
    )
    def test_an_invalid_graph_is_refused(
        self, backend: CBackend, changed: dict[str, object], message: str
    ) -> None:
        assert message in refusal(backend, encode(make_graph(**changed)))
