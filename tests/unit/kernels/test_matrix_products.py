"""Products of matrices, of few and many rows, with operands in any memory layout."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_calls import tensor_of

from etconfig.kernel.memory import Scratch
from etconfig.kernels import builtin_kernels, linalg
from etconfig.kernels.linalg import MAX_FEW_ROWS, MAX_SPLIT_ROWS, MAX_SPREAD

KERNELS = builtin_kernels()
INNER, COLUMNS = 5, 7


@pytest.mark.parametrize("rows", [0, 1, 2, MAX_FEW_ROWS, MAX_FEW_ROWS + 1])
class TestProducts:
    """The number of rows decides how BLAS is called, but not the result."""

    @pytest.mark.parametrize("is_transposed", [False, True])
    def test_mm_and_addmm(self, rows: int, is_transposed: bool) -> None:
        rng = np.random.default_rng(0)
        first = rng.normal(size=(rows, INNER)).astype(np.float32)
        second = rng.normal(size=(INNER, COLUMNS)).astype(np.float32)
        if is_transposed:
            second = second.T.copy().T
        added = rng.normal(size=COLUMNS).astype(np.float32)
        for operator, before, after, addend in (
            ("aten::mm.out", [], [], 0),
            ("aten::addmm.out", [tensor_of(added)], [1, 1], added),
        ):
            out = tensor_of(np.full((rows, COLUMNS), np.nan, np.float32))
            arguments = [*before, tensor_of(first), tensor_of(second), *after, out]
            step = KERNELS[operator].bind(operator, Scratch(), arguments)
            for _ in range(2):
                step()
                np.testing.assert_allclose(out.array, first @ second.astype(float) + addend, atol=1e-5)
                second[...] *= 2  # it is not a constant

    @pytest.mark.parametrize("batch", [1, 3])
    @pytest.mark.parametrize("inner", [0, INNER])
    def test_linear(self, rows: int, batch: int, inner: int) -> None:
        rng = np.random.default_rng(0)
        x = rng.normal(size=(batch, rows, inner)).astype(np.float32)
        weight = rng.normal(size=(COLUMNS, inner)).astype(np.float32)
        bias = rng.normal(size=COLUMNS).astype(np.float32)
        out = tensor_of(np.full((batch, rows, COLUMNS), np.nan, np.float32))
        arguments = [tensor_of(x), tensor_of(weight), tensor_of(bias), out]
        KERNELS["aten::linear.out"].bind("aten::linear.out", Scratch(), arguments)()
        np.testing.assert_allclose(out.array, x @ weight.T.astype(float) + bias, atol=1e-5)


@pytest.mark.parametrize("most", [1, 2 * INNER * 3, 2 * INNER * COLUMNS])
@pytest.mark.parametrize("rows", [2, MAX_SPLIT_ROWS, MAX_FEW_ROWS])
@pytest.mark.parametrize("is_row_major", [False, True])
@pytest.mark.parametrize("is_transposed", [False, True])
def test_a_product_in_parts_is_the_same(
    rows: int, is_row_major: bool, is_transposed: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first factor of a few rows may need a copy, which all parts share."""
    monkeypatch.setattr(linalg, "SMALL_PRODUCT", most)
    monkeypatch.setattr(linalg, "TURNED_BYTES", most)
    rng = np.random.default_rng(0)
    first = rng.normal(size=(rows, 2 * INNER)).astype(np.float32)[:, :: 1 if is_row_major else 2]
    second = rng.normal(size=(first.shape[1], COLUMNS)).astype(np.float32)
    if is_transposed:
        second = second.T.copy().T
    out = tensor_of(np.full((rows, COLUMNS), np.nan, np.float32))
    step = KERNELS["aten::mm.out"].bind("aten::mm.out", Scratch(), [tensor_of(first), tensor_of(second), out])
    for _ in range(2):
        step()
        np.testing.assert_allclose(out.array, first @ second.astype(float), atol=1e-5)
        first[...] *= 2  # it is not a constant


@pytest.mark.parametrize("columns", [MAX_SPREAD // 2, MAX_SPREAD // 2 + 1])
@pytest.mark.parametrize("is_constant", [False, True])
@pytest.mark.parametrize("shape", [(), (1,), (2, 1), None], ids=str)
def test_a_bias_of_any_shape_is_added(columns: int, is_constant: bool, shape: tuple[int, ...] | None) -> None:
    """The size of the result, and whether the bias is constant, decide how it is added."""
    rng = np.random.default_rng(0)
    bias = rng.normal(size=(columns,) if shape is None else shape).astype(np.float32)
    given = tensor_of(bias)
    given.array.flags.writeable = not is_constant
    first, second = (rng.normal(size=size).astype(np.float32) for size in ((2, INNER), (INNER, columns)))
    out = tensor_of(np.empty((2, columns), np.float32))
    step = KERNELS["aten::addmm.out"].bind(
        "aten::addmm.out", Scratch(), [given, tensor_of(first), tensor_of(second), 1, 1, out]
    )
    for _ in range(2):
        step()
        np.testing.assert_allclose(out.array, first @ second.astype(float) + bias, atol=1e-5)
        if not is_constant:
            bias *= 3
