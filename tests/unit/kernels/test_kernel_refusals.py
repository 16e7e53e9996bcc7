"""Kernels refuse arguments that they cannot work on, and say why."""

from __future__ import annotations

from typing import Any

import pytest
from every import every
from kernel_calls import run, tensor

from etconfig.base.scalar_types import ScalarType
from etconfig.errors import KernelArgumentError
from etconfig.kernel.tensor import Tensor

FLOAT, LONG, BOOL = ScalarType.FLOAT, ScalarType.LONG, ScalarType.BOOL


def long(*values: int) -> Tensor:
    return tensor(len(values), dtype=LONG, values=values)


def rare_refusals(
    x: Tensor, out: Tensor, y: Tensor, numbers: Tensor, image: Tensor
) -> dict[str, tuple[str, list[Any]]]:
    """The refusals of operators that few programs call."""
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
        "a tensor of rank 0 has no dimension to transform": (
            "aten::_fft_c2r.out",
            [tensor(dtype=ScalarType.COMPLEX64), (), 0, 1, tensor()],
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
        "a tensor without elements has no range": (
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
        "shape (0,) has no elements to find an extreme of": ("aten::max.unary_out", [tensor(0), tensor()]),
        "6 elements of shape (2, 3) cannot be viewed as (4, -1)": ("aten::view_copy.out", [x, (4, -1), out]),
        "(0,) is not a permutation of 2 dimensions": ("aten::permute_copy.out", [x, (0,), out]),
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
        **rare_refusals(x, out, y, numbers, image),
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


@every("message", refusals())
def test_a_kernel_says_why_it_refuses(message: str) -> None:
    operator, arguments = refusals()[message]
    with pytest.raises(KernelArgumentError) as caught:
        run(operator, *arguments)
    assert str(caught.value) == f"{operator}: {message}".rstrip()
