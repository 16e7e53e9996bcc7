"""Libraries of operators that the executorch wheel ships, and that are loaded on request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class WheelLibrary(NamedTuple):
    """A library of operators in the executorch wheel.

    Attributes:
        path: Its path, relative to the package.
        needs_torch: True if it is linked against torch, which is imported before it.
        operators: The operators that it registers.
    """

    path: str
    needs_torch: bool
    operators: tuple[str, ...]


WHEEL_LIBRARIES: Mapping[str, WheelLibrary] = {
    "quantized": WheelLibrary(
        path="lib/libexecutorch_kernels_quantized.so",
        needs_torch=False,
        operators=(
            "quantized_decomposed::add.out",
            "quantized_decomposed::choose_qparams.Tensor_out",
            "quantized_decomposed::choose_qparams_per_token_asymmetric.out",
            "quantized_decomposed::dequantize_per_channel.out",
            "quantized_decomposed::dequantize_per_tensor.out",
            "quantized_decomposed::dequantize_per_tensor.Tensor_out",
            "quantized_decomposed::dequantize_per_token.out",
            "quantized_decomposed::embedding_2bit.dtype_out",
            "quantized_decomposed::embedding_2bit.out",
            "quantized_decomposed::embedding_4bit.dtype_out",
            "quantized_decomposed::embedding_4bit.out",
            "quantized_decomposed::embedding_byte.dtype_out",
            "quantized_decomposed::embedding_byte.out",
            "quantized_decomposed::mixed_linear.out",
            "quantized_decomposed::mixed_mm.out",
            "quantized_decomposed::quantize_per_channel.out",
            "quantized_decomposed::quantize_per_tensor.out",
            "quantized_decomposed::quantize_per_tensor.Tensor_out",
            "quantized_decomposed::quantize_per_token.out",
        ),
    ),
    "llm": WheelLibrary(
        path="extension/llm/custom_ops/libcustom_ops_aot_lib.so",
        needs_torch=True,
        operators=(
            "llama::channelwise_gated_delta_rule.out",
            "llama::custom_quantized_sdpa.out",
            "llama::custom_sdpa.out",
            "llama::fallback.out",
            "llama::fast_hadamard_transform.out",
            "llama::gated_delta_rule.out",
            "llama::quantized_moe_ffn.out",
            "llama::sdpa_with_kv_cache.out",
            "llama::update_cache.out",
            "llama::update_cache_with_indices.out",
            "preprocess::tile_crop.out",
        ),
    ),
}
"""By the name that the option `libraries` accepts."""

WHEEL_OPERATORS: Mapping[str, str] = {
    operator: name for name, library in WHEEL_LIBRARIES.items() for operator in library.operators
}
"""The name of the library of each of their operators."""


def operator_help(operator: str) -> str:
    """Return how to load the library that has an operator of `WHEEL_OPERATORS`."""
    name = WHEEL_OPERATORS[operator]
    return (
        f"load executorch's library {name!r}: --executor-option libraries={name}, "
        f'[executor.executorch] libraries = ["{name}"], or executor_options={{"libraries": ["{name}"]}}'
    )
