"""Print the inputs of `preprocess`."""

import torch
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.utils import tag_constant_data
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase


class LookBackend(BackendDetails):
    """Writes the same few bytes for everything."""

    @staticmethod
    def preprocess(edge_program, compile_specs):
        inputs = edge_program.graph_signature.user_inputs
        constants = [*edge_program.graph_signature.inputs_to_parameters]
        calls = [node.name for node in edge_program.graph.nodes if node.op == "call_function"]
        print(f"  {', '.join(inputs)}; constants {', '.join(constants) or 'none'}: {', '.join(calls)}")
        return PreprocessResult(processed_bytes=b"a payload")


class AllButProducts(OperatorSupportBase):
    def is_node_supported(self, submodules, node):
        return node.op == "call_function" and "mul" not in node.name


class LookPartitioner(Partitioner):
    def __init__(self, keep=(), tags_constants=True, compile_specs=()):
        super().__init__()
        self.keep, self.tags_constants, self.compile_specs = list(keep), tags_constants, list(compile_specs)

    def ops_to_not_decompose(self, exported_program):
        return self.keep, None

    def partition(self, exported_program):
        tags = {}
        found = CapabilityBasedPartitioner(
            exported_program.graph_module, AllButProducts(), allows_single_node_partition=True
        )
        for partition in found.propose_partitions():
            tags[f"look_{partition.id}"] = DelegationSpec("LookBackend", self.compile_specs)
            for node in partition.nodes:
                node.meta["delegation_tag"] = f"look_{partition.id}"
        if self.tags_constants:
            tag_constant_data(exported_program)
        return PartitionResult(exported_program, tags)


def export(title, model, partitioner, batch=None):
    print(title)
    shapes = {"x": {0: batch}} if batch else None
    exported = torch.export.export(model.eval(), (torch.zeros(2, 4),), dynamic_shapes=shapes)
    try:
        to_edge_transform_and_lower(exported, partitioner=[partitioner]).to_executorch()
    except TypeError as error:
        print(f"  TypeError: {error}")


class Sum(torch.nn.Module):
    """Two sums around a product, with one weight."""

    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        return (x + self.w) * x + self.w


class Count(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + x.shape[0]


linear = torch.nn.Linear(4, 4)
export("as it is", linear, LookPartitioner())
export("linear kept whole", linear, LookPartitioner(keep=[torch.ops.aten.linear.default]))
export("constants not tagged", linear, LookPartitioner(tags_constants=False))
export("one weight, two delegates", Sum(), LookPartitioner())
export("dynamic", Count(), LookPartitioner(), torch.export.Dim("batch", max=8))
export("a compile spec of text", linear, LookPartitioner(compile_specs=[CompileSpec("mode", "fast")]))
