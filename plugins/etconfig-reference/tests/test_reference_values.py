"""Inputs and outputs of a delegate: types, scalars, dynamic and empty shapes, dim orders."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from etconfig_reference.cpu import ReferenceCpuBackend
from etconfig_reference.errors import DelegateArgumentError, InvalidGraphError
from etconfig_reference.graph import DTYPES, FLOATS, INTEGERS, Graph, Operation, Shape, ValueType
from etconfig_reference.npu import ReferenceNpuBackend
from etconfig_reference.options import ReferenceCpuOptions, ReferenceNpuOptions
from etconfig_reference.payload import encode_graph


@pytest.fixture
def cpu(make_harness: Any) -> Any:
    return make_harness(ReferenceCpuBackend(), ReferenceCpuOptions())


@pytest.fixture
def npu(make_harness: Any) -> Any:
    return make_harness(ReferenceNpuBackend(sleep=lambda _: None), ReferenceNpuOptions())


def single(name: str, *inputs: ValueType, output: ValueType, **attributes: tuple[int, ...]) -> bytes:
    """Return a payload with one operation on its inputs."""
    operation = Operation(
        name=name, inputs=tuple(range(len(inputs))), output=len(inputs), attributes=attributes
    )
    graph = Graph(
        values=(*inputs, output),
        inputs=operation.inputs,
        outputs=(operation.output,),
        constants={},
        operations=(operation,),
    )
    return encode_graph(graph)


def run(harness: Any, payload: bytes, *inputs: Any, shape: Shape, dtype: str = "float32") -> Any:
    out = np.zeros(shape, DTYPES[dtype])
    return harness.execute(harness.init(payload), *inputs, out)[-1]


class TestTypes:
    """Each type is computed as itself, the half types in float32 with one rounding."""

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_two_tensors_are_added(self, cpu: Any, dtype: str) -> None:
        kind = ValueType(shape=(3,), dtype=dtype)
        left, right = np.array([0, 1, 2]).astype(DTYPES[dtype]), np.array([0, 1, 5]).astype(DTYPES[dtype])
        total = run(cpu, single("add", kind, kind, output=kind), left, right, shape=(3,), dtype=dtype)
        assert total.dtype == DTYPES[dtype]
        np.testing.assert_array_equal(total, [0, 1, 1] if dtype == "bool" else [0, 2, 7])

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_a_sum_of_many_is_rounded_once(self, cpu: Any, dtype: str) -> None:
        x, weight = (ValueType(shape=(1, 4000), dtype=dtype) for _ in range(2))
        payload = single("linear", x, weight, output=ValueType(shape=(1, 1), dtype=dtype))
        ones = np.ones((1, 4000), DTYPES[dtype])
        total = run(cpu, payload, ones, ones, shape=(1, 1), dtype=dtype)
        # counted in bfloat16, one and one would stop at 256
        assert total[0, 0] == DTYPES[dtype].type(4000)

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
    def test_half_constants_are_kept_in_float32(self, cpu: Any, dtype: str) -> None:
        kind = ValueType(shape=(2,), dtype=dtype)
        graph = Graph(
            values=(kind, kind, kind),
            inputs=(0,),
            outputs=(2,),
            constants={1: np.array([1.5, -3.0], DTYPES[dtype])},
            operations=(Operation(name="mul", inputs=(0, 1), output=2, attributes={}),),
        )
        x = np.array([2.0, 0.5], DTYPES[dtype])
        np.testing.assert_array_equal(run(cpu, encode_graph(graph), x, shape=(2,), dtype=dtype), [3.0, -1.5])
        assert cpu.heap.allocated_bytes == 2 * 4

    @pytest.mark.parametrize("dtype", INTEGERS)
    def test_integers_wrap_around(self, cpu: Any, dtype: str) -> None:
        kind = ValueType(shape=(1,), dtype=dtype)
        largest = np.array([np.iinfo(dtype).max], dtype)
        total = run(cpu, single("add", kind, kind, output=kind), largest, largest, shape=(1,), dtype=dtype)
        assert total[0] == (254 if dtype == "uint8" else -2)

    @pytest.mark.parametrize(
        ("source", "target", "numbers", "expected"),
        [
            ("float32", "int8", [1.9, -1.9, 0.0], [1, -1, 0]),
            ("float64", "float32", [0.1, 1e300, 0.0], [np.float32(0.1), np.inf, 0.0]),
            ("int64", "bfloat16", [257, 2, 0], [256, 2, 0]),
            ("float16", "bool", [0.5, -1.0, 0.0], [True, True, False]),
            ("bool", "float64", [True, False, True], [1.0, 0.0, 1.0]),
        ],
    )
    def test_types_are_converted(
        self, cpu: Any, source: str, target: str, numbers: list[Any], expected: list[Any]
    ) -> None:
        payload = single(
            "convert", ValueType(shape=(3,), dtype=source), output=ValueType(shape=(3,), dtype=target)
        )
        x = np.array(numbers, DTYPES[source])
        np.testing.assert_array_equal(run(cpu, payload, x, shape=(3,), dtype=target), expected)

    @pytest.mark.parametrize(
        ("name", "dtypes", "message"),
        [
            ("sub", ("bool", "bool", "bool"), f"computes {', '.join([*FLOATS, *INTEGERS])}, not bool"),
            ("relu", ("int8", "int32"), "takes int32 to compute int32, given int8"),
            ("softmax", ("int64", "int64"), f"computes {', '.join(FLOATS)}, not int64"),
        ],
    )
    def test_an_operation_that_does_not_know_a_type_is_named(
        self, cpu: Any, name: str, dtypes: tuple[str, ...], message: str
    ) -> None:
        *inputs, output = (ValueType(shape=(2,), dtype=dtype) for dtype in dtypes)
        attributes = {"dim": (0,)} if name == "softmax" else {}
        with pytest.raises(InvalidGraphError, match=rf"^operations\[0\] \({name}\): {message}$"):
            cpu.init(single(name, *inputs, output=output, **attributes))

    def test_the_npu_refuses_a_type_that_it_does_not_declare(self, npu: Any) -> None:
        kind = ValueType(shape=(2,), dtype="float16")
        message = "values[0] is float16 (2,); ReferenceNpuBackend takes float32 only"
        with pytest.raises(InvalidGraphError, match=f"^{re.escape(message)}$"):
            npu.init(single("relu", kind, output=kind))


class TestNumbers:
    """A value of rank 0 is passed as an array or as a Python number of its kind."""

    @pytest.mark.parametrize(
        ("dtype", "number"),
        [("int64", 3), ("float64", 3.0), ("bool", True), ("int32", np.array(3, np.int32))],
    )
    def test_a_number_is_accepted(self, cpu: Any, dtype: str, number: Any) -> None:
        x = ValueType(shape=(2,))
        payload = single("mul", x, ValueType(shape=(), dtype=dtype), output=x)
        product = run(cpu, payload, np.array([0.5, 2.0], np.float32), number, shape=(2,))
        np.testing.assert_array_equal(product, np.array([0.5, 2.0]) * float(number))

    @pytest.mark.parametrize(("dtype", "number"), [("int64", 3.0), ("int64", True), ("float32", 3)])
    def test_a_number_of_another_kind_is_refused(self, cpu: Any, dtype: str, number: Any) -> None:
        x = ValueType(shape=(2,))
        payload = single("mul", x, ValueType(shape=(), dtype=dtype), output=x)
        message = rf"^argument 1 must be {dtype} \(\), given {type(number).__name__}$"
        with pytest.raises(DelegateArgumentError, match=message):
            run(cpu, payload, np.zeros(2, np.float32), number, shape=(2,))

    def test_a_number_cannot_receive_a_result(self, cpu: Any) -> None:
        kind = ValueType(shape=(), dtype="int64")
        handle = cpu.init(single("relu", kind, output=kind))
        with pytest.raises(DelegateArgumentError, match=r"^argument 1 must be int64 \(\), given int$"):
            cpu.execute(handle, 3, 0)

    def test_a_result_may_have_rank_0(self, cpu: Any) -> None:
        payload = single("mean", ValueType(shape=(4,)), output=ValueType(shape=()), dims=(0,), keep_dims=(0,))
        assert run(cpu, payload, np.arange(4, dtype=np.float32), shape=()) == 1.5


class TestEmptyTensors:
    """A tensor may have no elements."""

    @pytest.mark.parametrize(
        ("name", "shapes", "attributes"),
        [
            ("relu", [(0, 3), (0, 3)], {}),
            ("add", [(0, 3), (3,), (0, 3)], {}),
            ("linear", [(0, 3), (2, 3), (0, 2)], {}),
            ("softmax", [(2, 0), (2, 0)], {"dim": (1,)}),
            ("reshape", [(0, 3), (3, 0, 2)], {"shape": (3, 0, 2)}),
        ],
    )
    def test_an_empty_input_gives_an_empty_output(
        self, cpu: Any, name: str, shapes: list[Shape], attributes: dict[str, tuple[int, ...]]
    ) -> None:
        *inputs, output = (ValueType(shape=shape) for shape in shapes)
        payload = single(name, *inputs, output=output, **attributes)
        arrays = [np.ones(value.shape, np.float32) for value in inputs]
        assert run(cpu, payload, *arrays, shape=output.shape).shape == output.shape

    def test_a_sum_of_nothing_is_zero_and_a_mean_of_nothing_is_nan(self, cpu: Any) -> None:
        x, weight = ValueType(shape=(2, 0)), ValueType(shape=(3, 0))
        sums = run(
            cpu,
            single("linear", x, weight, output=ValueType(shape=(2, 3))),
            np.zeros((2, 0), np.float32),
            np.zeros((3, 0), np.float32),
            shape=(2, 3),
        )
        np.testing.assert_array_equal(sums, np.zeros((2, 3)))
        payload = single("mean", x, output=ValueType(shape=(2,)), dims=(1,), keep_dims=(0,))
        assert np.isnan(run(cpu, payload, np.zeros((2, 0), np.float32), shape=(2,))).all()

    def test_the_npu_refuses_them(self, npu: Any) -> None:
        kind = ValueType(shape=(0, 3))
        with pytest.raises(InvalidGraphError, match="ReferenceNpuBackend takes no tensors without elements"):
            npu.init(single("relu", kind, output=kind))


@pytest.fixture
def dynamic(small_graph: Graph) -> bytes:
    """A linear layer and a relu over up to eight rows of three numbers, then flattened."""
    weight, bias, *_ = small_graph.values
    rows = [ValueType(shape=(8, size), dynamic=(0,)) for size in (3, 2, 2)]
    reshape = Operation(name="reshape", inputs=(4,), output=5, attributes={"shape": (-1,)})
    return encode_graph(
        replace(
            small_graph,
            values=(weight, bias, *rows, ValueType(shape=(16,), dynamic=(0,))),
            outputs=(4, 5),
            operations=(*small_graph.operations, reshape),
        )
    )


class TestDynamicShapes:
    """Inputs may be smaller than planned; outputs are resized accordingly."""

    def test_outputs_follow_the_inputs_up_to_the_bounds(self, cpu: Any, dynamic: bytes) -> None:
        handle = cpu.init(dynamic)
        rows, flat = np.zeros((8, 2), np.float32), np.zeros(16, np.float32)
        for count in (8, 1, 3, 0, 8):
            x = np.arange(count * 3, dtype=np.float32).reshape(count, 3)
            _, rows, flat = cpu.execute(handle, x, rows, flat)
            weight, bias = np.array([[1, 2, 3], [-1, 0.5, 0.1]]), np.array([0.25, -4])
            np.testing.assert_allclose(rows, np.maximum(x @ weight.T + bias, 0), rtol=1e-6)
            np.testing.assert_array_equal(flat, rows.ravel())

    @pytest.mark.parametrize("shape", [(9, 3), (8, 2), (8, 3, 1)])
    def test_a_shape_beyond_the_bounds_is_refused(self, cpu: Any, dynamic: bytes, shape: Shape) -> None:
        message = f"argument 0 must be float32 (up to 8, 3), given float32 {shape}"
        with pytest.raises(DelegateArgumentError, match=f"^{re.escape(message)}$"):
            cpu.execute(cpu.init(dynamic), np.zeros(shape, np.float32), np.zeros((8, 2), np.float32), None)

    def test_sizes_that_cannot_be_computed_are_refused(self, cpu: Any) -> None:
        image = ValueType(shape=(1, 1, 8, 8), dynamic=(2, 3))
        payload = single(
            "max_pool2d",
            image,
            output=replace(image, shape=(1, 1, 6, 6)),
            kernel=(3, 3),
            stride=(1, 1),
            padding=(0, 0),
            dilation=(1, 1),
        )
        message = (
            r"^inputs of shapes \[\(1, 1, 2, 8\)\] do not fit: operations\[0\] \(max_pool2d\): "
            r"a kernel of extent 3 does not fit into 2 with padding$"
        )
        with pytest.raises(DelegateArgumentError, match=message):
            run(cpu, payload, np.zeros((1, 1, 2, 8), np.float32), shape=(1, 1, 6, 6))

    def test_an_output_of_fixed_shape_must_fit(self, cpu: Any) -> None:
        payload = single(
            "add", ValueType(shape=(4,), dynamic=(0,)), ValueType(shape=(4,)), output=ValueType(shape=(4,))
        )
        handle, four = cpu.init(payload), np.ones(4, np.float32)
        cpu.execute(handle, four[:1], four, four.copy())
        message = r"its result has shape|shape mismatch"
        with pytest.raises(DelegateArgumentError, match=message):
            cpu.execute(handle, four[:2], four, four.copy())

    def test_the_npu_refuses_them(self, npu: Any, dynamic: bytes) -> None:
        message = "values[2] is float32 (up to 8, 3); ReferenceNpuBackend takes fixed shapes only"
        with pytest.raises(InvalidGraphError, match=f"^{re.escape(message)}$"):
            npu.init(dynamic)


class TestDimOrders:
    """The layout of elements in memory does not change their values."""

    @pytest.mark.parametrize("backend", ["cpu", "npu"])
    def test_channels_last_gives_the_same_numbers(
        self, request: pytest.FixtureRequest, conv_graph: Graph, backend: str
    ) -> None:
        harness = request.getfixturevalue(backend)
        handle = harness.init(encode_graph(conv_graph))
        x = np.random.default_rng(5).standard_normal((2, 3, 24, 17), np.float32)
        plain = np.zeros((2, 8, 24, 30), np.float32)
        harness.execute(handle, x, plain)
        images_last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
        out = np.zeros((2, 24, 30, 8), np.float32).transpose(0, 3, 1, 2)
        harness.execute(handle, images_last, out)
        np.testing.assert_array_equal(out, plain)


class TestSeveralOutputs:
    """Outputs are in the order of the program; a value may be returned twice, and an input unchanged."""

    def test_each_output_is_written(self, cpu: Any, small_graph: Graph) -> None:
        graph = replace(small_graph, outputs=(4, 3, 2, 4))
        x = np.array([[1.0, 2.0, 3.0]], np.float32)
        outputs = [np.zeros((1, size), np.float32) for size in (2, 2, 3, 2)]
        cpu.execute(cpu.init(encode_graph(graph)), x, *outputs)
        relu, linear, same, again = outputs
        np.testing.assert_allclose(linear, [[14.25, -3.7]], rtol=1e-6)
        np.testing.assert_array_equal(relu, np.maximum(linear, 0))
        np.testing.assert_array_equal(same, x)
        np.testing.assert_array_equal(again, relu)
