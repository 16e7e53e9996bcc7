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
    "aten::_adaptive_avg_pool3d.out",
    "aten::adaptive_max_pool2d.out",
    "aten::adaptive_max_pool3d.out",
    "aten::avg_pool3d.out",
    "aten::max_pool3d_with_indices.out",
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
