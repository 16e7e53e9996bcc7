"""Each operation against loops that follow its definition, element by element."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from etconfig_reference.graph import Array
from etconfig_reference.ops import OPS
from etconfig_reference.work import Work

Compute = Callable[..., Array]


@pytest.fixture(params=[1, 4096, 1 << 20], ids=["tiles of one row", "small tiles", "one tile"])
def compute(request: pytest.FixtureRequest) -> Compute:
    """Run an operation by name on float32 inputs, with tiles of three sizes."""

    def parallel_for(count: int, body: Callable[[int], None], max_workers: int) -> None:
        for index in reversed(range(count)):
            body(index)

    class Heap:
        def allocate(self, size_bytes: int, alignment_bytes: int = 64) -> np.ndarray[Any, Any]:
            return np.zeros(size_bytes, np.uint8)

    work = Work(
        temporary=Heap(),
        parallel_for=parallel_for,
        num_threads=2,
        tile_bytes=request.param,
        accumulate=np.dtype(np.float32),
    )

    def run(name: str, *inputs: Array, **attributes: tuple[int, ...]) -> Array:
        before = [array.copy() for array in inputs]
        op = OPS[name]([array.shape for array in inputs], attributes)
        out = np.full(op.output_shape, np.nan, np.float32)
        op.run(inputs, out, work)
        for array, copy in zip(inputs, before, strict=True):
            np.testing.assert_array_equal(array, copy)
        return out

    return run


def numbers(*shape: int) -> Array:
    return np.random.default_rng(7).standard_normal(shape, np.float32)


def windows(
    x: Array,
    fill: float,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
) -> Array:
    """Return the windows of x (N, C, H, W) at each position: (N, C, OH, OW, kh, kw)."""
    size = [
        (x.shape[2 + a] + 2 * padding[a] - dilation[a] * (kernel[a] - 1) - 1) // stride[a] + 1 for a in (0, 1)
    ]
    seen = np.full((*x.shape[:2], *size, *kernel), fill, np.float64)
    for n, c, i, j, k, m in itertools.product(*map(range, seen.shape)):
        row = i * stride[0] + k * dilation[0] - padding[0]
        column = j * stride[1] + m * dilation[1] - padding[1]
        if 0 <= row < x.shape[2] and 0 <= column < x.shape[3]:
            seen[n, c, i, j, k, m] = x[n, c, row, column]
    return seen


WINDOW_SETTINGS = [
    {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1)},
    {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 1)},
    {"stride": (1, 3), "padding": (2, 1), "dilation": (2, 1)},
    {"stride": (3, 2), "padding": (0, 2), "dilation": (1, 2)},
]


class TestConv2d:
    """Every stride, padding, dilation and number of groups gives the sums of the definition."""

    @pytest.mark.parametrize("settings", WINDOW_SETTINGS)
    @pytest.mark.parametrize("groups", [1, 2, 4])
    def test_it_is_a_cross_correlation(
        self, compute: Compute, settings: dict[str, tuple[int, int]], groups: int
    ) -> None:
        x, weight, bias = numbers(2, 4, 9, 8), numbers(8, 4 // groups, 3, 2), numbers(8)
        seen = windows(x, 0, (3, 2), **settings)
        expected = np.empty((2, 8, *seen.shape[2:4]))
        for n, o in itertools.product(range(2), range(8)):
            first = o // (8 // groups) * (4 // groups)
            channels = seen[n, first : first + 4 // groups]
            for i, j in itertools.product(*map(range, expected.shape[2:])):
                expected[n, o, i, j] = (channels[:, i, j] * weight[o]).sum() + bias[o]
        out = compute("conv2d", x, weight, bias, groups=(groups,), **settings)
        np.testing.assert_allclose(out, expected, atol=1e-5)

    def test_the_bias_may_be_left_out(self, compute: Compute) -> None:
        x, weight = numbers(1, 2, 4, 4), numbers(3, 2, 1, 1)
        out = compute("conv2d", x, weight, groups=(1,), **WINDOW_SETTINGS[0])
        expected = sum(weight[:, c].reshape(3, 1, 1) * x[0, c] for c in range(2))
        np.testing.assert_allclose(out[0], expected, atol=1e-6)

    def test_an_input_need_not_be_dense(self, compute: Compute) -> None:
        x, weight = numbers(1, 5, 6, 2).transpose(0, 3, 1, 2), numbers(2, 2, 3, 3)
        settings = {"groups": (1,), **WINDOW_SETTINGS[0]}
        expected = compute("conv2d", np.ascontiguousarray(x), weight, **settings)
        np.testing.assert_array_equal(compute("conv2d", x, weight, **settings), expected)


class TestPooling:
    """Each result is the maximum or the mean of its window."""

    @pytest.mark.parametrize("settings", WINDOW_SETTINGS)
    def test_max_pool(self, compute: Compute, settings: dict[str, tuple[int, int]]) -> None:
        x = numbers(2, 3, 9, 8)
        expected = windows(x, -np.inf, (3, 2), **settings).max(axis=(4, 5))
        np.testing.assert_array_equal(compute("max_pool2d", x, kernel=(3, 2), **settings), expected)

    def test_nan_wins_over_every_number(self, compute: Compute) -> None:
        x = np.array([[[[np.nan, 5.0, np.inf, 1.0]]]], np.float32)
        settings = {"kernel": (1, 2), "stride": (1, 2), "padding": (0, 0), "dilation": (1, 1)}
        np.testing.assert_array_equal(compute("max_pool2d", x, **settings), [[[[np.nan, np.inf]]]])

    def test_average_pool_counts_the_padding_as_zeros(self, compute: Compute) -> None:
        x = numbers(2, 3, 9, 8)
        settings = {"stride": (2, 1), "padding": (1, 1)}
        expected = windows(x, 0, (3, 2), dilation=(1, 1), **settings).mean(axis=(4, 5))
        np.testing.assert_allclose(compute("avg_pool2d", x, kernel=(3, 2), **settings), expected, atol=1e-6)

    @pytest.mark.parametrize("keep_dims", [False, True])
    @pytest.mark.parametrize("dims", [(2, 3), (0,), (1, 3, 0)])
    def test_mean(self, compute: Compute, dims: tuple[int, ...], keep_dims: bool) -> None:
        x = numbers(2, 3, 5, 4)
        total: Any = x.astype(np.float64)
        for dim in sorted(dims, reverse=True):
            total = np.add.reduce(total, axis=dim, keepdims=keep_dims) / x.shape[dim]
        out = compute("mean", x, dims=dims, keep_dims=(int(keep_dims),))
        assert out.shape == total.shape
        np.testing.assert_allclose(out, total, atol=1e-6)


class TestLinear:
    """Each result is the dot product of a row and the weights of one feature."""

    @pytest.mark.parametrize("shape", [(7,), (1, 7), (2, 3, 7)])
    def test_rows_of_any_rank(self, compute: Compute, shape: tuple[int, ...]) -> None:
        x, weight, bias = numbers(*shape), numbers(400, 7), numbers(400)
        out = compute("linear", x, weight, bias)
        assert out.shape == (*shape[:-1], 400)
        for place in np.ndindex(out.shape):
            feature = place[-1]
            expected = math.fsum(x[place[:-1]] * weight[feature]) + bias[feature]
            assert out[place] == pytest.approx(expected, abs=1e-5)

    def test_the_bias_may_be_left_out(self, compute: Compute) -> None:
        out = compute("linear", np.float32([1, 2]), np.float32([[3, 4], [5, 6], [7, 8]]))
        np.testing.assert_array_equal(out, [11, 17, 23])


class TestMatMul:
    """Each result is the dot product of a row and a column."""

    @pytest.mark.parametrize(("rows", "items", "columns"), [(3, 7, 400), (1, 1, 1), (5, 400, 2)])
    def test_each_place(self, compute: Compute, rows: int, items: int, columns: int) -> None:
        left, right = numbers(rows, items), numbers(items, columns)
        out = compute("matmul", left, right)
        for row, column in np.ndindex(rows, columns):
            expected = math.fsum(left[row] * right[:, column])
            assert out[row, column] == pytest.approx(expected, abs=1e-5)


class TestElementwise:
    """Each element is computed from the elements at its place."""

    @pytest.mark.parametrize(
        ("name", "expected"),
        [("add", [[5, 6], [3, 4]]), ("sub", [[-3, -2], [-1, 0]]), ("mul", [[4, 8], [2, 4]])],
    )
    def test_two_tensors_are_broadcast(
        self, compute: Compute, name: str, expected: list[list[float]]
    ) -> None:
        a, b = np.float32([1, 2]), np.float32([[4], [2]])
        np.testing.assert_array_equal(compute(name, a, b), expected)

    def test_a_scalar_tensor_is_broadcast(self, compute: Compute) -> None:
        x = numbers(2, 3)
        np.testing.assert_array_equal(compute("mul", x, np.array(2, np.float32)), x + x)

    def test_relu_lets_nan_through(self, compute: Compute) -> None:
        x = np.float32([-1, 0, 2, np.nan, np.inf, -np.inf])
        np.testing.assert_array_equal(compute("relu", x), [0, 0, 2, np.nan, np.inf, 0])

    @pytest.mark.parametrize("dim", [0, 1, 2])
    def test_softmax(self, compute: Compute, dim: int) -> None:
        x = numbers(2, 3, 4)
        out = compute("softmax", x, dim=(dim,))
        for place in np.ndindex(x.shape):
            line = np.moveaxis(x, dim, -1)[tuple(np.delete(place, dim))]
            expected = math.exp(x[place]) / math.fsum(map(math.exp, line))
            assert out[place] == pytest.approx(expected, abs=1e-6)

    def test_softmax_of_large_numbers_does_not_overflow(self, compute: Compute) -> None:
        np.testing.assert_array_equal(compute("softmax", np.float32([1e30, 1e30]), dim=(0,)), [0.5, 0.5])


class TestShape:
    """Elements are moved, never changed."""

    def test_reshape_keeps_the_order(self, compute: Compute) -> None:
        x = numbers(2, 3, 4)
        out = compute("reshape", x, shape=(4, 6))
        assert out.ravel().tolist() == x.ravel().tolist()

    def test_reshape_reads_a_transposed_input_in_its_own_order(self, compute: Compute) -> None:
        x = np.float32([[1, 2, 3], [4, 5, 6]]).T
        np.testing.assert_array_equal(compute("reshape", x, shape=(6,)), [1, 4, 2, 5, 3, 6])

    def test_permute(self, compute: Compute) -> None:
        x = numbers(2, 3, 4)
        out = compute("permute", x, dims=(2, 0, 1))
        assert out.shape == (4, 2, 3)
        for i, j, k in np.ndindex(x.shape):
            assert out[k, i, j] == x[i, j, k]
