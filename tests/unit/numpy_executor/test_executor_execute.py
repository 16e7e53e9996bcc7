"""`Method.execute`: memory, inputs, outputs."""

from __future__ import annotations

import array
import json
import threading
from itertools import chain
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_cases import DATA
from plans import FLOAT, PlanBuilder, adding_plan, as_lists, floats

from etconfig.base.scalar_types import ScalarType
from etconfig.errors import (
    InvalidInputError,
    KernelArgumentError,
    MethodClosedError,
    MethodInUseError,
    MissingOperatorError,
    OutOfMemoryError,
)
from etconfig.kernel.registry import KernelTable, Step, kernel, kernels_by_operator
from etconfig.kernel.tensor import Register, Tensor
from etconfig.method.inputs import InputChecker
from etconfig.numpy_executor.numpy_program import Inputs
from etconfig.program.model import TensorShapeDynamism

BOUND, UNBOUND = TensorShapeDynamism.DYNAMIC_BOUND, TensorShapeDynamism.DYNAMIC_UNBOUND


class TestMemory:
    """Aliasing in the memory plan carries meaning."""

    def test_tensors_at_one_place_are_views_of_the_same_bytes(self) -> None:
        builder = PlanBuilder()
        x = builder.tensor(2, 3)
        flat = builder.tensor(6, offset=0)
        out = builder.tensor(6)
        builder.inputs, builder.outputs = [x], [out]
        builder.add_(flat, flat, out)
        outputs = builder.load().execute([np.arange(6, dtype=np.float32).reshape(2, 3)])
        assert as_lists(outputs) == [[0, 2, 4, 6, 8, 10]]

    def test_the_state_of_a_buffer_lasts_from_run_to_run(self) -> None:
        builder = PlanBuilder()
        state = builder.tensor(2, initial=floats(10, 20))
        x, total = builder.tensor(2), builder.tensor(2)
        builder.inputs, builder.outputs = [x], [total]
        builder.add_(state, x, total)
        builder.call("aten::copy_", state, total, builder.scalar(False), state)
        method = builder.load()
        assert as_lists(method.execute([floats(1, 2)])) == [[11, 22]]
        assert as_lists(method.execute([floats(1, 2)])) == [[12, 24]]

    def test_methods_of_one_program_do_not_share_state(self) -> None:
        builder = PlanBuilder()
        state = builder.tensor(1, initial=floats(0))
        x, total = builder.tensor(1), builder.tensor(1)
        builder.inputs, builder.outputs = [x], [total]
        builder.add_(state, x, total)
        builder.call("aten::copy_", state, total, builder.scalar(False), state)
        first, second = builder.load(), builder.load()
        first.execute([floats(5)])
        assert as_lists(second.execute([floats(1)])) == [[1]]

    def test_constants_are_views_of_the_program(self) -> None:
        builder = PlanBuilder()
        constant = builder.constant(floats(1, 2))
        out = builder.tensor(2)
        builder.outputs = [out]
        builder.add_(constant, constant, out)
        assert as_lists(builder.load().execute()) == [[2, 4]]

    def test_a_constant_that_is_an_output_of_a_kernel_is_refused(self) -> None:
        builder = PlanBuilder()
        constant = builder.constant(floats(1, 2))
        builder.add_(constant, constant, constant)
        with pytest.raises(KernelArgumentError, match=r"aten::add\.out: output array is read-only"):
            builder.load().execute()

    def test_external_constants_are_found_by_name(self) -> None:
        builder = PlanBuilder()
        weight = builder.external("weight", 2)
        out = builder.tensor(2)
        builder.outputs = [out]
        builder.add_(weight, weight, out)
        builder.named_data["weight"] = floats(3, 4).tobytes()
        assert as_lists(builder.load().execute()) == [[6, 8]]

    def test_the_initial_state_of_a_mutable_tensor_may_be_external(self) -> None:
        builder = PlanBuilder()
        state = builder.tensor(2)
        stored = builder.values[state]._replace(fully_qualified_name="state", external=True)
        builder.values[state] = stored
        builder.named_data["state"] = floats(3, 4).tobytes()
        builder.outputs = [state]
        builder.add_(state, state, state)
        method = builder.load()
        assert [as_lists(method.execute()) for _ in range(2)] == [[[6, 8]], [[12, 16]]]
        assert builder.named_data["state"] == floats(3, 4).tobytes()

    def test_memory_that_is_not_available_is_a_typed_error(self) -> None:
        builder = PlanBuilder()
        builder.planned_bytes = 2**62
        with pytest.raises(OutOfMemoryError) as caught:
            builder.load()
        assert str(caught.value).startswith("method 'forward' asks for more memory than there is: Unable to")

    def test_inputs_without_a_place_in_the_plan_are_given_memory(self) -> None:
        builder = PlanBuilder()
        x, out = (builder.tensor(2, is_planned=False) for _ in range(2))
        builder.inputs, builder.outputs = [x], [out]
        builder.add_(x, x, out)
        assert as_lists(builder.load().execute([floats(1, 2)])) == [[2, 4]]

    def test_channels_last_is_a_matter_of_strides(self) -> None:
        builder = PlanBuilder()
        x = builder.tensor(1, 2, 2, 2, dim_order=(0, 2, 3, 1))
        flat = builder.tensor(8, offset=0)
        out = builder.tensor(8)
        builder.inputs, builder.outputs = [x], [out, x]
        builder.add_(flat, flat, out)
        given = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2)
        doubled, same = builder.load().execute([given])
        assert (doubled / 2).tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
        np.testing.assert_array_equal(same, given)
        assert same.strides == (32, 4, 16, 8)


