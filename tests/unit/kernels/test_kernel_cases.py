"""Every kernel, compared with recorded results of eager PyTorch (tools/build_kernel_cases.py)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import FunctionType

from every import every
from kernel_cases import KernelCase, assert_close, case_ids, load_cases

from etconfig.kernel.steps import ArrayCall, parts_of
from etconfig.kernel.tensor import Register, Tensor
from etconfig.kernels import builtin_kernels

CASES = load_cases()
KERNELS = builtin_kernels()


@every("case", CASES, ids=case_ids(CASES))
class TestRecordedCases:
    """A kernel's results equal those of eager PyTorch, within a few units in the last place."""

    def test_static_outputs_equal_pytorch(self, case: KernelCase) -> None:
        outputs = case.run(KERNELS[case.operator])
        for output, expected in zip(outputs, case.expected, strict=True):
            assert_close(output.array, expected)

    def test_dynamic_outputs_are_resized_to_the_same(self, case: KernelCase) -> None:
        outputs = case.run(KERNELS[case.operator], with_dynamic_outputs=True)
        for output, expected in zip(outputs, case.expected, strict=True):
            assert_close(output.array, expected)


SIZED_BY_DATA = {
    "aten::_unique2.out",
    "aten::index.Tensor_out",
    "aten::masked_select.out",
    "aten::nonzero.out",
    "aten::repeat_interleave.Tensor_out",
    "aten::unique_consecutive.out",
}
"""The operators whose outputs get their sizes from the data, so that their steps resize while they run."""

CHANGE_REGISTERS = {name for name, each in KERNELS.items() if each.varying_positions}


@every("case", CASES, ids=case_ids(CASES))
class TestSteps:
    """All steps are calls on arrays, except those that resize tensors or change registers."""

    def test_steps_are_calls_on_arrays(self, case: KernelCase) -> None:
        if case.operator in SIZED_BY_DATA | CHANGE_REGISTERS:
            return
        step, *_ = case.bind(KERNELS[case.operator])
        assert all(isinstance(each, ArrayCall) for each in parts_of(step))

    def test_calls_on_arrays_reach_no_tensor(self, case: KernelCase) -> None:
        step, *_ = case.bind(KERNELS[case.operator])
        calls = [each for each in parts_of(step) if isinstance(each, ArrayCall)]
        assert not [each for call in calls for each in reached(call) if isinstance(each, (Tensor, Register))]


def reached(value: object, depth: int = 9) -> Iterator[object]:
    """Yield everything that a step can reach: operands, and variables that functions close over."""
    yield value
    held: tuple[object, ...] = ()
    if isinstance(value, (tuple, list)):
        held = tuple(value)
    elif isinstance(value, partial):
        held = (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, FunctionType):
        held = tuple(cell.cell_contents for cell in value.__closure__ or ())
    elif hasattr(value, "__dict__") and not isinstance(value, (type, FunctionType)):
        held = tuple(vars(value).values())
    for each in held if depth else ():
        yield from reached(each, depth - 1)
