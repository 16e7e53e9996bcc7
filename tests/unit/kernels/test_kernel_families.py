"""All kernels together: declared well, covered, and refusing what they cannot do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from kernel_cases import KernelCase, assert_close, case_ids, load_cases

from etconfig.errors import KernelArgumentError
from etconfig.executor.memory import Scratch, allocate_zeroed
from etconfig.executor.plan import Block, Plan
from etconfig.executor.tensor import Register, Tensor
from etconfig.kernels import FAMILIES, binding, builtin_kernels, convolution, depthwise, row_products
from etconfig.program.model import TensorShapeDynamism
from etconfig.values import ScalarType

KERNELS = builtin_kernels()
CASES = load_cases()
FLOAT, LONG, BOOL = ScalarType.FLOAT, ScalarType.LONG, ScalarType.BOOL

TESTED_BELOW = {
    "aten::empty.out",
    "aten::rand.out",
    "aten::randn.out",
    "llama::fallback.out",
    "aten::lift_fresh_copy.out",
    "dim_order_ops::_empty_dim_order.out",
    "executorch_prim::et_view.default",
    "executorch_prim::et_copy_index.tensor",
}


def tensor(*sizes: int, dtype: ScalarType = FLOAT, values: object = None, is_dynamic: bool = False) -> Tensor:
    dynamism = TensorShapeDynamism.DYNAMIC_BOUND if is_dynamic else TensorShapeDynamism.STATIC
    memory = allocate_zeroed(math.prod(sizes) * dtype.itemsize_bytes)
    made = Tensor(dtype, sizes, tuple(range(len(sizes))), memory, 0, dynamism)
    if values is not None:
        made.array[...] = values
    return made


def run(operator: str, *arguments: Any) -> None:
    """Bind and run, as a plan of one instruction does."""
    step = KERNELS[operator].bind(operator, Scratch(), arguments)
    with np.errstate(all="ignore"):
        Plan("forward", [[Block((step,), (operator,), 1, 1)]], 1).run()


class TestAllKernels:
    """What every kernel has in common."""

    @pytest.mark.parametrize("operator", KERNELS)
    def test_every_annotation_is_one_that_can_be_checked(self, operator: str) -> None:
        assert KERNELS[operator].parameters

    def test_every_kernel_is_held_against_pytorch_or_tested_by_itself(self) -> None:
        recorded = {case.operator for case in CASES}
        symbolic = {name for name in KERNELS if "Scalar" in name and name.startswith("executorch_prim")}
        symbolic |= {"executorch_prim::floordiv.int", "executorch_prim::mod.int"}
        symbolic |= {"aten::sym_size.int", "aten::sym_numel", "aten::_local_scalar_dense"}
        assert set(KERNELS) == recorded | TESTED_BELOW | symbolic

    def test_families_are_listed_in_order(self) -> None:
        assert list(FAMILIES) == sorted(FAMILIES)


CONVOLUTIONS = [case for case in CASES if case.operator == "aten::convolution.out"]


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=case_ids(CONVOLUTIONS))
def test_convolution_in_small_tiles_is_the_same(case: KernelCase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large convolutions are done in parts, which the recorded ones are too small for."""
    monkeypatch.setattr(convolution, "TILE_BYTES", 1)
    monkeypatch.setattr(row_products, "TILE_BYTES", 1)
    monkeypatch.setattr(depthwise, "BLOCK_BYTES", 1)
    (output,) = case.run(KERNELS[case.operator])
    assert_close(output.array, case.expected[0])


WINDOWED = [case for case in CASES if "convolution" in case.operator or "max_pool" in case.operator]


@pytest.mark.parametrize("case", WINDOWED, ids=case_ids(WINDOWED))
def test_steps_that_are_too_many_to_keep_do_the_same(
    case: KernelCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding, "KEPT_STEPS", 3)
    for output, expected in zip(case.run(KERNELS[case.operator]), case.expected, strict=True):
        assert_close(output.array, expected)


