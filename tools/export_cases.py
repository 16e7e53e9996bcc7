"""Programs with data files, test cases, control flow and nested values, and PyTorch's answers.

For every case NAME there are NAME.pte (or .bpte) and its .ptd files; `answers.npz` contains PyTorch's
inputs and outputs of each run, under NAME/RUN/in0, ... and NAME/RUN/out0, ... The runs of one case are
consecutive, to reveal the state of buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import (
    serialize_from_bundled_program_to_flatbuffer,
)
from executorch.exir import (
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge,
    to_edge_transform_and_lower,
)
from executorch.exir.backend.backend_api import to_backend
from executorch.exir.backend.test.demos.rpc.executor_backend_preprocess import ExecutorBackend
from executorch.exir.passes.external_constants_pass import delegate_external_constants_pass_unlifted
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from executorch.exir.passes.sym_shape_eval_pass import ConstraintBasedSymShapeEvalPass
from executorch.exir.schema import TensorShapeDynamism
from executorch.exir.tensor import TensorSpec
from exporting import describe_program
from torch import Tensor, nn
from torch.export import Dim, export
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from torch.utils._pytree import tree_flatten

SEED = 0
Runs = Sequence[tuple[Any, ...]]
"""The arguments of each run."""


class Tied(nn.Module):
    """Two layers that share one weight, which is stored once."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.second.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.second(torch.relu(self.first(x)))


