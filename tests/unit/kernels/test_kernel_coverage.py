"""The operators that have a kernel in ExecuTorch, and those that have one here."""

from __future__ import annotations

import json

import pytest
from kernel_cases import DATA

from etconfig.kernels import builtin_kernels

UPSTREAM = json.loads((DATA / "operators.json").read_text())["operators"]

LEFT_OUT = {
    "llama::channelwise_gated_delta_rule.out": "a recurrent attention that few models have",
    "llama::gated_delta_rule.out": "a recurrent attention that few models have",
    "llama::fast_hadamard_transform.out": "only programs with SpinQuant's rotations call it",
    "llama::quantized_moe_ffn.out": "its weights are packed by torchao for its own kernels",
    "preprocess::tile_crop.out": "only the image preprocessor of one model calls it",
}
"""Operators of ExecuTorch's extensions that have no kernel here, and why."""

WITHOUT_A_KERNEL_UPSTREAM = {
    "aten::__lshift__.Scalar_out",
    "aten::__lshift__.Tensor_out",
    "aten::__rshift__.Scalar_out",
    "aten::__rshift__.Tensor_out",
    "aten::_adaptive_avg_pool3d.out",
    "aten::_embedding_bag.out",
    "aten::_embedding_bag_forward_only.out",
    "aten::_fft_c2c.out",
    "aten::_logcumsumexp.out",
    "aten::_trilinear.out",
    "aten::_unique2.out",
    "aten::_upsample_bicubic2d_aa.out",
    "aten::adaptive_max_pool2d.out",
    "aten::adaptive_max_pool3d.out",
    "aten::addbmm.out",
    "aten::addmv.out",
    "aten::angle.out",
    "aten::as_strided_scatter.out",
    "aten::avg_pool3d.out",
    "aten::bartlett_window.out",
    "aten::bartlett_window.periodic_out",
    "aten::blackman_window.out",
    "aten::blackman_window.periodic_out",
    "aten::bucketize.Scalar_out",
    "aten::bucketize.Tensor_out",
    "aten::complex.out",
    "aten::copysign.Scalar_out",
    "aten::copysign.out",
    "aten::cummax.out",
    "aten::cummin.out",
    "aten::cumprod.out",
    "aten::diagonal_scatter.out",
    "aten::digamma.out",
    "aten::dist.out",
    "aten::empty_permuted.out",
    "aten::erfc.out",
    "aten::erfinv.out",
    "aten::exp2.out",
    "aten::exponential.out",
    "aten::fft_fftfreq.out",
    "aten::fft_rfftfreq.out",
    "aten::fmax.out",
    "aten::fmin.out",
    "aten::fractional_max_pool2d.output",
    "aten::fractional_max_pool3d.output",
    "aten::frexp.Tensor_out",
    "aten::gcd.out",
    "aten::grid_sampler_3d.out",
    "aten::hamming_window.out",
    "aten::hamming_window.periodic_alpha_beta_out",
    "aten::hamming_window.periodic_alpha_out",
    "aten::hamming_window.periodic_out",
    "aten::hann_window.out",
    "aten::hann_window.periodic_out",
    "aten::hardsigmoid.out",
    "aten::hardswish.out",
    "aten::histc.out",
    "aten::hypot.out",
    "aten::i0.out",
    "aten::index_reduce.out",
    "aten::kaiser_window.beta_out",
    "aten::kaiser_window.out",
    "aten::kaiser_window.periodic_out",
    "aten::kthvalue.values",
    "aten::lcm.out",
    "aten::ldexp.out",
    "aten::lgamma.out",
    "aten::linalg_cholesky_ex.L",
    "aten::linalg_inv_ex.inverse",
    "aten::logcumsumexp.out",
    "aten::max_pool3d_with_indices.out",
    "aten::median.dim_values",
    "aten::median.out",
    "aten::mode.values",
    "aten::multinomial.out",
    "aten::nanmedian.dim_values",
    "aten::nanmedian.out",
    "aten::nextafter.out",
    "aten::normal.Tensor_Tensor_out",
    "aten::normal.Tensor_float_out",
    "aten::normal.float_Tensor_out",
    "aten::normal.float_float_out",
    "aten::polar.out",
    "aten::put.out",
    "aten::rand_like.out",
    "aten::randint.low_out",
    "aten::randint.out",
    "aten::randint_like.low_dtype_out",
    "aten::randint_like.out",
    "aten::randn_like.out",
    "aten::randperm.out",
    "aten::round.decimals_out",
    "aten::scatter_reduce.two_out",
    "aten::searchsorted.Scalar_out",
    "aten::searchsorted.Tensor_out",
    "aten::signbit.out",
    "aten::silu.out",
    "aten::sort.values",
    "aten::sort.values_stable",
    "aten::tril_indices.out",
    "aten::triu_indices.out",
    "aten::uniform.out",
    "aten::unique_consecutive.out",
    "aten::view_as_complex_copy.out",
    "aten::view_copy.dtype_out",
    "quantized_decomposed::choose_qparams_per_token.out",
    "quantized_decomposed::choose_qparams_symmetric.tensor_out",
    "quantized_decomposed::dequantize_per_channel_group.out",
    "quantized_decomposed::dequantize_per_tensor.tensor2_out",
    "quantized_decomposed::quantize_per_channel_group.out",
    "quantized_decomposed::quantize_per_tensor.tensor2_out",
}
"""Operators that exports contain and ExecuTorch has no kernels for; named as PyTorch names outputs."""


class TestCoverage:
    """Every operator of ExecuTorch's portable and quantized kernels has a kernel here."""

    @pytest.mark.parametrize("source", ["portable", "quantized"])
    def test_the_lists_of_the_sources_are_covered(self, source: str) -> None:
        assert set(UPSTREAM[source]) <= set(builtin_kernels())

    def test_other_operators_of_the_runtime_are_covered_or_left_out_for_a_reason(self) -> None:
        assert set(UPSTREAM["runtime"]) - set(builtin_kernels()) == set(LEFT_OUT)

    def test_there_are_no_other_kernels(self) -> None:
        known = {operator for operators in UPSTREAM.values() for operator in operators}
        assert set(builtin_kernels()) - known == WITHOUT_A_KERNEL_UPSTREAM
