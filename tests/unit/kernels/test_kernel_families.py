"""All kernels together: well declared, covered by tests, and with equal results in all their variants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from every import every
from kernel_calls import KERNELS, run, tensor
from kernel_cases import KernelCase, assert_close, case_ids, load_cases

from etconfig.base.scalar_types import ScalarType
from etconfig.errors import KernelArgumentError
from etconfig.kernel import step_makers
from etconfig.kernel.memory import Scratch, allocate_zeroed
from etconfig.kernel.tensor import Register, Tensor
from etconfig.kernels import FAMILIES
from etconfig.kernels.windows import convolution, depthwise, row_products

CASES = load_cases()
FLOAT, LONG, BOOL = ScalarType.FLOAT, ScalarType.LONG, ScalarType.BOOL

TESTED_BY_DISTRIBUTION = {
    "aten::exponential.out",
    "aten::multinomial.out",
    *(
        f"aten::normal.{each}_out"
        for each in ("Tensor_float", "float_Tensor", "Tensor_Tensor", "float_float")
    ),
    "aten::rand_like.out",
    "aten::randint.low_out",
    "aten::randint.out",
    "aten::randint_like.low_dtype_out",
    "aten::randint_like.out",
    "aten::randn_like.out",
    "aten::randperm.out",
    "aten::uniform.out",
}
"""In test_random_distributions.py."""

TESTED_BELOW = {
    "aten::_embedding_bag_forward_only.out",
    "aten::empty_permuted.out",
    "aten::empty.out",
    "aten::rand.out",
    "aten::randn.out",
    "llama::fallback.out",
    "aten::lift_fresh_copy.out",
    "dim_order_ops::_empty_dim_order.out",
    "executorch_prim::et_view.default",
    "executorch_prim::et_copy_index.tensor",
}


class TestAllKernels:
    """Requirements for every kernel."""

    @every("operator", KERNELS)
    def test_every_annotation_is_one_that_can_be_checked(self, operator: str) -> None:
        assert KERNELS[operator].parameters

    def test_every_kernel_is_compared_with_pytorch_or_tested_by_itself(self) -> None:
        recorded = {case.operator for case in CASES}
        symbolic = {name for name in KERNELS if "Scalar" in name and name.startswith("executorch_prim")}
        symbolic |= {"executorch_prim::floordiv.int", "executorch_prim::mod.int"}
        symbolic |= {"aten::sym_size.int", "aten::sym_numel", "aten::_local_scalar_dense"}
        assert set(KERNELS) == recorded | TESTED_BELOW | TESTED_BY_DISTRIBUTION | symbolic

    def test_families_are_listed_in_order(self) -> None:
        assert list(FAMILIES) == sorted(FAMILIES)


CONVOLUTIONS = [case for case in CASES if case.operator == "aten::convolution.out"]


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=case_ids(CONVOLUTIONS))
def test_convolution_in_small_tiles_is_the_same(case: KernelCase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large convolutions are computed in parts; the recorded ones are too small for that."""
    monkeypatch.setattr(convolution, "WINDOW_TILE_BYTES", 1)
    monkeypatch.setattr(row_products, "ROW_TILE_BYTES", 1)
    monkeypatch.setattr(depthwise, "DEPTHWISE_BLOCK_BYTES", 1)
    (output,) = case.run(KERNELS[case.operator])
    assert_close(output.array, case.expected[0])


WINDOWED = [case for case in CASES if "convolution" in case.operator or "max_pool" in case.operator]


@pytest.mark.parametrize("case", WINDOWED, ids=case_ids(WINDOWED))
def test_steps_that_are_too_many_to_keep_do_the_same(
    case: KernelCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_makers, "KEPT_STEPS", 3)
    for output, expected in zip(case.run(KERNELS[case.operator]), case.expected, strict=True):
        assert_close(output.array, expected)


class TestMutableWeights:
    """A weight that is not constant may change between runs, in any layout."""

    @pytest.mark.parametrize("dim_order", [(0, 1, 2, 3), (0, 2, 3, 1)])
    @pytest.mark.parametrize("dtype", [FLOAT, ScalarType.BFLOAT16])
    def test_a_step_sees_the_weight_of_its_run(self, dim_order: tuple[int, ...], dtype: ScalarType) -> None:
        x, out = tensor(1, 2, 3, 3, dtype=dtype, values=1), tensor(1, 1, 2, 2, dtype=dtype)
        weight = Tensor(dtype, (1, 2, 2, 2), dim_order, allocate_zeroed(64))
        one, none = (1, 1), (0, 0)
        arguments = [x, weight, None, one, none, one, False, none, 1, out]
        step = KERNELS["aten::convolution.out"].bind("aten::convolution.out", Scratch(), arguments)
        for value in (1, 2):
            weight.array[...] = value
            step()
            assert (out.array == 8 * value).all()


