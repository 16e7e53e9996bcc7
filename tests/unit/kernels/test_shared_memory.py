"""Memory of kernels besides their arguments: copies of constants, and converted copies in the scratch."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from kernel_calls import tensor_of

from etconfig.kernel import step_makers
from etconfig.kernel.memory import Scratch
from etconfig.kernel.registry import Step
from etconfig.kernel.step_makers import in_dtype
from etconfig.kernels import builtin_kernels

KERNELS = builtin_kernels()
SHAPES = range(17, 25)
ROOM = [np.zeros(2**18, np.float32), np.zeros(2**18, np.float32)]
"""The memory of inputs and outputs, which does not count."""


def constant(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def call(operator: str, scratch: Scratch, *arguments: object) -> Step:
    kernel = KERNELS[operator]
    given = [tensor_of(each) if isinstance(each, np.ndarray) else each for each in arguments]
    return kernel.bind(operator, scratch, given)


def room(index: int, dtype: np.dtype, *shape: int) -> np.ndarray:
    return np.ndarray(shape, dtype, ROOM[index])


def convolve(scratch: Scratch, x: np.ndarray, weight: np.ndarray, groups: int = 1) -> tuple[Step, np.ndarray]:
    """Return the step of a convolution of 3 x 3 windows with padding, and its output."""
    out = room(1, x.dtype, len(x), len(weight), *x.shape[2:])
    one = (1, 1)
    settings = (None, one, one, one, False, (0, 0), groups)
    return call("aten::convolution.out", scratch, x, weight, *settings, out), out


def half(*shape: int) -> np.ndarray:
    return (np.arange(np.prod(shape)).reshape(shape) % 7 / 4 - 0.75).astype(np.float16)


def matmul(scratch: Scratch, weight: np.ndarray, size: int) -> Step:
    x, out = room(0, weight.dtype, size, len(weight)), room(1, weight.dtype, size, weight.shape[1])
    return call("aten::mm.out", scratch, x, weight, out)


def linear(scratch: Scratch, weight: np.ndarray, size: int) -> Step:
    x, out = room(0, weight.dtype, size, weight.shape[1]), room(1, weight.dtype, size, len(weight))
    return call("aten::linear.out", scratch, x, weight, None, out)


def full_convolution(scratch: Scratch, weight: np.ndarray, size: int) -> Step:
    return convolve(scratch, room(0, weight.dtype, 1, weight.shape[1], 4, size), weight)[0]


def depthwise(scratch: Scratch, weight: np.ndarray, size: int) -> Step:
    x = room(0, weight.dtype, 1, len(weight), 2, 2 + size % 2)
    return convolve(scratch, x, weight, groups=len(weight))[0]


class TestCopiesOfConstants:
    """There is one copy of a constant, for any number of shapes that a kernel is bound for."""

    @pytest.mark.parametrize(
        ("bind", "weight"),
        [
            (matmul, np.ones((256, 512), np.float16)),
            (matmul, np.ones((256, 4, 512), np.float32)[:, 0, ::2]),
            (linear, np.ones((512, 256), np.float16)),
            (full_convolution, np.ones((128, 128, 3, 3), np.float16)),
            (full_convolution, np.ones((128, 3, 3, 128), np.float32).transpose(0, 3, 1, 2)),
            (depthwise, np.ones((16384, 1, 3, 3), np.float32)),
        ],
        ids=["half-mm", "gaps-mm", "half-linear", "half-conv", "channels-last-conv", "depthwise"],
    )
    def test_eight_shapes_hold_one_copy(
        self, bind: Callable[[Scratch, np.ndarray, int], Step], weight: np.ndarray
    ) -> None:
        scratch, copy_bytes = Scratch(), 4 * weight.size
        constant(weight)
        kept = [bind(scratch, weight, size) for size in (23, 24)]  # the scratch has grown then
        tracemalloc.start()
        kept += [bind(scratch, weight, size) for size in SHAPES]
        held_bytes, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert copy_bytes >= 2**18
        assert held_bytes < copy_bytes

    def test_each_purpose_of_each_constant_has_its_own(self) -> None:
        scratch = Scratch()
        a, b = constant(np.ones(3)), constant(np.ones(3))
        copies = [scratch.kept(each, purpose, each.copy) for each in (a, b) for purpose in ("x", "y")]
        assert len({id(each) for each in copies}) == 4
        assert scratch.kept(a, "x", a.copy) is copies[0]
        assert scratch.kept(a[1:], "x", a[1:].copy).shape == (2,)


class TestStandIns:
    """Half-precision work is done in scratch memory, which is reserved as long as the instruction runs."""

    def test_memory_requested_meanwhile_lies_elsewhere(self) -> None:
        scratch, floats = Scratch(), np.dtype(np.float32)
        with scratch.reserved(((100,), floats), ((7,), floats)) as (first, second):
            inner = scratch.array((50,), floats)
            with scratch.reserved(((9,), floats)) as (deeper,):
                innermost = scratch.array((3,), floats)
        arrays = [first, second, inner, deeper, innermost]
        overlapping = [
            (i, j) for i in range(5) for j in range(i) if np.may_share_memory(arrays[i], arrays[j])
        ]
        assert set(overlapping) <= {(3, 2), (4, 2)}
        assert np.may_share_memory(scratch.array((1,), floats), scratch.array((2,), floats))

    def test_a_failure_gives_the_memory_back(self) -> None:
        scratch = Scratch()
        x = np.ones(3, np.float16)
        with pytest.raises(ZeroDivisionError):
            in_dtype(np.dtype(np.float32), [x], x, lambda *arrays: 1 // 0, scratch)  # type: ignore[arg-type,return-value]
        assert scratch.start == 0

    @pytest.mark.parametrize("side", [5, 40])
    @pytest.mark.parametrize("groups", [1, 8])
    @pytest.mark.parametrize("kept_steps", [3, step_makers.KEPT_STEPS])
    @pytest.mark.parametrize("special", [0, np.inf, np.nan])
    def test_half_convolutions_are_rounded_float_convolutions(
        self, monkeypatch: pytest.MonkeyPatch, side: int, groups: int, kept_steps: int, special: float
    ) -> None:
        monkeypatch.setattr(step_makers, "KEPT_STEPS", kept_steps)
        x, weight = half(2, 8, side, side), constant(half(8, 8 // groups, 3, 3))
        x[1, 3, 2, 2] = special
        step, out = convolve(Scratch(), x, weight, groups)
        exact_step, exact = convolve(
            Scratch(), x.astype(np.float32), constant(weight.astype(np.float32)), groups
        )
        for _ in range(2):
            with np.errstate(all="ignore"):
                exact_step()
                rounded = exact.astype(np.float16)
                step()
            np.testing.assert_array_equal(out, rounded)

    def test_converted_copies_have_the_strides_of_their_arrays(self) -> None:
        seen: list[np.ndarray] = []

        def bind(*arrays: np.ndarray) -> Step:
            seen.extend(arrays)
            return lambda: None

        x, out = half(3, 4, 5).transpose(2, 0, 1), half(5, 3, 4)
        in_dtype(np.dtype(np.float32), [x], out, bind, Scratch())
        assert [each.strides for each in seen] == [x.astype(np.float32).strides, (48, 16, 4)]
