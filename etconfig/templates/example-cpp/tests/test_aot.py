from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the ahead-of-time half needs torch and executorch")
exir = pytest.importorskip("executorch.exir", reason="the ahead-of-time half needs executorch")


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
    from example_cpp.aot import example_cpp_partitioner

    exported = torch.export.export(Model(), (torch.ones(2, 4), torch.ones(3)))
    return exir.to_edge_transform_and_lower(exported, partitioner=[example_cpp_partitioner()])


class TestExport:
    """A model that the library can compute becomes one delegate."""

    def test_the_model_consists_of_one_delegate(self, lowered: Any) -> None:
        nodes = lowered.exported_program().graph.nodes
        calls = [str(node.target) for node in nodes if node.op == "call_function"]
        assert calls == ["executorch_call_delegate", "<built-in function getitem>"]

    def test_the_delegate_is_for_this_backend(self, lowered: Any) -> None:
        delegate = lowered.exported_program().graph_module.lowered_module_0
        assert delegate.backend_id == "ExampleCppBackend"
        assert delegate.processed_bytes.startswith(b"ECPP")
