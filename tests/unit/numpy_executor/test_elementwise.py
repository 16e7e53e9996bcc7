"""`ElementwiseBind`: binds other shapes as the kernel would, mostly without calling it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
from every import every

from etconfig.base.scalar_types import ScalarType
from etconfig.errors import EtconfigError
from etconfig.kernel.memory import Scratch
from etconfig.kernel.registry import Kernel, Step
from etconfig.kernel.tensor import Tensor
from etconfig.kernels import builtin_kernels
from etconfig.numpy_executor.rebinding.rebinding import ElementwiseBind
from etconfig.program.model import TensorShapeDynamism

ELEMENTWISE = {name: kernel for name, kernel in builtin_kernels().items() if kernel.is_elementwise}
TYPES = (ScalarType.FLOAT, ScalarType.LONG, ScalarType.BOOL, ScalarType.HALF)
SHAPES = (
    ((2, 3), (2, 3)),
    ((4, 3), (1, 3)),
    ((1, 1), (4, 3)),
    ((0, 3), (1, 3)),
    ((2, 3), (2, 3)),
    ((3, 1), (1, 2)),
    ((4, 3), (4, 3)),
)
"""The shapes of the first input, and of the other inputs, in each run."""


def tensor(dtype: ScalarType) -> Tensor:
    memory = np.zeros(4 * 3 * 8, np.uint8)
    return Tensor(dtype, (4, 3), (0, 1), memory, dynamism=TensorShapeDynamism.DYNAMIC_BOUND)


class Call:
    """A kernel with tensors of its own."""

    def __init__(self, kernel: Kernel, dtype: ScalarType, out_dtype: ScalarType) -> None:
        names = [each.name for each in kernel.parameters]
        self.arguments: list[object] = []
        for name, parameter in zip(names, kernel.parameters, strict=True):
            if Tensor in parameter.kind.types:
                is_mask = name in ("condition", "mask")
                own = ScalarType.BOOL if is_mask else out_dtype if name == names[-1] else dtype
                self.arguments.append(tensor(own))
            else:
                is_optional = type(None) in parameter.kind.types
                self.arguments.append(None if is_optional else False if parameter.kind.types == {bool} else 2)
        *self.inputs, self.out = [each for each in self.arguments if isinstance(each, Tensor)]
        self.asked = 0
        self._bind = partial(kernel.bind, kernel.operators[0], Scratch())

    def bind(self, arguments: Sequence[object]) -> Step:
        self.asked += 1
        return self._bind(arguments)

    def set(self, shapes: Sequence[tuple[int, ...]], seed: int) -> None:
        for index, each in enumerate(self.inputs):
            each.resize(shapes[min(index, 1)])
            numbers = 1 + np.arange(each.array.size).reshape(each.shape) * 7 % (5 + seed + index)
            each.array[...] = numbers.astype(each.dtype)

    def result(self, step: Step) -> tuple[tuple[int, ...], bytes]:
        with np.errstate(all="ignore"):
            step()
        return self.out.shape, self.out.array.tobytes()


def fitting_types(kernel: Kernel) -> list[tuple[ScalarType, ScalarType]]:
    """The types of inputs and output that the kernel accepts."""
    found = []
    for dtype in TYPES:
        for out in dict.fromkeys((dtype, ScalarType.BOOL, ScalarType.FLOAT)):
            call = Call(kernel, dtype, out)
            call.set(SHAPES[0], 0)
            try:
                call.result(call.bind(call.arguments))
            except (EtconfigError, TypeError, ValueError):  # when it is bound, or numpy when it runs
                continue
            found.append((dtype, out))
    return found


@every("name", ELEMENTWISE)
def test_results_equal_those_of_a_kernel_that_binds_each_shape(name: str) -> None:
    kernel = ELEMENTWISE[name]
    types = fitting_types(kernel)
    assert types
    for dtype, out in types:
        again, anew = Call(kernel, dtype, out), Call(kernel, dtype, out)
        bind = ElementwiseBind(again.bind, again.arguments)
        for seed, shapes in enumerate(SHAPES):
            again.set(shapes, seed)
            anew.set(shapes, seed)
            assert again.result(bind()) == anew.result(anew.bind(anew.arguments))


class TestHowOftenTheKernelIsAsked:
    """The kernel binds once if its step consists of calls on the tensors' own arrays."""

    @pytest.mark.parametrize("name", ["aten::mul.out", "aten::where.self_out", "aten::rsqrt.out"])
    def test_once_for_calls_on_the_tensors_own_arrays(self, name: str) -> None:
        assert self.asked(Call(ELEMENTWISE[name], ScalarType.FLOAT, ScalarType.FLOAT)) == 1

    def test_for_each_shape_where_arrays_are_converted(self) -> None:
        assert self.asked(Call(ELEMENTWISE["aten::rsqrt.out"], ScalarType.HALF, ScalarType.HALF)) == len(
            SHAPES
        )

    def test_shapes_that_do_not_broadcast_are_refused_as_by_the_kernel(self) -> None:
        call = Call(ELEMENTWISE["aten::mul.out"], ScalarType.FLOAT, ScalarType.FLOAT)
        bind = ElementwiseBind(call.bind, call.arguments)
        bind()
        call.set(((2, 3), (4, 3)), 0)
        with pytest.raises(ValueError, match=r"^shapes \(2, 3\) and \(4, 3\) do not broadcast$"):
            bind()

    def asked(self, call: Call) -> int:
        bind = ElementwiseBind(call.bind, call.arguments)
        for seed, shapes in enumerate(SHAPES):
            call.set(shapes, seed)
            call.result(bind())
        return call.asked