class TestOutputs:
    """Outputs returned to the caller never alias memory that a later execute overwrites."""

    def test_an_output_belongs_to_the_caller(self) -> None:
        method = adding_plan(2).load()
        (first,) = method.execute([floats(1, 2), floats(3, 4)])
        method.execute([floats(0, 0), floats(0, 0)])
        assert first.tolist() == [4, 6]
        first[:] = 99
        assert as_lists(method.execute([floats(1, 2), floats(3, 4)])) == [[4, 6]]

    def test_one_value_that_is_two_outputs_is_copied_twice(self) -> None:
        builder = adding_plan(2)
        builder.outputs *= 2
        first, second = builder.load().execute([floats(1, 2), floats(3, 4)])
        first[:] = 0
        assert second.tolist() == [4, 6]

    def test_an_input_constant_scalar_string_or_none_may_be_an_output(self) -> None:
        builder = PlanBuilder()
        x = builder.tensor(1)
        builder.inputs = [x]
        constant = builder.constant(floats(7))
        builder.outputs = [x, constant, *map(builder.scalar, (3, 0.5, True, "name", None))]
        outputs = builder.load().execute([floats(1)])
        assert as_lists(outputs) == [[1], [7], 3, 0.5, True, "name", None]
        outputs[1][:] = 0
        assert as_lists(builder.load().execute([floats(1)]))[1] == [7]

    def test_lists_may_be_outputs(self) -> None:
        builder = PlanBuilder()
        x = builder.tensor(1)
        builder.inputs = [x]
        builder.outputs = [builder.tensors(x, x), builder.ints(1, 2)]
        tensors, numbers = builder.load().execute([floats(1)])
        assert (as_lists(tensors), numbers) == ([[1], [1]], [1, 2])

    def test_changing_an_input_after_the_run_changes_nothing(self) -> None:
        builder = PlanBuilder()
        x = builder.tensor(2, is_planned=False)
        out = builder.tensor(2)
        builder.inputs, builder.outputs = [x], [out, x]
        builder.add_(x, x, out)
        method, given = builder.load(), floats(1, 2)
        outputs = method.execute([given])
        given[:] = 0
        assert as_lists(outputs) == [[2, 4], [1, 2]]

    def test_an_output_that_nothing_writes_is_zero(self) -> None:
        builder = PlanBuilder()
        builder.outputs = [builder.tensor(2, is_planned=False), builder.tensor(2)]
        assert as_lists(builder.load().execute()) == [[0, 0], [0, 0]]

    def test_infinities_and_nan_are_results_without_a_warning(self) -> None:
        builder = PlanBuilder()
        x, out = builder.tensor(3), builder.tensor(3)
        builder.inputs, builder.outputs = [x], [out]
        builder.call("aten::log.out", x, out, out)
        assert str(as_lists(builder.load().execute([floats(0, -1, 1)]))) == "[[-inf, nan, 0.0]]"


