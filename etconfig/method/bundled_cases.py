"""Recorded cases of bundled programs: running them and comparing the outputs with the recorded ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from etconfig.base.records import record
from etconfig.base.scalar_types import ScalarType, strides_of
from etconfig.errors import ExecutionError
from etconfig.kernel.memory import Array
from etconfig.kernel.tensor import DTYPES
from etconfig.method.method import Method
from etconfig.program.bundled import BundledCase, BundledTensor, BundledValue


@record(frozen=True, kw_only=True)
class Tolerance:
    """The allowed distance from an expected value: `absolute + relative * |expected|`."""

    relative: float
    absolute: float


EXACT = Tolerance(relative=0, absolute=0)
"""For everything that is not floating-point."""

TYPE_TOLERANCES: Mapping[ScalarType, Tolerance] = {
    ScalarType.DOUBLE: Tolerance(relative=1e-7, absolute=1e-7),
    ScalarType.FLOAT: Tolerance(relative=1.3e-6, absolute=1e-5),
    ScalarType.HALF: Tolerance(relative=1e-3, absolute=1e-5),
    ScalarType.BFLOAT16: Tolerance(relative=1.6e-2, absolute=1e-5),
}
"""By type, as in torch.testing.assert_close: other kernels add up in another order."""

_SMALLEST_DIVISOR = 1e-8


@record(frozen=True, kw_only=True)
class OutputResult:
    """The comparison of one output with the expected one.

    Attributes:
        agrees: True if all values are within the tolerance.
        max_absolute_error: The largest difference; NaN if only one of two values is a number. None if
            the two cannot be compared.
        max_relative_error: The largest difference in relation to the larger of the two values.
        problem: The difference in words, or None.
    """

    agrees: bool
    max_absolute_error: float | None
    max_relative_error: float | None
    problem: str | None


@record(frozen=True, kw_only=True)
class CaseResult:
    """The result of one case.

    Attributes:
        outputs: One result for each expected output; empty if none are recorded or the run failed.
        problem: The reason why the case could not be run or compared, or None.
    """

    outputs: tuple[OutputResult, ...]
    problem: str | None = None

    @property
    def agrees(self) -> bool:
        """True if the case ran and every output agrees with the expected one."""
        return self.problem is None and all(output.agrees for output in self.outputs)


def run_case(method: Method, case: BundledCase, tolerance: Tolerance | None = None) -> CaseResult:
    """Run `method` on the inputs of `case` and compare its outputs.

    Args:
        method: The method, newly loaded if it has state: cases start from the initial state.
        case: The recorded inputs and outputs.
        tolerance: For all floating-point values; by default what `TYPE_TOLERANCES` has for their type.
    """
    try:
        outputs = method.execute([as_input(value) for value in case.inputs])
    except ExecutionError as error:
        return CaseResult(outputs=(), problem=str(error))
    expected = case.expected_outputs
    if expected and len(outputs) != len(expected):
        problem = f"the method gives {len(outputs)} output(s), the case expects {len(expected)}"
        return CaseResult(outputs=(), problem=problem)
    pairs = zip(outputs, expected, strict=False)
    return CaseResult(outputs=tuple(_compare(actual, wanted, tolerance) for actual, wanted in pairs))


def as_input(value: BundledValue) -> Array | int | bool | float:
    """Return a recorded value as an input: an array that views the recorded bytes, or a number."""
    if not isinstance(value, BundledTensor):
        return value
    scalar_type, sizes, dim_order = value.layout
    dtype = DTYPES[scalar_type]
    strides = strides_of(sizes, dim_order, dtype.itemsize)
    array: Array = np.ndarray(sizes, dtype, value.data, 0, strides)
    return array


def _compare(actual: Any, wanted: BundledValue, tolerance: Tolerance | None) -> OutputResult:
    if isinstance(wanted, BundledTensor):
        expected = as_input(wanted)
        usual = TYPE_TOLERANCES.get(wanted.layout.scalar_type, EXACT)
    else:
        expected = wanted
        usual = TYPE_TOLERANCES[ScalarType.DOUBLE] if isinstance(wanted, float) else EXACT
    if _form(actual) != _form(expected):
        problem = f"expected {_form(expected)}, given {_form(actual)}"
        return OutputResult(agrees=False, max_absolute_error=None, max_relative_error=None, problem=problem)
    allowed = usual if tolerance is None or usual is EXACT else tolerance
    return _compare_values(np.asarray(actual), np.asarray(expected), allowed)


def _form(value: object) -> str:
    """Return the dtype and shape of an array, or the type of anything else."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name} {value.shape}"
    return type(value).__name__


def _compare_values(actual: Array, expected: Array, tolerance: Tolerance) -> OutputResult:
    is_same = actual == expected
    if tolerance is not EXACT:
        is_same |= np.isnan(actual) & np.isnan(expected)
    # 64-bit integers lose precision as doubles, but they were compared exactly above
    a, b = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.where(is_same, 0.0, np.abs(a - b))
        magnitudes = np.maximum(np.maximum(np.abs(a), np.abs(b)), _SMALLEST_DIVISOR)
        relative = np.where(is_same, 0.0, difference / magnitudes)
        is_close = np.isfinite(difference) & (
            difference <= tolerance.absolute + tolerance.relative * np.abs(b)
        )
    wrong = int(np.count_nonzero(~(is_same if tolerance is EXACT else is_same | is_close)))
    return OutputResult(
        agrees=not wrong,
        max_absolute_error=float(difference.max(initial=0)),
        max_relative_error=float(relative.max(initial=0)),
        problem=f"{wrong} of {actual.size} value(s) differ" if wrong else None,
    )