class TestMutableWeights:
    """A weight that is no constant may change between runs, in any layout."""

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


@pytest.mark.parametrize("operator", ["aten::empty.out", "dim_order_ops::_empty_dim_order.out"])
def test_empty_tensors_are_zero_so_that_runs_repeat(operator: str) -> None:
    out = tensor(3, values=7, is_dynamic=True)
    run(operator, (2,), None, out)
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


def long(*values: int) -> Tensor:
    return tensor(len(values), dtype=LONG, values=values)


def new_refusals(
    x: Tensor, out: Tensor, y: Tensor, numbers: Tensor, image: Tensor
) -> dict[str, tuple[str, list[Any]]]:
    """Those of operators that few programs call."""
    byte = tensor(2, 3, dtype=ScalarType.CHAR)
    step, cache, mask = tensor(1, 2, 1, 4), tensor(1, 3, 1, 4), tensor(2, 3, dtype=BOOL)
    one, vector, place = tensor(1), tensor(3), tensor(1, dtype=LONG)
    q = "quantized_decomposed::"
    attention = [None, 0.0, False, None, step]
    return {
        "integers have no negative powers": ("aten::pow.Tensor_Scalar_out", [numbers, -1, numbers]),
        "rows of (2, 3) and (4, 2) differ in length": (
            "aten::_cdist_forward.out",
            [x, tensor(4, 2), 2.0, None, out],
        ),
        "p must not be negative, but is -1.0": ("aten::_cdist_forward.out", [x, y, -1.0, None, tensor(2, 4)]),
        "(3,) and (4, 3) must be matrices": ("aten::_cdist_forward.out", [vector, y, 2.0, None, out]),
        "grid must have shape (1, H, W, 2), but has (1, 1, 4, 4)": (
            "aten::grid_sampler_2d.out",
            [image, image, 0, 0, False, image],
        ),
        "interpolation_mode must be 0, 1 or 2, not 3": (
            "aten::grid_sampler_2d.out",
            [image, tensor(1, 2, 2, 2), 3, 0, False, tensor(1, 1, 2, 2)],
        ),
        "padding_mode must be 0, 1 or 2, not -1": (
            "aten::grid_sampler_2d.out",
            [image, tensor(1, 2, 2, 2), 0, -1, False, tensor(1, 1, 2, 2)],
        ),
        "repeats must not be negative": (
            "aten::repeat_interleave.Tensor_out",
            [long(-1), None, tensor(0, dtype=LONG)],
        ),
        "repeats add up to 2, but output_size is 3": (
            "aten::repeat_interleave.Tensor_out",
            [long(2), 3, tensor(3, dtype=LONG)],
        ),
        "p must be from 0 to 1, not 1.5": ("aten::native_dropout.out", [x, 1.5, True, out, mask]),
        "there are (2, 2) windows over (1, 1, 4, 4), not (1, 1)": (
            "aten::convolution_backward.out",
            [
                *(tensor(1, 1, 1, 1), image, tensor(1, 1, 3, 3), None, (1, 1), (0, 0), (1, 1), False, (0, 0)),
                *(1, (True, True, True), image, tensor(1, 1, 3, 3), one),
            ],
        ),
        "an index is out of range for 16 elements": (
            "aten::max_pool2d_with_indices_backward.grad_input",
            [
                *(tensor(1, 1, 1, 1), image, (2, 2), (2, 2), (0, 0), (1, 1), False),
                *(tensor(1, 1, 1, 1, dtype=LONG, values=16), image),
            ],
        ),
        "normalization must be 0, 1 or 2, not 3": (
            "aten::_fft_r2c.out",
            [vector, (0,), 3, True, tensor(2, dtype=ScalarType.COMPLEX64)],
        ),
        "last_dim_size must be positive, not 0": (
            "aten::_fft_c2r.out",
            [tensor(2, dtype=ScalarType.COMPLEX64), (0,), 0, 0, vector],
        ),
        "weight, bias and running statistics must have shape (3,)": (
            "aten::_native_batch_norm_legit.no_stats_out",
            [x, one, None, True, 0.1, 1e-5, out, vector, vector],
        ),
        "out is int8, but dtype says 0": (
            f"{q}quantize_per_tensor.out",
            [x, 0.1, 0, 0, 255, int(ScalarType.BYTE), byte],
        ),
        "scale must have one element, but has shape (3,)": (
            f"{q}quantize_per_tensor.Tensor_out",
            [x, vector, place, -128, 127, int(ScalarType.CHAR), byte],
        ),
        "scales must have 2 elements, but has shape (3,)": (
            f"{q}dequantize_per_channel.out",
            [byte, vector, None, 0, -128, 127, int(ScalarType.CHAR), None, out],
        ),
        "input must have rows, but is a scalar": (
            f"{q}dequantize_per_token.out",
            [tensor(dtype=ScalarType.CHAR), one, one, -128, 127, 1, 6, tensor()],
        ),
        "rows of 3 elements cannot be split in groups of 2": (
            f"{q}dequantize_per_channel_group.out",
            [byte, one, None, -128, 127, int(ScalarType.CHAR), 2, 6, out],
        ),
        "quant_min 5 must be less than quant_max 5": (
            f"{q}choose_qparams.Tensor_out",
            [x, 5, 5, 1e-7, 1, one, place],
        ),
        "there is no range of no elements": (
            f"{q}choose_qparams.Tensor_out",
            [tensor(0), 0, 5, 1e-7, 1, one, place],
        ),
        "(2, 0) has no rows with elements": (
            f"{q}choose_qparams_per_token.out",
            [tensor(2, 0), 1, tensor(2, 1), tensor(2, 1, dtype=LONG)],
        ),
        "rows are quantized to int8, not to 0": (
            f"{q}choose_qparams_per_token.out",
            [x, 0, tensor(2, 1), tensor(2, 1, dtype=LONG)],
        ),
        "weight_scales (3,) does not fit 2 rows of 3 elements": (
            f"{q}embedding_byte.out",
            [byte, vector, None, -128, 127, long(0), tensor(1, 3)],
        ),
        "index 2 is out of range for size 2 ": (
            f"{q}embedding_byte.out",
            [byte, tensor(2), None, -128, 127, long(2), tensor(1, 3)],
        ),
        "weight_zero_points are not supported, nor does ExecuTorch support them": (
            f"{q}mixed_linear.out",
            [x, byte, tensor(2), tensor(2), None, tensor(2, 2)],
        ),
        "positions 2 to 4 exceed the cache of 3": ("llama::update_cache.out", [step, cache, 2, one]),
        "value (1, 3, 1, 4) does not fit cache (1, 1, 4, 4)": (
            "llama::update_cache.out",
            [cache, image, 0, one],
        ),
        "positions 2 to 4 exceed the cache of 3 ": (
            "llama::custom_sdpa.out",
            [step, cache, cache, 2, *attention],
        ),
        "give either attn_mask or is_causal": (
            "llama::custom_sdpa.out",
            [step, cache, cache, 0, x, 0.0, True, None, step],
        ),
        "query needs scales and zero points of shape (1, 1, 1, 1)": (
            "llama::custom_quantized_sdpa.out",
            [
                *[tensor(1, 1, 1, 3, dtype=ScalarType.CHAR)] * 3,
                *(0, None, 0.0, False, *[None] * 7, False, tensor(1, 1, 1, 3)),
            ],
        ),
    }