class ForeignArray:
    """An array of a library that numpy knows only by a protocol."""

    def __init__(self, data: np.ndarray) -> None:
        self._data = data


class WithArray(ForeignArray):
    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return self._data


class WithDlpack(ForeignArray):
    def __dlpack__(self, **keywords: object) -> object:
        return self._data.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._data.__dlpack_device__()


def in_itself() -> list[object]:
    values: list[object] = []
    values.append(values)
    return values


class Broken:
    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise RuntimeError("no data here")


class TestInputs:
    """An input fits, or the error names it, the expected value and the actual one."""

    @pytest.mark.parametrize(
        "given",
        [floats(1, 2), WithArray(floats(1, 2)), WithDlpack(floats(1, 2)), array.array("f", [1, 2])],
        ids=["numpy", "__array__", "DLPack", "buffer"],
    )
    def test_arrays_of_any_library_are_taken(self, given: object) -> None:
        assert as_lists(adding_plan(2).load().execute([given, given])) == [[2, 4]]

    @pytest.mark.parametrize(
        "given",
        [
            ({"first": floats(1, 2), "second": floats(3, 4)},),
            [[(floats(1, 2), [floats(3, 4)])]],
            {"pair": (floats(1, 2), floats(3, 4))},
        ],
    )
    def test_nested_ones_are_flattened_in_their_order(self, given: Any) -> None:
        builder = PlanBuilder()
        x, y, out = (builder.tensor(2) for _ in range(3))
        builder.inputs, builder.outputs = [x, y], [out, y]
        builder.add_(x, x, out)
        assert as_lists(builder.load().execute(given)) == [[2, 4], [3, 4]]

    def test_changing_an_input_later_changes_no_result(self) -> None:
        given = floats(1, 2)
        method = adding_plan(2).load()
        (first,) = method.execute([given, given])
        given[:] = 9
        (second,) = method.execute([floats(1, 1), floats(1, 1)])
        assert as_lists([first, second]) == [[2, 4], [2, 2]]

    def test_any_strides_are_taken(self) -> None:
        given = np.arange(12, dtype=np.float32).reshape(3, 4).T[::2]
        (out,) = adding_plan(2, 3).load().execute([given, given])
        np.testing.assert_array_equal(out, given * 2)

    def test_read_only_arrays_are_taken(self) -> None:
        given = floats(1, 2)
        given.flags.writeable = False
        assert as_lists(adding_plan(2).load().execute([given, given])) == [[2, 4]]

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ([floats(1, 2)], "method 'forward', inputs: expected 2 value(s), given 1"),
            (
                [np.zeros(2), floats(1, 2)],
                "method 'forward', input 0: expected an array of dtype float32 and shape (2,), "
                "given dtype float64; convert it to float32 first",
            ),
            (
                [floats(1, 2), np.zeros((2, 1), np.float32)],
                "method 'forward', input 1: expected an array of dtype float32 and shape (2,), "
                "given shape (2, 1)",
            ),
            (
                [floats(1, 2), floats(1, 2, 3)],
                "method 'forward', input 1: expected an array of dtype float32 and shape (2,), "
                "given shape (3,)",
            ),
            (
                [[1.0, 2.0], floats(1, 2)],
                "method 'forward', inputs: expected 2 value(s), given 3 when flattened",
            ),
            (
                np.ones((2, 2), np.float32),
                "method 'forward', inputs: expected 2 value(s), given one ndarray instead of a list"
                "; put the inputs into a list: execute([first, second, ...])",
            ),
            (
                None,
                "method 'forward', inputs: expected 2 value(s), given one NoneType instead of a list"
                "; put the inputs into a list: execute([first, second, ...])",
            ),
            (
                (each for each in [floats(1, 2)]),
                "method 'forward', inputs: expected 2 value(s), given one generator instead of a list"
                "; put the inputs into a list: execute([first, second, ...])",
            ),
            (
                in_itself(),
                "method 'forward', inputs: expected 2 value(s), given lists that are nested too deep, "
                "or in themselves",
            ),
            (
                [floats(1, 2), 3.0],
                "method 'forward', input 1: expected an array of dtype float32 and shape (2,), "
                "given float, which gives no array: it has neither __array__, __dlpack__ nor a buffer",
            ),
            (
                [Broken(), floats(1, 2)],
                "method 'forward', input 0: expected an array of dtype float32 and shape (2,), "
                "given Broken, which gives no array: no data here",
            ),
            (
                [floats(1, 2).astype(">f4"), floats(1, 2)],
                "method 'forward', input 0: expected an array of dtype float32 and shape (2,), "
                "given dtype float32 in the other byte order; convert it to float32 first",
            ),
        ],
    )
    def test_values_that_do_not_fit_are_refused(self, given: list[object], message: str) -> None:
        with pytest.raises(InvalidInputError) as caught:
            adding_plan(2).load().execute(given)
        assert str(caught.value) == message

    def test_nothing_is_written_unless_all_inputs_fit(self) -> None:
        first, second = (Tensor(FLOAT, (2,), (0,), None) for _ in range(2))
        inputs = Inputs(InputChecker(adding_plan(2).plan()).check, [Register(first), Register(second)])
        with pytest.raises(InvalidInputError):
            inputs.set([floats(8, 8), None])
        assert first.array.tolist() == [0, 0]

    def test_sixteen_bit_floats_are_ml_dtypes(self) -> None:
        builder = PlanBuilder()
        x = builder.tensor(2, dtype=ScalarType.BFLOAT16)
        out = builder.tensor(2, dtype=ScalarType.BFLOAT16)
        builder.inputs, builder.outputs = [x], [out]
        builder.add_(x, x, out)
        (result,) = builder.load().execute([floats(1, 2).astype(ml_dtypes.bfloat16)])
        assert result.dtype == ml_dtypes.bfloat16
        assert result.tolist() == [2, 4]

    def test_bounded_inputs_may_be_smaller(self) -> None:
        builder = PlanBuilder()
        x, out = (builder.tensor(4, 2, dynamism=BOUND) for _ in range(2))
        builder.inputs, builder.outputs = [x], [out]
        builder.add_(x, x, out)
        method = builder.load()
        for rows in (4, 1, 0, 3, 4):
            given = np.arange(rows * 2, dtype=np.float32).reshape(rows, 2)
            np.testing.assert_array_equal(method.execute([given])[0], given * 2)
        with pytest.raises(InvalidInputError, match=r"at most shape \(4, 2\), given shape \(5, 2\)"):
            method.execute([np.zeros((5, 2), np.float32)])
        with pytest.raises(InvalidInputError, match=r"at most shape \(4, 2\), given shape \(2, 4\)"):
            method.execute([np.zeros((2, 4), np.float32)])

    def test_unbounded_inputs_may_have_any_sizes_of_their_rank(self) -> None:
        builder = PlanBuilder()
        x, out = (builder.tensor(0, 0, dynamism=UNBOUND, is_planned=False) for _ in range(2))
        builder.inputs, builder.outputs = [x], [out]
        builder.add_(x, x, out)
        builder.free(x)
        method = builder.load()
        for rows in (2, 50, 1):
            given = np.ones((rows, 3), np.float32)
            np.testing.assert_array_equal(method.execute([given])[0], given * 2)
        with pytest.raises(InvalidInputError, match="float32 and rank 2, given shape"):
            method.execute([floats(1)])

    @pytest.mark.parametrize(
        ("fixed", "given"),
        [
            *[(3, 3), (3, np.int32(3)), (0.5, 0.5), (0.5, 0.50000001), (2.0, 2), (True, True), ("a", "a")],
            *[(float("nan"), float("nan")), (float("inf"), float("inf"))],
        ],
    )
    def test_a_specialized_number_takes_its_own_value(self, fixed: object, given: object) -> None:
        builder = PlanBuilder()
        builder.inputs = builder.outputs = [builder.scalar(fixed)]
        (output,) = builder.load().execute([given])
        assert repr(output) == repr(fixed)

    @pytest.mark.parametrize(
        ("fixed", "given", "message"),
        [
            (3, 4, "expected 3, for which the program was specialized, given 4"),
            (3, True, "expected 3, for which the program was specialized, given True"),
            (0.5, 0.6, "expected 0.5, for which the program was specialized, given 0.6"),
            (True, 1, "expected True, for which the program was specialized, given 1"),
            ("a", "b", "expected 'a', for which the program was specialized, given 'b'"),
            (0.5, "b", "expected 0.5, for which the program was specialized, given 'b'"),
        ],
    )
    def test_a_specialized_number_takes_no_other_value(
        self, fixed: object, given: object, message: str
    ) -> None:
        builder = PlanBuilder()
        builder.inputs = [builder.scalar(fixed)]
        with pytest.raises(InvalidInputError, match=message):
            builder.load().execute([given])

    def test_a_symbolic_number_takes_any_value(self) -> None:
        builder = PlanBuilder()
        builder.inputs = builder.outputs = [builder.scalar(None)]
        method = builder.load()
        for given in (1, 2.5, True, None, -(2**63)):
            assert method.execute([given]) == [given]
        with pytest.raises(InvalidInputError, match="an integer must fit 64 bits"):
            method.execute([2**63])
        with pytest.raises(InvalidInputError, match="expected a number"):
            method.execute(["3"])


