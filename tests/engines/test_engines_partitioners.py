"""The partitioners of `etconfig.aot` on real exports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from etconfig.aot import (
    Envelope,
    open_envelope,
    operator_name,
    operator_partitioner,
    tag_supported,
    whole_graph_partitioner,
)

torch = pytest.importorskip("torch")
exir = pytest.importorskip("executorch.exir")
pytestmark = [
    pytest.mark.engines,
    pytest.mark.filterwarnings("ignore"),  # torch and executorch warn about their own code
]


@pytest.fixture
def backend_id(request: pytest.FixtureRequest) -> str:
    """An id for one test, since one function writes the payloads of an id in a process."""
    name = "".join(letter for letter in request.node.name.title() if letter.isalnum())
    return f"{name[-40:]}Backend"


class Calls:
    """A `preprocess` that writes the names of the operators, in an envelope, and remembers its inputs."""

    def __init__(self, backend_id: str) -> None:
        self.backend_id = backend_id
        self.specs: list[Mapping[str, bytes]] = []

    def __call__(self, edge_program: Any, compile_specs: Mapping[str, bytes]) -> bytes:
        self.specs.append(compile_specs)
        names = [operator_name(node) for node in edge_program.graph.nodes]
        inputs = edge_program.graph_signature.user_inputs
        payload = f"{len(inputs)}: {' '.join(filter(None, names))}"
        return Envelope(backend=self.backend_id, kind="names").seal(payload.encode())


def module_of(function: Callable[..., Any]) -> Any:
    class Function(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            return function(*args)

    return Function()


def lower(module: Any, inputs: tuple[Any, ...], partitioner: Any, **settings: Any) -> Any:
    exported = torch.export.export(module.eval(), inputs, **settings)
    return exir.to_edge_transform_and_lower(exported, partitioner=[partitioner])


def delegates(edge: Any, method: str = "forward") -> Iterator[str]:
    """Yield the contents of each payload of the final program; ask for what is portable before."""
    program = edge.to_executorch().executorch_program
    plan = next(plan for plan in program.execution_plan if plan.name == method)
    for delegate in plan.delegates:
        data = program.backend_delegate_data[delegate.processed.index].data
        yield bytes(open_envelope(data, backend_id=delegate.id)).decode()


def portable(edge: Any) -> list[str]:
    """Return the operators that were not delegated."""
    return [name for name in map(operator_name, edge.exported_program().graph.nodes) if name is not None]


class Layers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.norm = torch.nn.LayerNorm(3)

    def forward(self, x: Any) -> Any:
        return torch.relu(self.norm(self.linear(x)))


class TestWholeGraph:
    """One delegate of everything."""

    def test_a_method_becomes_one_delegate(self, backend_id: str) -> None:
        partitioner = whole_graph_partitioner(backend_id, Calls(backend_id))
        edge = lower(Layers(), (torch.zeros(2, 4),), partitioner)
        assert portable(edge) == []
        (payload,) = delegates(edge)
        assert payload.startswith("1: aten::permute_copy aten::addmm aten::native_layer_norm")

    def test_operators_are_kept_whole_by_name(self, backend_id: str) -> None:
        partitioner = whole_graph_partitioner(backend_id, Calls(backend_id), keep_whole=["aten::linear"])
        (payload,) = delegates(lower(Layers(), (torch.zeros(2, 4),), partitioner))
        assert payload == "1: aten::linear aten::native_layer_norm aten::relu"

    def test_all_operators_are_kept_whole(self, backend_id: str) -> None:
        partitioner = whole_graph_partitioner(backend_id, Calls(backend_id), keep_whole=lambda node: True)
        (payload,) = delegates(lower(Layers(), (torch.zeros(2, 4),), partitioner))
        assert payload == "1: aten::linear aten::layer_norm aten::relu"

    def test_parts_that_do_not_touch_become_one_delegate(self, backend_id: str) -> None:
        module = module_of(lambda x, y: (torch.relu(x), torch.sin(y)))
        partitioner = whole_graph_partitioner(backend_id, Calls(backend_id))
        edge = lower(module, (torch.zeros(2), torch.zeros(3)), partitioner)
        assert list(delegates(edge)) == ["2: aten::relu aten::sin"]

    def test_several_outputs_of_one_operator(self, backend_id: str) -> None:
        module = module_of(lambda x: tuple(torch.topk(x, 2)))
        edge = lower(module, (torch.zeros(5),), whole_graph_partitioner(backend_id, Calls(backend_id)))
        assert portable(edge) == []
        assert list(delegates(edge)) == ["1: aten::topk"]

    def test_dynamic_sizes(self, backend_id: str) -> None:
        module = module_of(lambda x: torch.relu(x) + x.shape[0])
        partitioner = whole_graph_partitioner(backend_id, Calls(backend_id))
        shapes = {"args": ({0: torch.export.Dim("batch", max=8)},)}
        edge = lower(module, (torch.zeros(2, 4),), partitioner, dynamic_shapes=shapes)
        assert portable(edge) == []
        (payload,) = delegates(edge)
        assert "aten::relu" in payload

    def test_a_buffer_that_is_written_is_an_input(self, backend_id: str) -> None:
        class Counter(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("total", torch.zeros(3))
                self.register_buffer("factor", torch.full((3,), 2.0))

            def forward(self, x: Any) -> Any:
                self.total.add_(x * self.factor)
                return self.total + 1.0

        edge = lower(Counter(), (torch.zeros(3),), whole_graph_partitioner(backend_id, Calls(backend_id)))
        assert list(delegates(edge)) == ["2: aten::mul.Tensor aten::add.Tensor aten::add.Tensor"]

    def test_a_method_without_operators_has_no_delegate(self, backend_id: str) -> None:
        edge = lower(
            module_of(lambda x: x), (torch.zeros(3),), whole_graph_partitioner(backend_id, Calls(""))
        )
        assert list(delegates(edge)) == []

    def test_several_methods(self, backend_id: str) -> None:
        partitioner = whole_graph_partitioner(backend_id, Calls(backend_id))
        methods = {
            name: torch.export.export(module_of(function), (torch.zeros(3),))
            for name, function in {"one": torch.relu, "two": torch.sin}.items()
        }
        edge = exir.to_edge_transform_and_lower(
            methods, partitioner={name: [partitioner] for name in methods}
        )
        assert [list(delegates(edge, name)) for name in methods] == [["1: aten::relu"], ["1: aten::sin"]]

    def test_equal_models_give_equal_programs(self, backend_id: str) -> None:
        partitioner, layers = whole_graph_partitioner(backend_id, Calls(backend_id)), Layers()
        made = [lower(layers, (torch.zeros(2, 4),), partitioner).to_executorch().buffer for _ in range(2)]
        assert made[0] == made[1]


class TestSupportedOperators:
    """The largest groups of operators that the backend runs."""

    def test_what_is_not_supported_stays_with_the_runtime(self, backend_id: str) -> None:
        module = module_of(lambda x: torch.relu(torch.sin(torch.cos(x) + x)) * x)
        supported = ["aten::relu", "aten::cos", "aten::add.Tensor", "aten.mul.Tensor"]
        partitioner = operator_partitioner(backend_id, Calls(backend_id), supported=supported)
        edge = lower(module, (torch.zeros(3),), partitioner)
        assert portable(edge) == ["aten::sin"]
        assert sorted(delegates(edge)) == ["1: aten::cos aten::add.Tensor", "2: aten::relu aten::mul.Tensor"]

    def test_a_function_decides(self, backend_id: str) -> None:
        module = module_of(lambda x, y: (torch.relu(x), torch.relu(y)))
        partitioner = operator_partitioner(
            backend_id, Calls(backend_id), supported=lambda node: node.meta["val"].dtype == torch.float32
        )
        edge = lower(module, (torch.zeros(3), torch.zeros(3, dtype=torch.int32)), partitioner)
        assert portable(edge) == ["aten::relu"]
        assert list(delegates(edge)) == ["1: aten::relu"]

    def test_the_parts_of_a_tuple_belong_to_their_operator(self, backend_id: str) -> None:
        module = module_of(lambda x: torch.sin(torch.topk(x, 2)[0]))
        partitioner = operator_partitioner(backend_id, Calls(backend_id), supported=["aten::topk"])
        edge = lower(module, (torch.zeros(5),), partitioner)
        assert portable(edge) == ["aten::sin"]
        assert list(delegates(edge)) == ["1: aten::topk"]

    def test_operators_are_kept_whole_only_where_they_are_supported(self, backend_id: str) -> None:
        def is_small(node: Any) -> bool:
            return operator_name(node) == "aten::linear" and node.meta["val"].shape[-1] == 3

        module = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Linear(5, 3))
        partitioner = operator_partitioner(
            backend_id, Calls(backend_id), supported=is_small, keep_whole=["aten::linear.default"]
        )
        edge = lower(module, (torch.zeros(2, 4),), partitioner)
        assert "aten::addmm" in portable(edge)
        assert list(delegates(edge)) == ["1: aten::linear"]

    def test_two_backends_share_a_model(self, backend_id: str) -> None:
        other = f"{backend_id}2"
        module = module_of(lambda x: torch.sin(torch.relu(x)))
        exported = torch.export.export(module, (torch.zeros(3),))
        partitioners = [
            operator_partitioner(backend_id, Calls(backend_id), supported=["aten::relu"]),
            operator_partitioner(other, Calls(other), supported=["aten::sin"]),
        ]
        edge = exir.to_edge_transform_and_lower(exported, partitioner=partitioners)
        assert sorted(delegates(edge)) == ["1: aten::relu", "1: aten::sin"]

    def test_a_partitioner_of_your_own_may_tag_with_it(self, backend_id: str) -> None:
        program = exir.to_edge(
            torch.export.export(module_of(torch.relu), (torch.zeros(3),))
        ).exported_program()
        tags = tag_supported(program, backend_id, lambda node: True, {"mode": b"fast"})
        ((tag, spec),) = tags.items()
        assert spec.backend_id == backend_id
        assert [(each.key, each.value) for each in spec.compile_specs] == [("mode", b"fast")]
        assert [node.meta.get("delegation_tag") for node in program.graph.nodes] == [None, tag, None]


class TestMistakes:
    """A mistake is an error when the partitioner is made."""

    @pytest.mark.parametrize(
        ("name", "problem"),
        [
            ("aten::rleu", "torch has no operator 'aten::rleu'; did you mean 'aten::relu'?"),
            ("aten::liner", "torch has no operator 'aten::liner'; did you mean 'aten::linear'?"),
            ("aten::ad.Tensor", "torch has no operator 'aten::ad.Tensor'; did you mean 'aten::add.Tensor'?"),
            ("aten::add", "torch has no operator 'aten::add'; there is aten::add.Tensor, "),
            ("aten::add.tensor", "torch has no operator 'aten::add.tensor'; there is "),
            ("acme::spike", "torch has no operator 'acme::spike'; import what registers it first"),
            ("relu", "torch has no operator 'relu'; did you mean 'aten::relu'?"),
        ],
    )
    def test_a_mistyped_operator(self, backend_id: str, name: str, problem: str) -> None:
        with pytest.raises(ValueError, match="torch has no operator") as caught:
            operator_partitioner(backend_id, Calls(backend_id), supported=[name])
        assert str(caught.value).startswith(problem)
        with pytest.raises(ValueError, match="torch has no operator"):
            whole_graph_partitioner(backend_id, Calls(backend_id), keep_whole=[name])

    def test_a_text_instead_of_a_list(self, backend_id: str) -> None:
        with pytest.raises(ValueError, match="given the text 'aten::relu'; put it in a list"):
            operator_partitioner(backend_id, Calls(backend_id), supported="aten::relu")

    def test_a_compile_spec_that_is_no_bytes(self, backend_id: str) -> None:
        specs: Any = {"mode": "fast"}
        with pytest.raises(
            TypeError, match=r"^compile spec 'mode': expected bytes, given str; encode it first"
        ):
            whole_graph_partitioner(backend_id, Calls(backend_id), compile_specs=specs)

    def test_a_second_function_for_one_backend(self, backend_id: str) -> None:
        one, other = Calls(backend_id), Calls(backend_id)
        first = whole_graph_partitioner(backend_id, one)
        second = whole_graph_partitioner(backend_id, one, keep_whole=["aten::linear"])
        assert first is not second
        with pytest.raises(ValueError, match=f"payloads of {backend_id} are already written by .*Calls"):
            whole_graph_partitioner(backend_id, other)

    def test_a_payload_that_is_no_bytes(self, backend_id: str) -> None:
        wrong: Any = lambda program, specs: "text"  # noqa: E731
        with pytest.raises(TypeError, match=r"returned str as a payload of .*expected bytes"):
            lower(module_of(torch.relu), (torch.zeros(3),), whole_graph_partitioner(backend_id, wrong))


def test_compile_specs_reach_the_function_and_the_program(backend_id: str) -> None:
    calls = Calls(backend_id)
    partitioner = whole_graph_partitioner(backend_id, calls, compile_specs={"mode": b"fast", "cores": b"\4"})
    edge = lower(module_of(torch.relu), (torch.zeros(3),), partitioner)
    assert calls.specs == [{"mode": b"fast", "cores": b"\4"}]
    (plan,) = edge.to_executorch().executorch_program.execution_plan
    (delegate,) = plan.delegates
    assert [(spec.key, bytes(spec.value)) for spec in delegate.compile_specs] == [*calls.specs[0].items()]
