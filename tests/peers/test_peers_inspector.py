"""Our ETDump in ExecuTorch's own Inspector, without and with the ETRecord of an export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import etconfig
from etconfig.tracing import RecordingTracer, etdump

# torch and executorch warn when they are imported; the Inspector warns that no tensors were saved
pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

DIGITS = Path(__file__).parents[2] / "tests" / "data" / "digits"
EXECUTES = 3


def record(program: Any, inputs: list[Any], executor: str) -> RecordingTracer:
    """A recording of loading `forward` and executing it three times."""
    tracer = RecordingTracer()
    with (
        etconfig.load_program(program, executor=executor, tracer=tracer) as loaded,
        loaded.load_method("forward", tracer=tracer) as method,
    ):
        for _ in range(EXECUTES):
            method.execute(inputs)
    return tracer


@pytest.fixture(scope="class", params=["numpy", "executorch"])
def executor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def blocks_of(inspector: Any) -> dict[str, Any]:
    return {block.name: block for block in inspector.event_blocks}


class TestWithoutETRecord:
    """The Inspector opens the file and shows what ran."""

    @pytest.fixture(scope="class")
    def tracer(self, executor: str) -> RecordingTracer:
        return record(DIGITS / "digits.pte", [np.load(DIGITS / "digits.npz")["images"][:1]], executor)

    @pytest.fixture(scope="class")
    def blocks(self, tracer: RecordingTracer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
        from executorch.devtools import Inspector

        path = tmp_path_factory.mktemp("etdump") / "digits.etdp"
        path.write_bytes(etdump(tracer))
        return blocks_of(Inspector(etdump_path=str(path)))

    def test_the_executes_are_one_block_with_a_time_each(
        self, tracer: RecordingTracer, blocks: dict[str, Any]
    ) -> None:
        assert set(blocks) == {"Default", "Execute"}
        last = {(event.name, event.instruction): event for event in tracer.events}[("aten::mul.out", 0)]
        (mul,) = [event for event in blocks["Execute"].events if event.name == "aten::mul.out"]
        assert len(mul.perf_data.raw) == EXECUTES
        assert mul.perf_data.raw[-1] == pytest.approx(last.duration_ns / 1e6)

    def test_every_instruction_and_the_framework_have_their_events(
        self, blocks: dict[str, Any], executor: str
    ) -> None:
        own = [(e.name, e._instruction_id) for e in blocks["Execute"].events if not e.is_delegated_op]
        assert own == [
            ("aten::mul.out", 0),
            ("aten::sub.out", 1),
            ("DELEGATE_CALL", 2),
            ("DELEGATE_CALL", 3),
            ("aten::_softmax.out", 4),
            ("Method::execute", -1),
        ]
        loading = [event.name for event in blocks["Default"].events]
        own_phase = {"numpy": "bind instructions", "executorch": "Method::init"}[executor]
        assert {"read file", "verify tables", "verify forward", own_phase} <= set(loading)
        assert loading[-1] == "Program::load_method"

    def test_spans_of_backends_are_delegated_events(self, blocks: dict[str, Any]) -> None:
        delegated = [event for event in blocks["Execute"].events if event.is_delegated_op]
        found = {(event._instruction_id, event.delegate_debug_identifier) for event in delegated}
        operations = {(2, index) for index in range(5)} | {(3, index) for index in range(4)}
        assert found == operations | {(2, "npu core 0")}
        (first,) = [e for e in delegated if (e._instruction_id, e.delegate_debug_identifier) == (2, 0)]
        assert [bytes(metadata) for metadata in first.raw_delegate_debug_metadatas] == [b"conv2d"] * EXECUTES


class TestWithETRecord:
    """The Inspector maps events to the operators of the exported model."""

    def test_kernels_and_delegated_operations_are_found(self, tmp_path: Path, executor: str) -> None:
        import torch
        from etconfig_reference.aot import ReferencePartitioner
        from executorch.devtools import Inspector
        from executorch.exir import to_edge_transform_and_lower

        class Model(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return torch.sigmoid(self.inner(x * 2))

        exported = torch.export.export(Model().eval(), (torch.ones(1, 4),))
        partitioner = ReferencePartitioner({"inner": "ReferenceCpuBackend"})
        lowered = to_edge_transform_and_lower(exported, partitioner=[partitioner], generate_etrecord=True)
        program = lowered.to_executorch()
        tracer = record(program.buffer, [np.ones((1, 4), np.float32)], executor)
        record_path = str(tmp_path / "etrecord.bin")
        program.get_etrecord().save(record_path)  # the Inspector looks for the keys that a file has
        inspector = Inspector(etdump_data=etdump(tracer), etrecord=record_path)
        events = blocks_of(inspector)["Execute"].events
        found = {(e.name, e.delegate_backend_name): (e.op_types, e.debug_handles) for e in events}
        backend, linear, relu = "ReferenceCpuBackend", "aten.linear.default", "aten.relu.default"
        assert found["0", backend] == ([linear], [2])
        assert found["1", backend] == ([relu], [3])
        assert found["DELEGATE_CALL", backend] == ([linear, relu], [2, 3])
        assert found["aten::sigmoid.out", None] == (["aten.sigmoid.default"], 4)