class TestLifetime:
    """Use after close, and use by two threads, are errors that say so."""

    def test_a_closed_method_says_how_to_load_it_again(self) -> None:
        method = adding_plan(2).load()
        method.close()
        method.close()
        with pytest.raises(MethodClosedError, match="method 'forward' is closed"):
            method.execute([])
        with pytest.raises(MethodClosedError):
            method.update({})
        with pytest.raises(MethodClosedError):
            method.effective_options()
        assert repr(method) == "<Method forward (closed)>"

    def test_leaving_a_with_block_closes(self) -> None:
        with adding_plan(2).load(instance="left") as method:
            assert (method.name, method.instance) == ("forward", "left")
            assert repr(method) == "<Method forward@left>"
        with pytest.raises(MethodClosedError):
            method.execute([])

    def test_a_second_thread_is_refused_and_does_not_wait(self) -> None:
        entered, leave = threading.Event(), threading.Event()

        @kernel("test::wait.out")
        def wait(self: Tensor, out: Tensor) -> Step:
            def run() -> None:
                entered.set()
                assert leave.wait(30)

            return run

        builder = PlanBuilder()
        x = builder.tensor(1)
        builder.inputs = [x]
        builder.call("test::wait.out", x, x)
        method = builder.load(kernels=kernels_by_operator([KernelTable("test", (wait,))]))
        thread = threading.Thread(target=method.execute, args=([floats(1)],))
        thread.start()
        assert entered.wait(30)
        try:
            for use in (lambda: method.execute([floats(1)]), lambda: method.update({}), method.close):
                with pytest.raises(MethodInUseError, match="already executing in another thread"):
                    use()
        finally:
            leave.set()
            thread.join()
        method.close()

    def test_a_failed_run_leaves_the_method_usable(self) -> None:
        builder = PlanBuilder()
        x, out = (builder.tensor(2, dtype=ScalarType.LONG) for _ in range(2))
        divisor = builder.tensor(2, dtype=ScalarType.LONG)
        builder.inputs, builder.outputs = [x, divisor], [out]
        builder.call("aten::floor_divide.out", x, divisor, out, out)
        method = builder.load()
        with pytest.raises(KernelArgumentError) as caught:
            method.execute([np.array([4, 6]), np.array([0, 2])])
        assert str(caught.value) == "aten::floor_divide.out: an integer is divided by zero"
        assert as_lists(method.execute([np.array([4, 6]), np.array([2, 2])])) == [[2, 3]]