def refusals() -> dict[str, tuple[str, list[Any]]]:
    """Message by operator and arguments; a space at its end tells equal messages apart."""
    x, out, y = tensor(2, 3), tensor(2, 3), tensor(4, 3)
    numbers = tensor(2, 3, dtype=LONG)
    pool = [(2, 2), (2, 2), (0, 0), (1, 1), False]
    image = tensor(1, 1, 4, 4)
    weight = tensor(1, 1, 3, 3)
    one, zero = (1, 1), (0, 0)
    return {
        "shapes (2, 3) and (4, 3) do not broadcast": ("aten::add.out", [x, y, 1, out]),
        "a result of dtype float32 cannot be written to int64": ("aten::mul.out", [x, x, numbers]),
        "true division gives floats, but out is int64": ("aten::div.out", [numbers, numbers, numbers]),
        "rounding_mode must be trunc, floor or None, not 'up'": ("aten::div.out_mode", [x, x, "up", out]),
        "one of min and max must be given": ("aten::clamp.out", [x, None, None, out]),
        "9223372036854775807 does not fit int32": (
            "aten::full.out",
            [(1,), 2**63 - 1, tensor(1, dtype=ScalarType.INT)],
        ),
        "bits are of integers or booleans, not of float32": ("aten::bitwise_and.Tensor_out", [x, x, out]),
        "approximate must be none or tanh, not 'exact'": ("aten::gelu.out", [x, "exact", out]),
        "dimension 1 of (2, 3) is not even": ("aten::glu.out", [x, 1, tensor(2, 1)]),
        "(2, 3) and (4, 3) cannot be multiplied": ("aten::mm.out", [x, y, out]),
        "(1, 2, 3) does not broadcast to (2, 3)": (
            "aten::addmm.out",
            [tensor(1, 2, 3), tensor(2, 4), y, 1, 1, out],
        ),
        "input has 1 channels, weight (1, 1, 3, 3) in 2 groups takes 2": (
            "aten::convolution.out",
            [image, weight, None, one, zero, one, False, zero, 2, tensor(1, 1, 2, 2)],
        ),
        "a window of 3 does not fit size 2 with padding 0": (
            "aten::convolution.out",
            [tensor(1, 1, 2, 2), weight, None, one, zero, one, False, zero, 1, tensor(1, 1, 1, 1)],
        ),
        "stride must be at least 1, not (0, 1)": (
            "aten::convolution.out",
            [image, weight, None, (0, 1), zero, one, False, zero, 1, tensor(1, 1, 2, 2)],
        ),
        "bias must have shape (1,)": (
            "aten::convolution.out",
            [image, weight, tensor(2), one, zero, one, False, zero, 1, tensor(1, 1, 2, 2)],
        ),
        "padding (2, 2) is more than half of the window (2, 2)": (
            "aten::max_pool2d_with_indices.out",
            [image, *pool[:2], (2, 2), *pool[3:], image, tensor(1, 1, 4, 4, dtype=LONG)],
        ),
        "padding (500000, 500000) makes (1000004, 1000004) of (4, 4)": (
            "aten::convolution.out",
            [image, weight, None, one, (500_000,) * 2, (500_001,) * 2, False, zero, 1, tensor(1, 1, 2, 2)],
        ),
        "a window of (257, 257) has more than 65536 elements": (
            "aten::avg_pool2d.out",
            [image, (257, 257), one, (128, 128), False, True, None, image],
        ),
        "indices must be one of int64, but is float32": (
            "aten::max_pool2d_with_indices.out",
            [image, *pool, tensor(1, 1, 2, 2), tensor(1, 1, 2, 2)],
        ),
        "(2, 3) does not end in (2,)": (
            "aten::native_layer_norm.out",
            [x, (2,), None, None, 1e-5, out, out, out],
        ),
        "there is no extreme of shape (0,)": ("aten::max.unary_out", [tensor(0), tensor()]),
        "6 elements of shape (2, 3) cannot be viewed as (4, -1)": ("aten::view_copy.out", [x, (4, -1), out]),
        "(0,) is no permutation of 2 dimensions": ("aten::permute_copy.out", [x, (0,), out]),
        "(2, 3) cannot be expanded to (3,)": ("aten::expand_copy.out", [x, (3,), False, out]),
        "shapes (2, 3) and (2, 4) do not broadcast": ("aten::expand_copy.out", [x, (2, 4), False, out]),
        "(2, 3) cannot be expanded to (1, 3)": ("aten::expand_copy.out", [x, (1, 3), False, out]),
        "parts of (-1, 4) do not make up the size 3": (
            "aten::split_with_sizes_copy.out",
            [x, (-1, 4), 1, (out, out)],
        ),
        "index 2 is out of range for size 2": ("aten::select_copy.int_out", [x, 0, 2, tensor(3)]),
        "step must be positive, not 0": ("aten::slice_copy.Tensor_out", [x, 0, None, None, 0, out]),
        "size (2, 3) with stride (3, 2) leaves the tensor": (
            "aten::as_strided_copy.out",
            [x, (2, 3), (3, 2), None, out],
        ),
        "shapes (2, 3) and (2, 4) differ outside dimension 0": ("aten::cat.out", [(x, tensor(2, 4)), 0, out]),
        "there is nothing to join": ("aten::cat.out", [(), 0, out]),
        "parts of (1, 3) do not make up the size 3": (
            "aten::split_with_sizes_copy.out",
            [x, (1, 3), 1, (tensor(2, 1), tensor(2, 3))],
        ),
        "step must not be 0": ("aten::arange.start_out", [0, 3, 0, tensor(3)]),
        "1 cannot be reached from 3 in steps of 1": ("aten::arange.start_out", [3, 1, 1, tensor(3)]),
        "index 4 is out of range for size 4": ("aten::embedding.out", [y, long(1, 4), -1, False, False, out]),
        "index -1 is out of range for size 3": (
            "aten::gather.out",
            [x, 1, tensor(2, 1, dtype=LONG, values=-1), False, tensor(2, 1)],
        ),
        "IndexError: index 5 is out of bounds for axis 0 with size 2": (
            "aten::index.Tensor_out",
            [x, (long(5, 0),), out],
        ),
        **new_refusals(x, out, y, numbers, image),
        "source has 1 elements, mask takes 6": (
            "aten::masked_scatter.out",
            [x, tensor(2, 3, dtype=BOOL, values=True), tensor(1), out],
        ),
        "padding (3, 0) must be less than the size 3": (
            "aten::reflection_pad1d.out",
            [x, (3, 0), tensor(2, 6)],
        ),
        "give either output_size or scale_factors": (
            "aten::upsample_nearest2d.vec_out",
            [image, None, None, image],
        ),
        "there are no 4 elements along dimension 1 of (2, 3)": (
            "aten::topk.values",
            [x, 4, 1, True, True, tensor(2, 4), tensor(2, 4, dtype=LONG)],
        ),
    }


