"""Comparison of a run with recorded outputs: equality by type, and the report of a difference."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from plans import PlanBuilder, adding_plan, floats

from etconfig import Method
from etconfig.base.scalar_types import ScalarType
from etconfig.method.bundled_cases import CaseResult, Tolerance, as_input, run_case
from etconfig.program.bundled import BundledCase, BundledTensor, BundledValue
from etconfig.program.tensor_reader import TensorLayout


def recorded(array: np.ndarray, scalar_type: ScalarType = ScalarType.FLOAT) -> BundledTensor:
    layout = TensorLayout(scalar_type, array.shape, tuple(range(array.ndim)))
    return BundledTensor(layout, memoryview(array.tobytes()))


def echo(scalar_type: ScalarType, size: int) -> Method:
    """Load a method that returns its input."""
    builder = PlanBuilder()
    x = builder.tensor(size, dtype=scalar_type)
    builder.inputs, builder.outputs = [x], [x]
    return builder.load()


def compare(
    given: np.ndarray,
    expected: np.ndarray,
    scalar_type: ScalarType = ScalarType.FLOAT,
    tolerance: Tolerance | None = None,
) -> CaseResult:
    case = BundledCase((recorded(given, scalar_type),), (recorded(expected, scalar_type),))
    return run_case(echo(scalar_type, len(given)), case, tolerance)


class TestComparison:
    """Floating-point values may differ as far as torch.testing.assert_close allows, others not at all."""

    def test_equal_values_agree_without_error(self) -> None:
        result = compare(floats(1, math.nan, math.inf, -math.inf), floats(1, math.nan, math.inf, -math.inf))
        assert result.agrees
        assert (result.outputs[0].max_absolute_error, result.outputs[0].problem) == (0, None)

    @pytest.mark.parametrize(
        ("scalar_type", "dtype", "within", "beyond"),
        [
            (ScalarType.DOUBLE, np.float64, 1.1e-7, 3e-7),
            (ScalarType.FLOAT, np.float32, 1.0e-5, 1.3e-5),
            (ScalarType.HALF, np.float16, 9.8e-4, 3e-3),
            (ScalarType.BFLOAT16, ml_dtypes.bfloat16, 1.5e-2, 3e-2),
        ],
    )
    def test_each_type_has_its_own_tolerance(
        self, scalar_type: ScalarType, dtype: type, within: float, beyond: float
    ) -> None:
        one = np.ones(1, dtype)
        assert compare((one + within).astype(dtype), one, scalar_type).agrees
        assert not compare((one + beyond).astype(dtype), one, scalar_type).agrees

    def test_a_difference_is_counted_and_measured(self) -> None:
        (output,) = compare(floats(1, 2, 4), floats(1, 3, 4)).outputs
        assert not output.agrees
        assert output.problem == "1 of 3 value(s) differ"
        assert (output.max_absolute_error, output.max_relative_error) == (1, pytest.approx(1 / 3))

    @pytest.mark.parametrize(
        ("given", "expected"), [(math.nan, 1), (1, math.nan), (math.inf, 1), (-math.inf, math.inf)]
    )
    def test_no_tolerance_accepts_nan_or_infinity_for_another_value(
        self, given: float, expected: float
    ) -> None:
        lenient = Tolerance(relative=1e9, absolute=1e9)
        assert not compare(floats(given), floats(expected), tolerance=lenient).agrees

    def test_a_given_tolerance_applies_to_floating_point_only(self) -> None:
        lenient = Tolerance(relative=0, absolute=2)
        assert compare(floats(1, 2), floats(2, 4), tolerance=lenient).agrees
        integers = np.array([2**62 + 1]), np.array([2**62])
        result = compare(*integers, ScalarType.LONG, lenient)
        assert not result.agrees
        assert result.outputs[0].problem == "1 of 1 value(s) differ"

    @pytest.mark.parametrize(
        ("expected", "problem"),
        [
            (recorded(floats(1, 2, 3)), "expected float32 (3,), given float32 (2,)"),
            (recorded(np.ones(2), ScalarType.DOUBLE), "expected float64 (2,), given float32 (2,)"),
            (7, "expected int, given float32 (2,)"),
        ],
    )
    def test_another_type_or_shape_is_reported(self, expected: BundledValue, problem: str) -> None:
        case = BundledCase((recorded(floats(1, 2)),), (expected,))
        (output,) = run_case(echo(ScalarType.FLOAT, 2), case).outputs
        assert (output.agrees, output.problem, output.max_absolute_error) == (False, problem, None)

    def test_numbers_are_compared_too(self) -> None:
        builder = PlanBuilder()
        builder.outputs = [builder.scalar(3), builder.scalar(0.5), builder.scalar(True)]
        assert run_case(builder.load(), BundledCase((), (3, 0.5, True))).agrees
        result = run_case(builder.load(), BundledCase((), (4, 0.75, False)))
        assert [output.agrees for output in result.outputs] == [False] * 3


class TestCases:
    """A case that cannot be run or compared is a result, not an exception."""

    def test_inputs_that_do_not_fit_are_the_problem(self) -> None:
        result = run_case(adding_plan(2).load(), BundledCase((1,), ()))
        assert not result.agrees
        assert result.problem is not None
        assert result.problem.startswith("method 'forward', inputs: expected 2")

    def test_a_wrong_number_of_outputs_is_the_problem(self) -> None:
        inputs = (recorded(floats(1, 2)),) * 2
        result = run_case(adding_plan(2).load(), BundledCase(inputs, inputs))
        assert result.problem == "the method gives 1 output(s), the case expects 2"

    def test_a_case_without_expected_outputs_only_runs(self) -> None:
        inputs = (recorded(floats(1, 2)),) * 2
        result = run_case(adding_plan(2).load(), BundledCase(inputs, ()))
        assert (result.agrees, result.outputs) == (True, ())

    def test_a_recorded_dim_order_gives_a_logical_array(self) -> None:
        stored = floats(0, 1, 2, 3, 4, 5)
        layout = TensorLayout(ScalarType.FLOAT, (2, 3), (1, 0))
        array = as_input(BundledTensor(layout, memoryview(stored.tobytes())))
        np.testing.assert_array_equal(array, [[0, 2, 4], [1, 3, 5]])

    def test_a_recorded_tensor_may_be_empty(self) -> None:
        empty = recorded(np.empty((0, 3), np.float32))
        array = as_input(empty)
        assert isinstance(array, np.ndarray)
        assert array.shape == (0, 3)