class TestLoading:
    """A method that cannot run is refused when it is loaded, with all problems at once."""

    def test_all_missing_operators_are_named(self) -> None:
        builder = PlanBuilder()
        x = builder.tensor(1)
        for operator in ("vendor::second.out", "vendor::first.out", "aten::relu.out"):
            builder.call(operator, x, x, x)
        with pytest.raises(MissingOperatorError) as caught:
            builder.load()
        assert str(caught.value) == (
            "method 'forward' needs 2 operator(s) that no installed kernel implements: "
            "vendor::first.out, vendor::second.out; install a package that provides them in the "
            "entry-point group 'etconfig.kernels'"
        )

    def test_the_error_names_core_operators_that_executorch_has_no_kernel_for_either(self) -> None:
        names = ("adaptive_avg_pool1d", "avg_pool1d", "col2im", "empty_strided", "segment_reduce")
        operators = tuple(f"aten::{name}.out" for name in names)
        upstream = json.loads((DATA / "operators.json").read_text())["operators"]
        assert set(operators).isdisjoint(chain.from_iterable(upstream.values()))
        builder = PlanBuilder()
        x = builder.tensor(1)
        for operator in operators:
            builder.call(operator, x, x)
        with pytest.raises(MissingOperatorError) as caught:
            builder.load()
        assert caught.value.operators == operators

    def test_an_operator_that_is_listed_but_not_called_needs_no_kernel(self) -> None:
        builder = adding_plan(2)
        builder.call("vendor::unused.out", builder.inputs[0])
        builder.instructions.pop()
        builder.load()

    @pytest.mark.parametrize("args", [(0,), (0, 1, 3, 2, 2, 2), (0, 1, 3, 2, 0, 2), (0, 1, 3, 2, 3)])
    def test_a_wrong_number_of_arguments_is_refused(self, args: tuple[int, ...]) -> None:
        builder = PlanBuilder()
        for _ in range(3):
            builder.tensor(2)
        builder.scalar(1)
        builder.scalar(1)
        builder.call("aten::relu.out", *args)
        with pytest.raises(KernelArgumentError, match=rf"relu.out: takes 2 arguments, given {len(args)}"):
            builder.load()

    def test_a_value_of_the_wrong_kind_is_refused(self) -> None:
        builder = PlanBuilder()
        x, number = builder.tensor(2), builder.scalar(1)
        builder.call("aten::relu.out", number, x, x)
        with pytest.raises(KernelArgumentError, match=r"aten::relu.out: self must be a tensor, not 1"):
            builder.load()

    def test_a_tensor_of_the_wrong_shape_is_refused(self) -> None:
        builder = PlanBuilder()
        x, out = builder.tensor(2), builder.tensor(3)
        builder.call("aten::relu.out", x, out, out)
        expected = r"aten::relu.out: shape \(2,\) differs from the planned shape \(3,\)"
        with pytest.raises(KernelArgumentError, match=expected):
            builder.load()


def test_metadata_describes_the_method() -> None:
    meta = adding_plan(2, 3).load().metadata
    assert (meta.name(), meta.num_inputs(), meta.num_outputs()) == ("forward", 2, 1)
    assert meta.input_tensor_meta(0).dtype() is FLOAT