class TestInPlace:
    """Operators that write to their first argument."""

    def test_copy_broadcasts_and_converts(self) -> None:
        target = tensor(2, 3)
        run("aten::copy_", target, tensor(3, dtype=LONG, values=[1, 2, 3]), False)
        assert target.array.tolist() == [[1, 2, 3], [1, 2, 3]]

    @pytest.mark.parametrize(("accumulate", "expected"), [(False, [5, 1, 1]), (True, [11, 1, 1])])
    def test_index_put_writes_or_adds(self, accumulate: bool, expected: list[float]) -> None:
        target = tensor(3, values=1)
        index = tensor(2, dtype=LONG, values=[0, 0])
        run("aten::index_put_", target, (index,), tensor(2, values=[5, 5]), accumulate)
        assert target.array.tolist() == expected


@pytest.mark.parametrize("operator", ["llama::fallback.out", "aten::lift_fresh_copy.out"])
def test_plain_copies(operator: str) -> None:
    out = tensor(2)
    run(operator, tensor(2, values=[1, 2]), out)
    assert out.array.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("operator", "layout"),
    [
        ("aten::empty.out", None),
        ("aten::empty_permuted.out", (0,)),
        ("dim_order_ops::_empty_dim_order.out", None),
    ],
)
def test_empty_tensors_are_zero_so_that_runs_repeat(operator: str, layout: tuple[int, ...] | None) -> None:
    out = tensor(3, values=7, is_dynamic=True)
    run(operator, (2,), layout, out)
    assert out.array.tolist() == [0, 0]


class TestViews:
    """et_view makes an alias of memory in row-major order."""

    def test_the_output_is_the_memory_of_the_input(self) -> None:
        x, out = tensor(2, 3), tensor(6)
        run("executorch_prim::et_view.default", x, (-1,), out)
        assert np.shares_memory(x.array, out.array)

    def test_other_layouts_are_refused(self) -> None:
        x = Tensor(FLOAT, (2, 3), (1, 0), allocate_zeroed(64))
        with pytest.raises(KernelArgumentError, match="only memory in row-major order can be viewed"):
            run("executorch_prim::et_view.default", x, (6,), tensor(6))


class TestSingleElements:
    """One element of a vector is a view of it, not the number it had when the kernel was bound."""

    @pytest.mark.parametrize(
        ("operator", "others"), [("aten::select_copy.int_out", [0, 1]), ("aten::unbind_copy.int_out", [0])]
    )
    def test_elements_written_after_binding_are_read(self, operator: str, others: list[int]) -> None:
        x, outs = tensor(2), (tensor(), tensor())
        out: Any = outs if operator.startswith("aten::unbind") else outs[1]
        step = KERNELS[operator].bind(operator, Scratch(), [x, *others, out])
        x.array[:] = 3, 4
        step()
        assert outs[1].array == 4

    def test_one_element_of_a_vector_can_be_replaced(self) -> None:
        x, source, out = tensor(2, values=[1, 2]), tensor(), tensor(2)
        step = KERNELS["aten::select_scatter.out"].bind(
            "aten::select_scatter.out", Scratch(), [x, source, 0, 1, out]
        )
        source.array[...] = 5
        step()
        assert out.array.tolist() == [1, 5]