@pytest.mark.parametrize("message", refusals())
def test_a_kernel_says_why_it_refuses(message: str) -> None:
    operator, arguments = refusals()[message]
    with pytest.raises(KernelArgumentError) as caught:
        run(operator, *arguments)
    assert str(caught.value) == f"{operator}: {message}".rstrip()


class TestSingleElements:
    """One element of a vector is a view of it, not the number that it was when the kernel was bound."""

    @pytest.mark.parametrize(
        ("operator", "others"), [("aten::select_copy.int_out", [0, 1]), ("aten::unbind_copy.int_out", [0])]
    )
    def test_what_is_written_after_binding_is_seen(self, operator: str, others: list[int]) -> None:
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
    def test_what_does_not_fit_is_refused(self, name: str, arguments: tuple[Any, ...], message: str) -> None:
        with pytest.raises(KernelArgumentError, match=message.replace("(", r"\(")):
            run(name, *map(Register, arguments), Register(None))

    def test_a_tensor_with_several_elements_is_no_number(self) -> None:
        with pytest.raises(KernelArgumentError, match=r"a tensor of shape \(2,\) has not one element"):
            run("aten::_local_scalar_dense", tensor(2), Register(None))
        with pytest.raises(KernelArgumentError, match="a scalar has no sizes"):
            run("aten::sym_size.int", tensor(), 0, Register(None))

    def test_a_map_collects_what_it_is_given_in_order(self) -> None:
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


class TestErrorFunction:
    """erf is within a few units in the last place, and exactly odd, bounded and saturated."""

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
