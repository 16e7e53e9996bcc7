"""`execute(outputs=[...])` writes into the caller's arrays, and refuses those that do not fit."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mutations import DATA
from plans import PlanBuilder

import etconfig
from etconfig import Method
from etconfig.base.scalar_types import ScalarType
from etconfig.errors import InvalidInputError, InvalidOutputError
from etconfig.kernel.tensor import DTYPES
from etconfig.method.outputs import OutputChecker
from etconfig.program.metadata import MethodMeta
from etconfig.program.model import TensorShapeDynamism

ONES = np.ones((2, 3), np.float32)


def adding(*sizes: int, **form: Any) -> PlanBuilder:
    """A method that adds its two inputs."""
    builder = PlanBuilder()
    x, y, out = (builder.tensor(*sizes, **form) for _ in range(3))
    builder.inputs, builder.outputs = [x, y], [out]
    builder.add_(x, y, out)
    return builder


@pytest.fixture
def method() -> Method:
    return adding(2, 3).load()


class TestArraysThatFit:
    def test_the_array_itself_is_returned_with_the_result(self, method: Method) -> None:
        out = np.zeros((2, 3), np.float32)
        (result,) = method.execute([ONES, ONES], outputs=[out])
        assert result is out
        assert (out == 2).all()

    def test_none_makes_an_array(self, method: Method) -> None:
        first, second = (method.execute([ONES, ONES], outputs=[None])[0] for _ in range(2))
        assert first is not second
        assert (first == 2).all()

    def test_an_array_may_have_gaps(self, method: Method) -> None:
        whole = np.zeros((4, 6), np.float32)
        (result,) = method.execute([ONES, ONES], outputs=[whole[::2, ::2]])
        assert (whole[::2, ::2] == 2).all()
        assert whole.sum() == result.sum() == 12

    def test_a_writable_buffer_is_written(self, method: Method) -> None:
        data = bytearray(24)
        buffer = memoryview(data).cast("f", (2, 3))
        (result,) = method.execute([ONES, ONES], outputs=[buffer])
        assert result is buffer
        assert (np.frombuffer(data, np.float32) == 2).all()

    def test_channels_last_outputs_are_written_in_the_order_of_the_array(self) -> None:
        method = adding(1, 2, 2, 2, dim_order=(0, 2, 3, 1)).load()
        x = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2)
        for array in (np.zeros_like(x), np.zeros_like(x).transpose(0, 3, 1, 2)):
            method.execute([x, x], outputs=[array])
            np.testing.assert_array_equal(array, x + x)

    def test_bfloat16_needs_its_own_dtype(self) -> None:
        dtype = DTYPES[ScalarType.BFLOAT16]
        method = adding(2, dtype=ScalarType.BFLOAT16).load()
        x, out = np.ones(2, dtype), np.zeros(2, dtype)
        assert method.execute([x, x], outputs=[out])[0] is out
        with pytest.raises(InvalidOutputError, match="given dtype uint16"):
            method.execute([x, x], outputs=[out.view(np.uint16)])

    def test_no_array_of_the_size_of_an_output_is_made(self) -> None:
        """The result goes from the method's memory into the caller's array, without another one between."""
        method = adding(256, 1024).load()
        x, out = np.ones((256, 1024), np.float32), np.empty((256, 1024), np.float32)
        method.execute([x, x], outputs=[out])
        tracemalloc.start()
        try:
            method.execute([x, x], outputs=[out])
            assert tracemalloc.get_traced_memory()[1] < out.nbytes // 10
            method.execute([x, x])
            assert tracemalloc.get_traced_memory()[1] >= out.nbytes
        finally:
            tracemalloc.stop()

    def test_later_executes_leave_the_array_alone(self, method: Method) -> None:
        out = np.zeros((2, 3), np.float32)
        method.execute([ONES, ONES], outputs=[out])
        method.execute([ONES * 5, ONES])
        assert (out == 2).all()


class TestDynamicOutputs:
    @pytest.fixture
    def method(self) -> Method:
        return adding(4, 3, dynamism=TensorShapeDynamism.DYNAMIC_BOUND).load()

    def test_the_result_is_at_the_start_of_the_array(self, method: Method) -> None:
        out = np.zeros((4, 3), np.float32)
        (result,) = method.execute([ONES, ONES], outputs=[out])
        assert result.shape == (2, 3)
        assert (result == 2).all()
        np.testing.assert_array_equal(out, [[2] * 3] * 2 + [[0] * 3] * 2)
        full = np.ones((4, 3), np.float32)
        assert method.execute([full, full], outputs=[out])[0] is out

    def test_an_array_of_any_shape_with_enough_elements_fits(self, method: Method) -> None:
        for flat in (np.zeros(12, np.float32), np.zeros((5, 20), np.float32)):
            (result,) = method.execute([ONES, ONES], outputs=[flat])
            assert result.shape == (2, 3)
            assert np.shares_memory(result, flat)
            assert flat.sum() == 12

    @pytest.mark.parametrize("array", [np.zeros(11, np.float32), np.zeros((8, 6), np.float32)[::2, ::2]])
    def test_it_needs_room_for_the_upper_bounds_without_gaps(self, method: Method, array: Any) -> None:
        expected = "expected an array of dtype float32 with 12 or more elements, without gaps"
        with pytest.raises(InvalidOutputError, match=expected):
            method.execute([ONES, ONES], outputs=[array])

    def test_an_output_without_bounds_takes_no_array(self) -> None:
        method = adding(4, 3, dynamism=TensorShapeDynamism.DYNAMIC_UNBOUND, is_planned=False).load()
        with pytest.raises(InvalidOutputError, match="expected None, since its size has no bound"):
            method.execute([ONES, ONES], outputs=[np.zeros((2, 3), np.float32)])
        assert method.execute([ONES, ONES], outputs=[None])[0].shape == (2, 3)


class TestArraysThatDoNotFit:
    """Each is refused before anything runs: neither the arrays nor the inputs of the method change."""

    @pytest.mark.parametrize(
        ("outputs", "message"),
        [
            ([], "expected 1 array(s) or None, one for each output, given 0"),
            ([None, None], "given 2"),
            (
                np.zeros((1, 2, 3), np.float32),
                "given one ndarray instead of a list; put the arrays into a list",
            ),
            (
                [np.zeros((2, 3), np.float64)],
                "output 0: expected an array of dtype float32 and shape (2, 3), gi",
            ),
            ([np.zeros((3, 2), np.float32)], "given shape (3, 2)"),
            ([np.zeros((2, 3), ">f4")], "given dtype float32 in the other byte order"),
            (
                [np.broadcast_to(np.float32(0), (2, 3))],
                "an array that can be written to, given a read-only one",
            ),
            ([[[0.0] * 3] * 2], "given list, which gives no array"),
            ([3], "given int, which gives no array"),
        ],
    )
    def test_the_message_names_output_and_reason(self, method: Method, outputs: Any, message: str) -> None:
        with pytest.raises(InvalidOutputError) as caught:
            method.execute([ONES, ONES], outputs=outputs)
        assert message in str(caught.value)

    def test_no_two_elements_may_share_memory(self, method: Method) -> None:
        array = np.lib.stride_tricks.as_strided(np.zeros(3, np.float32), (2, 3), (0, 4))
        with pytest.raises(InvalidOutputError, match="whose elements share no memory, given strides"):
            method.execute([ONES, ONES], outputs=[array])

    def test_an_array_may_overlap_neither_an_input_nor_another_one(self) -> None:
        builder = adding(2, 3)
        builder.outputs *= 2
        method = builder.load()
        memory = np.zeros(12, np.float32)
        first, second = memory[:6].reshape(2, 3), memory[6:].reshape(2, 3)
        method.execute([ONES, ONES], outputs=[first, second])
        with pytest.raises(InvalidOutputError, match=r"output 1: .* an array that overlaps output 0"):
            method.execute([ONES, ONES], outputs=[first, memory[4:10].reshape(2, 3)])
        with pytest.raises(InvalidOutputError, match=r"output 0: .* an array that overlaps input 1"):
            method.execute([ONES, second], outputs=[second, first])

    def test_interleaved_arrays_do_not_overlap(self, method: Method) -> None:
        memory = np.ones((2, 6), np.float32)
        method.execute([ONES, memory[:, ::2]], outputs=[memory[:, 1::2]])
        np.testing.assert_array_equal(memory, [[1, 2] * 3] * 2)

    def test_nothing_runs(self) -> None:
        with etconfig.load_program(DATA / "programs" / "mutable_buffers.pte") as program:
            name = program.method_names[0]
            with program.load_method(name) as method, program.load_method(name) as fresh:
                x = np.ones(method.metadata.input_tensor_meta(0).sizes(), np.float32)
                for refused in ([np.zeros(77, np.float32)], []):
                    with pytest.raises(InvalidOutputError):
                        method.execute([x], outputs=refused)
                for left, right in zip(method.execute([x]), fresh.execute([x]), strict=True):
                    np.testing.assert_array_equal(left, right)

    def test_inputs_are_checked_first(self, method: Method) -> None:
        with pytest.raises(InvalidInputError):
            method.execute([ONES], outputs=[np.zeros((9, 9), np.float32)])

    def test_a_number_needs_none(self) -> None:
        builder = PlanBuilder()
        builder.outputs = [builder.scalar(3)]
        method = builder.load()
        assert method.execute(outputs=[None]) == [3]
        with pytest.raises(InvalidOutputError, match="expected None, since it is not a tensor but Int"):
            method.execute(outputs=[np.zeros((), np.int64)])

    def test_a_tensor_of_torch_that_numpy_would_copy_is_refused(self) -> None:
        class Tensor:
            def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
                return np.zeros((2, 3), np.float32)

            def data_ptr(self) -> int:
                return 0

        checker = OutputChecker(MethodMeta(adding(2, 3).plan()))
        with pytest.raises(InvalidOutputError, match="given Tensor, of which numpy gets a copy"):
            checker.check([Tensor()], [])


@pytest.mark.parametrize("path", sorted((DATA / "programs").glob("*.pte")), ids=lambda path: path.stem)
def test_arrays_of_the_caller_get_what_new_ones_would(path: Path) -> None:
    """Every program of the corpus that can run on made-up inputs gives the same outputs in both ways."""
    from etconfig.analysis.generated_inputs import generate_inputs

    try:
        program = etconfig.load_program(path)
        methods = [program.load_method(name, optimize=False) for name in program.method_names]
        calls = [(each, generate_inputs(each.metadata, 0)) for each in methods]
        expected = [method.execute(inputs) for method, inputs in calls]
    except etconfig.EtconfigError as error:
        pytest.skip(f"it cannot run on made-up inputs: {error}")
    for (method, inputs), wanted in zip(calls, expected, strict=True):
        meta = method.metadata
        with program.load_method(meta.name(), optimize=False) as fresh:  # with the state that `wanted` had
            arrays = [
                np.empty(each.sizes(), DTYPES[each.dtype()])
                if (each := _fitting(meta, index)) is not None
                else None
                for index in range(meta.num_outputs())
            ]
            for array, left, right in zip(arrays, fresh.execute(inputs, outputs=arrays), wanted, strict=True):
                np.testing.assert_array_equal(left, right)
                assert array is None or np.shares_memory(left, array) or not left.size


def _fitting(meta: MethodMeta, index: int) -> Any:
    """The form of an output that a row-major array fits, or None."""
    if meta.output_tag(index) != "Tensor":
        return None
    info = meta.output_tensor_meta(index)
    if info.shape_dynamism() is TensorShapeDynamism.DYNAMIC_UNBOUND:
        return None
    is_static = info.shape_dynamism() is TensorShapeDynamism.STATIC
    return info if is_static or info.dim_order() == tuple(range(len(info.sizes()))) else None