class TestNumbers:
    """Numbers computed while a method runs have Python's meaning and 64 bits."""

    @pytest.mark.parametrize(
        ("name", "arguments", "expected"),
        [
            ("add.Scalar", (2, 3), 5),
            ("sub.Scalar", (2, 3.5), -1.5),
            ("mul.Scalar", (2, 3), 6),
            ("truediv.Scalar", (3, 2), 1.5),
            ("floordiv.Scalar", (-7, 2), -4),
            ("floordiv.int", (-7, 2), -4),
            ("mod.int", (-7, 3), 2),
            ("mod.Scalar", (7, 3), 1),
            ("sym_max.Scalar", (2, 3), 3),
            ("sym_min.Scalar", (2, 3.0), 2),
            ("eq.Scalar", (2, 2), True),
            ("lt.Scalar", (2, 2), False),
            ("le.Scalar", (2, 2), True),
            ("gt.Scalar", (3, 2.5), True),
            ("ge.Scalar", (True, True), True),
            ("neg.Scalar", (2.5,), -2.5),
            ("sym_not.Scalar", (True,), False),
            ("sym_float.Scalar", (2,), 2.0),
            ("sym_int.Scalar", (-2.7,), -2),
            ("ceil.Scalar", (2.1,), 3),
            ("round.Scalar", (2.5,), 2),
            ("trunc.Scalar", (-2.7,), -2),
            ("sym_ite.Scalar", (False, 1, 2.5), 2.5),
        ],
    )
    def test_scalar_operators(self, name: str, arguments: tuple[Any, ...], expected: object) -> None:
        out = Register(None)
        run(f"executorch_prim::{name}", *map(Register, arguments), out)
        assert repr(out.value) == repr(expected)

    def test_sizes_and_elements_of_tensors(self) -> None:
        out = Register(None)
        run("aten::sym_size.int", tensor(2, 3), -1, out)
        assert out.value == 3
        run("aten::sym_numel", tensor(2, 3), out)
        assert out.value == 6
        for dtype, value in ((LONG, 7), (BOOL, True), (FLOAT, 0.5), (ScalarType.BFLOAT16, 0.5)):
            run("aten::_local_scalar_dense", tensor(1, dtype=dtype, values=value), out)
            assert repr(out.value) == repr(value)

    @pytest.mark.parametrize(
        ("name", "arguments", "message"),
        [
            ("executorch_prim::mul.Scalar", (2**62, 2), f"{2**63} exceeds 64 bits"),
            ("executorch_prim::add.Scalar", (True, 1), "expected a number, found True"),
            ("executorch_prim::mod.int", (1.5, 1), "expected an integer, found 1.5"),
            ("executorch_prim::sym_not.Scalar", (1,), "expected a boolean, found 1"),
            ("executorch_prim::eq.Scalar", ("a", 1), "expected a scalar, found 'a'"),
        ],
    )
    def test_other_values_are_refused(self, name: str, arguments: tuple[Any, ...], message: str) -> None:
        with pytest.raises(KernelArgumentError, match=message.replace("(", r"\(")):
            run(name, *map(Register, arguments), Register(None))

    def test_a_tensor_with_several_elements_is_not_a_number(self) -> None:
        with pytest.raises(KernelArgumentError, match=r"a tensor of shape \(2,\) has not one element"):
            run("aten::_local_scalar_dense", tensor(2), Register(None))
        with pytest.raises(KernelArgumentError, match="a scalar has no sizes"):
            run("aten::sym_size.int", tensor(), 0, Register(None))

    def test_a_map_collects_its_entries_in_order(self) -> None:
        collected, place = tensor(3, 2, is_dynamic=True), Register(0)
        for index in range(3):
            place.value = index
            run("executorch_prim::et_copy_index.tensor", collected, tensor(2, values=index), place)
            assert collected.shape == (index + 1, 2)
        assert collected.array[:, 0].tolist() == [0, 1, 2]
        for index, message in ((-1, "must not be negative, but is -1"), (3, "exceeds the planned bounds")):
            place.value = index
            with pytest.raises(KernelArgumentError, match=message):
                run("executorch_prim::et_copy_index.tensor", collected, tensor(2), place)

    def test_a_map_collects_scalars(self) -> None:
        collected, place = tensor(3, is_dynamic=True), Register(0)
        for index in range(3):
            place.value = index
            run("executorch_prim::et_copy_index.tensor", collected, tensor(values=index + 0.5), place)
        assert collected.array.tolist() == [0.5, 1.5, 2.5]

    def test_the_first_entry_of_a_map_decides_on_the_shape_of_the_others(self) -> None:
        collected, place = tensor(3, 4, is_dynamic=True), Register(0)
        for index in range(2):
            place.value = index
            run("executorch_prim::et_copy_index.tensor", collected, tensor(2, values=index), place)
        assert collected.array.tolist() == [[0, 0], [1, 1]]
        message = r"copy_from has shape \(4,\), but the entries before have shape \(2,\)"
        with pytest.raises(KernelArgumentError, match=message):
            run("executorch_prim::et_copy_index.tensor", collected, tensor(4), place)
        assert collected.array.tolist() == [[0, 0], [1, 1]]

    def test_an_entry_of_a_map_is_no_larger_than_planned(self) -> None:
        collected = tensor(3, 2, is_dynamic=True)
        message = r"shape \(1, 4\) of copy_to exceeds the planned bounds \(3, 2\)"
        with pytest.raises(KernelArgumentError, match=message):
            run("executorch_prim::et_copy_index.tensor", collected, tensor(4), Register(0))


class TestErrorFunction:
    """erf is precise to a few units in the last place, and exactly odd, bounded and saturated."""

    def test_erf_is_near_the_exact_one(self) -> None:
        positive = np.concatenate([np.linspace(0, 6, 20_001), [np.inf]]).astype(np.float32)
        x = np.concatenate([-positive[::-1], positive])
        source, out = tensor(x.size, values=x), tensor(x.size)
        run("aten::erf.out", source, out)
        exact = np.array([math.erf(each) for each in x.tolist()])
        np.testing.assert_allclose(out.array, exact, rtol=5e-7, atol=0)
        assert np.abs(out.array).max() == 1
        np.testing.assert_array_equal(out.array, -out.array[::-1])

    def test_small_sigmoids_keep_their_precision(self) -> None:
        out = tensor(2)
        run("aten::sigmoid.out", tensor(2, values=[-20, -80]), out)
        np.testing.assert_allclose(out.array, [2.0611537e-09, 1.8048514e-35], rtol=1e-6)


def test_embedding_bags_for_inference_are_those_for_training() -> None:
    assert KERNELS["aten::_embedding_bag_forward_only.out"] is KERNELS["aten::_embedding_bag.out"]
