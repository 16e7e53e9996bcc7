"""Fresh exports with unbounded sizes and with named buffers run as on ExecuTorch."""

from __future__ import annotations

import numpy as np
import pytest

import etconfig

# torch and executorch warn when they are imported
pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]


class TestExports:
    """Programs that are exported here, since they depend on the installed release."""

    def test_a_reshape_of_as_many_elements_as_planned_runs(self) -> None:
        import torch
        from executorch.exir import to_edge_transform_and_lower
        from executorch.runtime import Runtime

        class Folding(torch.nn.Module):
            def forward(self, x: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
                return x.reshape(-1, row.shape[0]).exp()

        sizes = ({0: torch.export.Dim.DYNAMIC}, {0: torch.export.Dim.DYNAMIC})
        exported = torch.export.export(Folding(), (torch.ones(12), torch.ones(4)), dynamic_shapes=sizes)
        data = to_edge_transform_and_lower(exported).to_executorch().buffer
        theirs = Runtime.get().load_program(data).load_method("forward")
        with etconfig.load_program(data) as program, program.load_method("forward") as ours:
            for count, row in ((12, 4), (12, 2), (12, 3), (6, 2)):
                inputs = [torch.rand(count), torch.ones(row)]
                (found,), (expected,) = ours.execute(inputs), theirs.execute(inputs)
                assert found.shape == (count // row, row)
                np.testing.assert_allclose(found, expected.numpy(), rtol=1e-6)

    def test_named_buffers_are_attributes(self) -> None:
        import torch
        from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower

        class Counting(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("total", torch.zeros(2))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                self.total.add_(x)
                return self.total * 2

        lowered = to_edge_transform_and_lower(torch.export.export(Counting(), (torch.ones(2),)))
        data = lowered.to_executorch(ExecutorchBackendConfig(emit_mutable_buffer_names=True)).buffer
        with etconfig.load_program(data) as program, program.load_method("forward") as method:
            assert method.metadata.attribute_names() == ("total",)
            method.execute([torch.ones(2)])
            assert method.get_attribute("total").tolist() == [1, 1]
            method.set_attribute("total", torch.tensor([5.0, 6.0]))
            assert method.execute([torch.ones(2)])[0].tolist() == [12, 14]
