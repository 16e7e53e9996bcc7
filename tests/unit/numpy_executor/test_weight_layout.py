"""Weights of matrix products: when the optimizer copies them to another layout, and when they stay views."""

from __future__ import annotations

import numpy as np
import pytest
from plans import KERNELS, PlanBuilder, floats

from etconfig.kernel.memory import Array
from etconfig.kernel.registry import Kernel, Scalar, Step
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.numpy_executor.optimizer import constants, optimizer

WEIGHT = np.arange(12, dtype=np.float32).reshape(4, 3)
MM, ADDMM = "aten::mm.out", "aten::addmm.out"


def add_product(builder: PlanBuilder, weight: int, *, rows: int = 2, operator: str = MM) -> int:
    """An output `x @ weight.T` for a new input `x`; returns the tensor that the weight is permuted to."""
    x, turned, out = builder.tensor(rows, 3), builder.tensor(3, 4), builder.tensor(rows, 4)
    builder.inputs.append(x)
    builder.outputs.append(out)
    builder.call("aten::permute_copy.out", weight, builder.ints(1, 0), turned, turned)
    if operator == MM:
        builder.call(operator, x, turned, out, out)
    else:
        bias, one = builder.constant(floats(1, 2, 3, 4)), builder.scalar(1)
        builder.call(operator, bias, x, turned, one, one, out, out)
    return turned


def factors_of(builder: PlanBuilder) -> list[Array]:
    """The second factors of the products, as kernels get them; a copied one is row-major."""
    seen: list[Array] = []

    def mm(self: Tensor, mat2: Tensor, out: Tensor) -> Step:
        seen.append(mat2.array)
        return ArrayCall(np.matmul, self.array, mat2.array, out.array)

    def addmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Scalar, alpha: Scalar, out: Tensor) -> Step:
        return mm(mat1, mat2, out)

    watched = (Kernel((MM,), mm, takes_any_strides=True), Kernel((ADDMM,), addmm, takes_any_strides=True))
    builder.load(kernels={**KERNELS, **{each.operators[0]: each for each in watched}})
    return seen


def is_packed(builder: PlanBuilder) -> bool:
    """Return whether the factor of the one product was copied."""
    (factor,) = factors_of(builder)
    assert factor.tolist() == WEIGHT.T.tolist()
    return factor.flags.c_contiguous


class TestPacking:
    """A small constant matrix that several rows are multiplied by is copied to the best layout once."""

    @pytest.mark.parametrize("operator", [MM, ADDMM])
    def test_a_permuted_weight_lies_row_by_row(self, operator: str) -> None:
        builder = PlanBuilder()
        add_product(builder, builder.constant(WEIGHT), operator=operator)
        assert is_packed(builder)

    @pytest.mark.parametrize("operator", [MM, ADDMM])
    def test_the_answer_is_the_same(self, operator: str) -> None:
        builder = PlanBuilder()
        add_product(builder, builder.constant(WEIGHT), operator=operator)
        x = floats(1, 0, 2, -1, 3, 5).reshape(2, 3)
        faithful, optimized = builder.load(optimize=False), builder.load()
        for _ in range(2):
            assert optimized.execute([x])[0].tolist() == faithful.execute([x])[0].tolist()

    def test_one_row_is_multiplied_by_a_view(self) -> None:
        builder = PlanBuilder()
        add_product(builder, builder.constant(WEIGHT), rows=1)
        assert not is_packed(builder)

    def test_a_large_matrix_stays_a_view(self, monkeypatch: pytest.MonkeyPatch) -> None:
        builder = PlanBuilder()
        add_product(builder, builder.constant(WEIGHT))
        monkeypatch.setattr(optimizer, "PACKED_WEIGHT_BYTES", WEIGHT.nbytes - 1)
        assert not is_packed(builder)

    def test_a_matrix_beyond_the_budget_stays_a_view(self, monkeypatch: pytest.MonkeyPatch) -> None:
        builder = PlanBuilder()
        add_product(builder, builder.constant(WEIGHT))
        monkeypatch.setattr(constants, "BUDGET_BYTES", WEIGHT.nbytes - 1)
        assert not is_packed(builder)

    def test_with_another_reader_it_stays_a_view(self) -> None:
        builder = PlanBuilder()
        turned, square = add_product(builder, builder.constant(WEIGHT)), builder.tensor(3, 3)
        builder.outputs.append(square)
        builder.call(MM, turned, builder.constant(WEIGHT), square, square)
        assert not factors_of(builder)[0].flags.c_contiguous

    def test_a_weight_that_is_an_input_is_not_constant(self) -> None:
        builder = PlanBuilder()
        weight = builder.tensor(4, 3)
        builder.inputs.append(weight)
        add_product(builder, weight)
        assert not factors_of(builder)[0].flags.c_contiguous

    def test_rounds_of_an_unrolled_loop_share_one_matrix(self, monkeypatch: pytest.MonkeyPatch) -> None:
        builder = PlanBuilder()
        weight = builder.constant(WEIGHT)
        for _ in range(3):
            add_product(builder, weight)
        monkeypatch.setattr(constants, "BUDGET_BYTES", WEIGHT.nbytes)
        first, *others = factors_of(builder)
        assert first.flags.c_contiguous
        assert all(each is first for each in others)

    def test_other_weights_have_matrices_of_their_own(self) -> None:
        builder = PlanBuilder()
        for weight in (WEIGHT, -WEIGHT):
            add_product(builder, builder.constant(weight))
        assert [each.tolist() for each in factors_of(builder)] == [WEIGHT.T.tolist(), (-WEIGHT).T.tolist()]
