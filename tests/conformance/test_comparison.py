"""Answers are compared in their own type: exactly, or within the default or the declared tolerance."""

from __future__ import annotations

import numpy as np
import pytest

from etconfig.conformance.kit.outcomes import CheckFailedError
from etconfig.conformance.subject.output_comparison import check_outputs, precise, right

NAN, INF = np.nan, np.inf


def float32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


class TestCheckOutputs:
    """Outputs with the right number, dtype, shape and values pass; any difference is reported."""

    def test_equal_outputs_pass(self):
        check_outputs("add", [float32(1, NAN, INF), 3], [float32(1, NAN, INF), 3])

    @pytest.mark.parametrize(
        ("output", "expected", "message"),
        [
            (float32(1), np.array([1.0]), r"float32 of shape \(1,\), expected float64 of shape \(1,\)"),
            (float32(1), float32(1, 2), r"float32 of shape \(1,\), expected float32 of shape \(2,\)"),
            (
                float32(1, 0),
                float32(1, NAN),
                r"element \(1,\) is 0\.0, expected nan; infinities and NaN must be",
            ),
            (
                float32(1, INF),
                float32(1, -INF),
                r"element \(1,\) is inf, expected -inf; infinities and",
            ),
            (float32(1, NAN), float32(1, 2), "off by nan of the largest value, expected at most 1e-05"),
            (float32(1, 2.1), float32(1, 2), "off by 0.05 of the largest value, expected at most 1e-05"),
            (float32(0.5), float32(0), "off by 0.5 of the largest value, expected at most 1e-05"),
            (
                np.array([[1, 2**53]]),
                np.array([[1, 2**53 + 1]]),
                r"element \(0, 1\) is 9007199254740992, expected 9007199254740993; int64 must be exact",
            ),
            (
                np.array(True),
                np.array(False),
                r"element \(\) is True, expected False; bool must be exact",
            ),
        ],
    )
    def test_a_difference_is_reported(self, output: np.ndarray, expected: np.ndarray, message: str):
        with pytest.raises(CheckFailedError, match=f"add, output 0: {message}"):
            check_outputs("add", [output], [expected])

    def test_a_missing_output_is_reported(self):
        with pytest.raises(CheckFailedError, match="add: 1 outputs were returned, expected 2"):
            check_outputs("add", [1], [1, 2])

    def test_a_precise_answer_is_within_the_declared_tolerance(self):
        check_outputs("add", [float32(1, 2.1)], [float32(1, 2)], precise({"float32": 0.1}))
        with pytest.raises(CheckFailedError, match="expected at most 1e-08"):
            check_outputs("add", [float32(1, 2.00001)], [float32(1, 2)], precise({"float32": 1e-8}))
        with pytest.raises(CheckFailedError, match="expected at most 1e-05"):
            check_outputs("add", [float32(1, 2.001)], [float32(1, 2)], precise(None))

    def test_a_right_answer_may_be_less_precise(self):
        check_outputs("add", [float32(1, 2.01)], [float32(1, 2)], right({"float32": 1e-8}))
        check_outputs("add", [float32(1, 2.1)], [float32(1, 2)], right({"float32": 0.1}))
        with pytest.raises(CheckFailedError, match=r"expected at most 0\.02"):
            check_outputs("add", [float32(1, 2.06)], [float32(1, 2)], right(None))
        with pytest.raises(CheckFailedError, match="int64 must be exact"):
            check_outputs("add", [np.array(3)], [np.array(4)], right(None))
