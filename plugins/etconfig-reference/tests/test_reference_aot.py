"""The ahead-of-time half, with real ExecuTorch: `make test-peers`."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from etconfig_reference.conformance import GOLDEN, etconfig_conformance
from etconfig_reference.cpu import ReferenceCpuBackend
from etconfig_reference.errors import CompileSpecError
from etconfig_reference.options import ReferenceCpuOptions
from etconfig_reference.payload import decode_graph
from etconfig_reference.plugin import SPECS

import etconfig
from etconfig.plugin.v1 import ConformanceRequest, LoweringRequest

README = Path(__file__).parents[1] / "README.md"

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def et() -> Any:
    """The modules that the tests need from torch, executorch and the ahead-of-time half."""
    pytest.importorskip("torch")
    pytest.importorskip("executorch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        from etconfig_reference import aot
        from executorch.exir import to_edge_transform_and_lower
        from executorch.exir.lowered_backend_module import get_lowered_submodules

    def lower(module: Any, *inputs: Any, placement: dict[str, str] | None = None) -> Any:
        partitioner = aot.ReferencePartitioner(placement or {"": "ReferenceCpuBackend"})
        exported = torch.export.export(module.eval(), inputs)
        return to_edge_transform_and_lower(exported, partitioner=[partitioner]).exported_program()

    def delegates(program: Any) -> list[tuple[str, bytes]]:
        found = get_lowered_submodules(program.graph_module)
        return [(lowered.backend_id, lowered.processed_bytes) for _, lowered, _ in found]

    return SimpleNamespace(
        torch=torch,
        nn=torch.nn,
        aot=aot,
        to_edge=to_edge_transform_and_lower,
        lower=lower,
        delegates=delegates,
    )


def portable_operators(program: Any) -> list[str]:
    """Return the operators that were not delegated."""
    nodes = [node for node in program.graph.nodes if hasattr(node.target, "_schema")]
    return [node.target._schema.name for node in nodes]


def function_module(torch: Any, function: Any) -> Any:
    """A module that calls `function`."""

    class Function(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return function(x)

    return Function()


def make_module(et: Any, name: str) -> tuple[Any, tuple[int, ...]]:
    """A module that consists of one operation, and the shape of its input."""
    nn, f = et.nn, et.nn.functional
    image = (2, 4, 7, 6)
    return {
        "conv": (nn.Conv2d(4, 8, (3, 2), stride=2, padding=(1, 0), dilation=(1, 2), groups=2), image),
        "conv without bias": (nn.Conv2d(4, 3, 1, bias=False), image),
        "linear": (nn.Linear(6, 5), image),
        "linear without bias": (nn.Linear(6, 5, bias=False), (6,)),
        "product": (function_module(et.torch, lambda x: x @ x.permute(1, 0)), (3, 4)),
        "max pool": (nn.MaxPool2d(3, stride=2, padding=1, dilation=2), image),
        "average pool": (nn.AvgPool2d((3, 2), padding=1), image),
        "adaptive average pool": (nn.AdaptiveAvgPool2d(1), image),
        "mean": (function_module(et.torch, lambda x: x.mean((-1, 1))), image),
        "mean of all": (function_module(et.torch, lambda x: x.mean(dim=None, keepdim=True)), image),
        "softmax": (nn.Softmax(-3), image),
        "relu": (nn.ReLU(), image),
        "flatten": (nn.Flatten(), image),
        "unsqueeze": (function_module(et.torch, lambda x: x.unsqueeze(-1)), image),
        "squeeze": (function_module(et.torch, lambda x: x.squeeze(0)), (1, 4, 5)),
        "permute": (function_module(et.torch, lambda x: x.permute(2, 0, 3, 1)), image),
        "add": (function_module(et.torch, lambda x: x + x.mean(1, keepdim=True)), image),
        "sub": (function_module(et.torch, lambda x: x - 0.25), image),
        "mul": (function_module(et.torch, lambda x: x * 1.5), image),
        "functional conv": (function_module(et.torch, lambda x: f.relu(f.max_pool2d(x, 2)) * 2.0), image),
    }[name]


OPERATIONS = [
    "conv",
    "conv without bias",
    "linear",
    "linear without bias",
    "product",
    "max pool",
    "average pool",
    "adaptive average pool",
    "mean",
    "mean of all",
    "softmax",
    "relu",
    "flatten",
    "unsqueeze",
    "squeeze",
    "permute",
    "add",
    "sub",
    "mul",
    "functional conv",
]


class TestLowering:
    """A supported operation is delegated as a whole, and gives the results of PyTorch."""

    @pytest.mark.parametrize("name", OPERATIONS)
    def test_the_payload_gives_the_answer_of_pytorch(self, et: Any, make_harness: Any, name: str) -> None:
        et.torch.manual_seed(1)
        module, shape = make_module(et, name)
        x = et.torch.randn(shape)
        program = et.lower(module, x)
        assert portable_operators(program) == []
        ((backend_id, payload),) = et.delegates(program)
        assert backend_id == "ReferenceCpuBackend"

        expected = module(x).detach().numpy()
        harness = make_harness(ReferenceCpuBackend(), ReferenceCpuOptions())
        out = np.zeros(expected.shape, np.float32)
        harness.execute(harness.init(payload), x.numpy(), out)
        np.testing.assert_allclose(out, expected, atol=1e-5)

    def test_equal_models_give_equal_payloads(self, et: Any) -> None:
        module, x = et.nn.Sequential(et.nn.Linear(6, 5), et.nn.ReLU()), et.torch.randn(1, 6)
        assert et.delegates(et.lower(module, x)) == et.delegates(et.lower(module, x))

    @pytest.mark.parametrize(
        ("operator", "make"),
        [
            ("aten::max_pool2d_with_indices", lambda t: t.nn.MaxPool2d(2, ceil_mode=True)),
            ("aten::avg_pool2d", lambda t: t.nn.AvgPool2d(2, padding=1, count_include_pad=False)),
            ("aten::gelu", lambda t: t.nn.GELU()),
            ("aten::add", lambda t: function_module(t, lambda x: t.add(x, x, alpha=2))),
            ("aten::neg", lambda t: function_module(t, lambda x: -x.double())),
        ],
    )
    def test_an_unsupported_operator_stays_with_the_runtime(self, et: Any, operator: str, make: Any) -> None:
        program = et.lower(et.nn.Sequential(et.nn.ReLU(), make(et.torch)), et.torch.randn(1, 4, 7, 7))
        assert operator in portable_operators(program)
        assert len(et.delegates(program)) == 1

    @pytest.mark.parametrize(
        ("backend_id", "most"), [("ReferenceNpuBackend", 8), ("ReferenceCpuBackend", None)]
    )
    def test_a_dynamic_shape_that_cannot_be_planned_stays_with_the_runtime(
        self, et: Any, backend_id: str, most: int | None
    ) -> None:
        sizes = ({0: et.torch.export.Dim("n", max=most)},)
        exported = et.torch.export.export(et.nn.ReLU(), (et.torch.randn(4, 3),), dynamic_shapes=sizes)
        partitioner = et.aot.ReferencePartitioner({"": backend_id})
        program = et.to_edge(exported, partitioner=[partitioner]).exported_program()
        assert portable_operators(program) == ["aten::relu"]

    def test_a_buffer_that_is_written_stays_with_the_runtime(self, et: Any) -> None:
        class Counter(et.nn.Module):  # type: ignore[misc, name-defined]  # torch comes when the tests run
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("total", et.torch.zeros(3))
                self.register_buffer("factor", et.torch.full((3,), 2.0))

            def forward(self, x: Any) -> Any:
                self.total.add_(x * self.factor)
                return self.total + 0.0

        program = et.lower(Counter(), et.torch.randn(3))
        ((_, payload),) = et.delegates(program)
        graph = decode_graph(memoryview(payload))
        assert len(graph.inputs) == 2
        factors = [constant for constant in graph.constants.values() if constant.shape == (3,)]
        np.testing.assert_array_equal(factors, [[2.0, 2.0, 2.0]])


DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64", "bool"]


class TestPrograms:
    """A whole program that delegates as much as possible gives the answers of PyTorch in etconfig."""

    @pytest.fixture
    def run(self, et: Any, tmp_path: Path) -> Any:
        """Export a module with its first inputs, and run it on all of them."""

        def run(module: Any, *runs: Any, dynamic_shapes: Any = None, **settings: Any) -> Any:
            exported = et.torch.export.export(module.eval(), runs[0], dynamic_shapes=dynamic_shapes)
            partitioner = et.aot.ReferencePartitioner({"": "ReferenceCpuBackend"}, **settings)
            edge = et.to_edge(exported, partitioner=[partitioner])
            path = tmp_path / "program.pte"
            path.write_bytes(edge.to_executorch().buffer)
            with etconfig.load_program(path) as program, program.load_method("forward") as method:
                for inputs in runs:
                    expected = module(*inputs)
                    outputs = method.execute(list(inputs))
                    for output, wanted in zip(
                        outputs, et.torch.utils._pytree.tree_leaves(expected), strict=True
                    ):
                        assert output.shape == tuple(wanted.shape)
                        assert output.dtype.name == str(wanted.dtype).removeprefix("torch.")
                        found = np.asarray(output, np.float64)
                        np.testing.assert_allclose(found, wanted.detach().double().numpy(), rtol=1e-2)
            return edge.exported_program()

        return run

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_each_type(self, et: Any, run: Any, dtype: str) -> None:
        kind = getattr(et.torch, dtype)
        module = function_module(et.torch, lambda x: (x + x, x * x, x.reshape(3, 2), x[0, 0].reshape(())))
        numbers = et.torch.tensor([[0, 1, 2], [3, 4, 5]]).to(kind)
        program = run(module, (numbers,))
        assert [name for name, _ in et.delegates(program)] == ["ReferenceCpuBackend"]

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
    def test_layers_of_each_floating_type(self, et: Any, run: Any, dtype: str) -> None:
        et.torch.manual_seed(2)
        kind = getattr(et.torch, dtype)
        module = et.nn.Sequential(et.nn.Conv2d(2, 3, 3), et.nn.ReLU(), et.nn.Flatten(), et.nn.Linear(48, 4))
        program = run(module.to(kind), (et.torch.randn(1, 2, 6, 6, dtype=kind).abs(),))
        assert portable_operators(program) == []

    def test_a_dynamic_batch(self, et: Any, run: Any) -> None:
        et.torch.manual_seed(3)
        module = et.nn.Sequential(et.nn.Conv2d(2, 3, 3), et.nn.ReLU(), et.nn.Flatten(), et.nn.Linear(48, 4))
        runs = [(et.torch.randn(count, 2, 6, 6),) for count in (3, 1, 8, 2)]
        program = run(module, *runs, dynamic_shapes=({0: et.torch.export.Dim("n", min=1, max=8)},))
        assert portable_operators(program) == ["aten::sym_size"]

    def test_a_number_that_is_known_when_it_runs(self, et: Any, run: Any) -> None:
        class Scale(et.nn.Module):  # type: ignore[misc, name-defined]  # torch comes when the tests run
            def forward(self, x: Any, count: int) -> Any:
                return x * count + x.shape[0]

        runs = [(et.torch.randn(3, 2), 2), (et.torch.randn(4, 2), 7)]
        sizes = ({0: et.torch.export.Dim("n", max=8)}, et.torch.export.Dim.DYNAMIC)
        program = run(Scale(), *runs, dynamic_shapes=sizes)
        assert portable_operators(program) == ["aten::sym_size"]

    def test_channels_last(self, et: Any, run: Any) -> None:
        module = et.nn.Conv2d(2, 3, 3).to(memory_format=et.torch.channels_last)
        image = et.torch.rand(2, 2, 5, 4).to(memory_format=et.torch.channels_last)
        program = run(module, (image,))
        assert portable_operators(program) == []

    def test_a_change_of_dim_order(self, et: Any, run: Any) -> None:
        module = function_module(et.torch, lambda x: x.to(memory_format=et.torch.channels_last) + x)
        assert portable_operators(run(module, (et.torch.randn(2, 2, 5, 4),))) == []

    def test_a_tensor_without_elements(self, et: Any, run: Any) -> None:
        program = run(et.nn.Linear(3, 2), (et.torch.zeros(0, 3),))
        assert portable_operators(program) == []

    def test_named_data_are_stored_once_for_two_delegates(self, et: Any, run: Any, tmp_path: Path) -> None:
        class Twice(et.nn.Module):  # type: ignore[misc, name-defined]  # torch comes when the tests run
            def __init__(self) -> None:
                super().__init__()
                self.layer = et.nn.Linear(64, 64)

            def forward(self, x: Any) -> Any:
                return et.torch.relu(self.layer(et.torch.exp(self.layer(x))))

        et.torch.manual_seed(4)
        x, module = et.torch.rand(1, 64), Twice()
        sizes = {}
        for named_data in (False, True):
            program = run(module, (x,), named_data=named_data)
            assert len(et.delegates(program)) == 2
            sizes[named_data] = (tmp_path / "program.pte").stat().st_size
        assert sizes[False] - sizes[True] > 64 * 64 * 4 - 2000


class TestPlacement:
    """The path of a module decides which backend gets its operations."""

    @pytest.fixture
    def two_parts(self, et: Any) -> Any:
        nn = et.nn

        class TwoParts(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
                self.head = nn.Linear(4, 2)

            def forward(self, x: Any) -> Any:
                return self.head(self.body(x)) + 1.0

        return TwoParts()

    def test_each_part_goes_to_its_backend(self, et: Any, two_parts: Any) -> None:
        placement = {"body": "ReferenceNpuBackend", "head": "ReferenceCpuBackend"}
        program = et.lower(two_parts, et.torch.randn(1, 4), placement=placement)
        assert {name for name, _ in et.delegates(program)} == set(placement.values())
        assert portable_operators(program) == ["aten::add"]

    def test_the_longest_path_decides(self, et: Any, two_parts: Any) -> None:
        placement = {"": "ReferenceCpuBackend", "body": "ReferenceNpuBackend"}
        program = et.lower(two_parts, et.torch.randn(1, 4), placement=placement)
        assert len(et.delegates(program)) == 2
        assert portable_operators(program) == []

    def test_a_path_that_matches_nothing_is_an_error(self, et: Any, two_parts: Any) -> None:
        with pytest.raises(ValueError, match=r"^no operation of the program lies in module 'bodi'$"):
            et.lower(two_parts, et.torch.randn(1, 4), placement={"bodi": "ReferenceCpuBackend"})

    def test_an_unknown_backend_is_an_error(self, et: Any) -> None:
        with pytest.raises(ValueError, match=r"^unknown backend 'Npu'; there are ReferenceCpuBackend, "):
            et.aot.ReferencePartitioner({"body": "Npu"})


def test_the_example_of_the_readme_delegates_both_parts(et: Any) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(example, str(README), "exec"), names)
    (plan,) = names["program"].executorch_program.execution_plan
    assert {delegate.id for delegate in plan.delegates} == set(et.aot.BACKEND_IDS)


@pytest.mark.weekly  # it exports all of them
@pytest.mark.parametrize("backend_id", ["ReferenceCpuBackend", "ReferenceNpuBackend"])
def test_golden_programs_are_what_is_exported(et: Any, backend_id: str) -> None:
    from etconfig.conformance.cases.models import models

    programs = {path.stem: path.read_bytes() for path in (GOLDEN / backend_id).iterdir()}
    lower = etconfig_conformance(ConformanceRequest(name=backend_id, core_api=1)).lower
    assert lower is not None
    for model in models():
        if model.name in programs:
            methods = {name: method.export() for name, method in model.methods.items()}
            made = lower(LoweringRequest(case=model.name, methods=methods))
            assert made == programs[model.name], f"write the golden programs again: {model.name}"


def test_the_ids_are_those_of_the_running_half(et: Any) -> None:
    assert set(et.aot.BACKEND_IDS) == SPECS.keys()


@pytest.mark.parametrize("backend_id", ["ReferenceCpuBackend", "ReferenceNpuBackend"])
def test_an_unknown_compile_spec_is_refused(et: Any, backend_id: str) -> None:
    spec = SimpleNamespace(key="device", value=b"x")
    with pytest.raises(CompileSpecError, match=r"^compile spec 'device' is not known; there is named_data$"):
        getattr(et.aot, backend_id).preprocess(None, [spec])
