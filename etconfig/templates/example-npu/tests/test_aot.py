"""The ahead-of-time half; skipped if executorch is not installed."""

from __future__ import annotations

from typing import Any

import pytest

from example_npu.payload import decode

torch = pytest.importorskip("torch")
exir = pytest.importorskip("executorch.exir")
pytestmark = pytest.mark.filterwarnings("ignore")  # torch and executorch warn about their own code


class Model(torch.nn.Module):
    """Two linear layers that can be delegated completely."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)
        )

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.layers(x) * 2.0 + y


@pytest.fixture(scope="module")
def lowered() -> Any:
    from example_npu.aot import example_npu_partitioner

    exported = torch.export.export(Model(), (torch.ones(2, 4), torch.ones(3)))
    return exir.to_edge_transform_and_lower(exported, partitioner=[example_npu_partitioner()])


class TestExport:
    """A model that the device can compute becomes one delegate."""

    def test_the_model_consists_of_one_delegate(self, lowered: Any) -> None:
        nodes = lowered.exported_program().graph.nodes
        calls = [str(node.target) for node in nodes if node.op == "call_function"]
        assert calls == ["executorch_call_delegate", "<built-in function getitem>"]

    def test_the_payload_contains_the_model(self, lowered: Any) -> None:
        delegate = lowered.exported_program().graph_module.lowered_module_0
        assert delegate.backend_id == "ExampleNpuBackend"
        graph = decode(memoryview(delegate.processed_bytes))
        assert [step.name for step in graph.steps] == ["linear", "relu", "linear", "mul", "add"]