class Cache(nn.Module):
    """A cache without initial state that is written at a position, and a sum with one."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(3, 2))
        self.register_buffer("total", torch.tensor([5.0, 6.0]))

    def forward(self, row: Tensor, position: Tensor) -> tuple[Tensor, Tensor]:
        self.rows.index_put_((position,), row)
        self.total.add_(row[0])
        return self.rows.sum(0), self.total + 0


class Scan(nn.Module):
    def forward(self, start: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
        return torch._higher_order_ops.scan(lambda carry, x: (carry + x, carry * x), start, steps)


class Branches(nn.Module):
    """Branches with several operands and outputs, one inside the other, and an attribute inside."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("offset", torch.tensor([10.0, 20.0]))

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        def inner(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
            return a * 2.0, b - a

        def outer(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
            return torch.cond(b.sum() > 10, inner, lambda a, b: (a + self.offset, b + 1.0), (a, b))

        return torch.cond(x.sum() > 0, outer, lambda a, b: (b * 1.0, a * 1.0), (x, y))


class Nested(nn.Module):
    """Inputs in a dict and a pair, with numbers and None among them; outputs in a dict of a pair."""

    def forward(
        self, named: dict[str, Tensor], pair: tuple[Tensor, Tensor], flag: bool, scale: float, nothing: None
    ) -> dict[str, Any]:
        total = named["b"] + named["a"] * scale
        return {"total": total, "pair": (pair[0] * 2, [pair[1] if flag else pair[0]])}


class Lifted(nn.Module):
    """Constants that are not parameters: one made in `forward`, one an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.arange(6, dtype=torch.int64).reshape(3, 2)

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        return x + torch.tensor([1.0, 2.0]) + self.table[index]


class Grow(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.cat([x, y], 0).relu() * 2


class Found(nn.Module):
    """Outputs with data-dependent sizes, and one that is computed from such an output."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        places = torch.nonzero(x > 0)
        return places + 1, x[x > 0] * 2


class Unbounded(PassBase):
    """Leave data-dependent sizes without bounds, so that the runtime allocates such tensors.

    ExecuTorch 1.5 supports tensors without bounds in plans, but none of its passes makes one.
    """

    def call(self, graph_module: torch.fx.GraphModule) -> PassResult:
        for node in graph_module.graph.nodes:
            for spec in tree_flatten(node.meta.get("spec"))[0]:
                if isinstance(spec, TensorSpec) and any(free_unbacked_symbols(size) for size in spec.shape):
                    spec.shape_dynamism = TensorShapeDynamism.DYNAMIC_UNBOUND
        return ConstraintBasedSymShapeEvalPass()(graph_module)


class Sine(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(x) + x


@dataclass
class Case:
    """One program, its model, and the runs to record."""

    manager: ExecutorchProgramManager
    model: nn.Module
    runs: Runs
    suites: Sequence[MethodTestSuite] = field(default=())


def portable(model: nn.Module, runs: Runs, dynamic_shapes: object = None, **config: Any) -> Case:
    exported = export(model.eval(), runs[0], dynamic_shapes=dynamic_shapes)
    edge = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    return Case(edge.to_executorch(ExecutorchBackendConfig(**config)), model, runs)


def rows(*values: float) -> tuple[Tensor, ...]:
    return (torch.tensor([values]),)


LAYER_RUNS = [rows(1.0, -2.0, 3.0, -4.0), rows(0.5, 0.25, -1.0, 8.0)]


def external_constants() -> Case:
    return portable(Tied(), LAYER_RUNS, external_constants=True)


def external_two_files() -> Case:
    def file_of(node: torch.fx.Node) -> str:
        return "weights" if "weight" in node.name else "biases"

    return portable(Tied(), LAYER_RUNS, external_constants=file_of)


def external_delegate() -> Case:
    """XNNPACK's packed weights as named data in a data file."""
    model = Tied().eval()
    module = export(model, LAYER_RUNS[0]).module()
    delegate_external_constants_pass_unlifted(module, lambda node: "delegate")
    lowered = to_edge_transform_and_lower(export(module, LAYER_RUNS[0]), partitioner=[XnnpackPartitioner()])
    return Case(lowered.to_executorch(), model, LAYER_RUNS)


def mutable_cache() -> Case:
    runs = [(torch.tensor([[1.0 + i, 2.0]]), torch.tensor([i])) for i in (0, 2, 0)]
    return portable(Cache(), runs, passes=[InitializedMutableBufferPass(["total"])])


def scan() -> Case:
    steps = torch.arange(6, dtype=torch.float32).reshape(3, 2)
    return portable(Scan(), [(torch.ones(2), steps), (torch.zeros(2), steps + 1)])


def branches() -> Case:
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    return portable(Branches(), [(x, y), (x, y * 5), (-x, y)])


def nested() -> Case:
    named = {"b": torch.tensor([1.0, 2.0]), "a": torch.tensor([10.0, 20.0])}
    return portable(Nested(), [(named, (torch.ones(1), torch.ones(3)), True, 2.5, None)])


def lifted() -> Case:
    x = torch.tensor([0.5, 1.5])
    return portable(Lifted(), [(x, torch.tensor([index])) for index in (0, 2)])


def grow() -> Case:
    shapes = ({0: Dim("m", min=1, max=4)}, {0: Dim("n", min=1, max=4)})
    sizes = ((2, 3), (1, 1), (4, 4), (3, 1))
    return portable(Grow(), [(torch.randn(m, 2), torch.randn(n, 2)) for m, n in sizes], shapes)


def unbounded() -> Case:
    x = torch.tensor([[1.0, -1.0, 2.0], [0.0, 3.0, -4.0]])
    runs = [(x,), (torch.zeros(2, 3),), (torch.ones(2, 3),), (-x,)]
    return portable(Found(), runs, sym_shape_eval_pass=Unbounded())


def nested_program() -> Case:
    """A delegate of ExecuTorch's demo backend, whose payload is a program."""
    runs = [(torch.tensor([1.0, 2.0]),), (torch.tensor([-1.0, 0.5]),)]
    exported = to_edge(export(Sine(), runs[0])).exported_program()
    lowered = to_backend(ExecutorBackend.__name__, exported, [])

    class Composite(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lowered = lowered

        def forward(self, x: Tensor) -> Tensor:
            return self.lowered(x) * 2

    class Eager(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return Sine()(x) * 2

    return Case(to_edge(export(Composite(), runs[0])).to_executorch(), Eager(), runs)


def bundled() -> Case:
    """Two methods with recorded cases; the last expected output of `forward` is wrong on purpose."""
    model, inputs = Tied().eval(), [args[0] for args in LAYER_RUNS]
    methods = {"forward": export(model, LAYER_RUNS[0]), "sine": export(Sine(), (torch.ones(2),))}
    expected = [model(x) for x in inputs]
    cases = [MethodTestCase([x], [y]) for x, y in zip(inputs, expected, strict=True)]
    cases.append(MethodTestCase([inputs[0]], [expected[0] + 1]))
    angles = torch.tensor([1.0, 2.0])
    suites = [
        MethodTestSuite("forward", cases),
        MethodTestSuite("sine", [MethodTestCase([angles], [Sine()(angles)])]),
    ]
    return Case(to_edge(methods).to_executorch(), model, LAYER_RUNS, suites)


CASES: Sequence[Callable[[], Case]] = (
    external_constants,
    external_two_files,
    external_delegate,
    mutable_cache,
    scan,
    branches,
    nested,
    lifted,
    grow,
    unbounded,
    nested_program,
    bundled,
)


def build(folder: Path) -> dict[str, Any]:
    """Export all cases into `folder`, and describe them."""
    answers: dict[str, np.ndarray] = {}
    described = {}
    for make in CASES:
        torch.manual_seed(SEED)
        case = make()
        with torch.no_grad():
            answers |= record(make.__name__, case)
        write(folder, make.__name__, case)
        described[make.__name__] = describe_program(case.manager)
    np.savez(folder / "answers.npz", **answers)
    return {"seed": SEED, "programs": described}


def record(name: str, case: Case) -> dict[str, np.ndarray]:
    """Return the tensors among the inputs and outputs of each run, computed by the model itself."""
    recorded = {}
    for index, args in enumerate(case.runs):
        inputs, outputs = tree_flatten(args)[0], tree_flatten(case.model(*args))[0]
        for role, values in (("in", inputs), ("out", outputs)):
            for place, value in enumerate(values):
                if isinstance(value, Tensor):
                    recorded[f"{name}/{index}/{role}{place}"] = value.numpy().copy()
    return recorded


def write(folder: Path, name: str, case: Case) -> None:
    if case.suites:
        bundle = BundledProgram(case.manager, case.suites)
        (folder / f"{name}.bpte").write_bytes(serialize_from_bundled_program_to_flatbuffer(bundle))
        return
    (folder / f"{name}.pte").write_bytes(case.manager.buffer)
    files: Mapping[str, Any] = case.manager._tensor_data
    for tag, data in files.items():
        suffix = "" if len(files) == 1 else f"_{tag}"
        (folder / f"{name}{suffix}.ptd").write_bytes(bytes(data))
