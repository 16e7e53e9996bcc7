"""Every kernel against what eager PyTorch recorded (tools/build_kernel_cases.py)."""

from __future__ import annotations

import pytest
from kernel_cases import KernelCase, assert_close, case_ids, load_cases

from etconfig.kernels import builtin_kernels

CASES = load_cases()
KERNELS = builtin_kernels()


@pytest.mark.parametrize("case", CASES, ids=case_ids(CASES))
class TestRecordedCases:
    """A kernel computes what eager PyTorch does, within a few units in the last place."""

    def test_static_outputs_equal_pytorch(self, case: KernelCase) -> None:
        outputs = case.run(KERNELS[case.operator])
        for output, expected in zip(outputs, case.expected, strict=True):
            assert_close(output.array, expected)

    def test_dynamic_outputs_are_resized_to_the_same(self, case: KernelCase) -> None:
        outputs = case.run(KERNELS[case.operator], with_dynamic_outputs=True)
        for output, expected in zip(outputs, case.expected, strict=True):
            assert_close(output.array, expected)
