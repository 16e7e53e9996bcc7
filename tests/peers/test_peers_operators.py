"""Every recorded operator call, in many variants, against eager PyTorch and ExecuTorch's runtime."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from kernel_cases import DATA, KernelCase, assert_close, parse_cases

import etconfig
from etconfig.errors import KernelArgumentError
from etconfig.kernels import builtin_kernels

# torch and executorch warn when they are imported
pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

TOOLS = Path(__file__).parents[2] / "tools"
KERNELS = builtin_kernels()
OPERATORS = sorted({case["operator"] for case in json.loads((DATA / "cases.json").read_text())["cases"]})

SPREADS = "a product with a matrix spreads NaN and infinities to elements that have no weight in it"
NATIVE_HALF = "PyTorch sums 16-bit floats in 16 bits; here they are summed in float32"
NO_WINDOW = "a convolution without elements in its window, or without channels, is refused"
NOT_RESIZED = "PyTorch's out-variant leaves the output as large as it was made"
LAYOUT = "PyTorch's out-variant writes channels-last numbers in a row-major output"

DIFFERENT_FROM_EAGER = {
    ("aten::gelu.out", "special"): "PyTorch's vector code gives NaN for infinity, its formula infinity",
    ("aten::convolution.out", "special"): "infinities times the zeros of padding depend on the method",
    ("aten::convolution.out", "no"): NO_WINDOW,
    ("aten::convolution_backward.out", "no"): NO_WINDOW,
    ("aten::convolution.out", "torch.float16"): NATIVE_HALF,
    ("aten::convolution_backward.out", "torch.float16"): NATIVE_HALF,
    ("aten::grid_sampler_2d.out", "torch.float16"): NATIVE_HALF,
    ("aten::grid_sampler_2d.out", "torch.bfloat16"): NATIVE_HALF,
    ("aten::_adaptive_avg_pool2d.out", "special"): SPREADS,
    ("aten::upsample_bilinear2d.vec_out", "special"): SPREADS,
    ("aten::_upsample_bilinear2d_aa.out", "special"): SPREADS,
    ("aten::_cdist_forward.out", "special"): "PyTorch's way by products gives NaN for infinite differences",
    ("aten::max.unary_out", "no"): "PyTorch's out-variant gives an undefined number, its function refuses",
    ("aten::min.unary_out", "no"): "PyTorch's out-variant gives an undefined number, its function refuses",
    ("aten::pixel_unshuffle.out", "no"): NOT_RESIZED,
    ("aten::split_copy.Tensor_out", "no"): NOT_RESIZED,
    (
        "aten::repeat_interleave.Tensor_out",
        "no",
    ): "PyTorch ignores output_size if nothing is repeated",
    ("aten::_native_batch_norm_legit.out", "channels"): LAYOUT,
    ("aten::_native_batch_norm_legit.no_stats_out", "channels"): LAYOUT,
    ("aten::max_pool2d_with_indices_backward.grad_input", "index"): "PyTorch writes out of bounds unchecked",
}
"""Operators, and variants by the first word of their name, where the two differ on purpose, and why."""


CHANNELS_LAST = "refused for channels-last tensors, or for those mixed with others"
FLOAT_ONLY = "ends the process, or refuses, for other types than float32 and scales of float64"

NO_REFERENCE = {
    "aten::arange.out": "does not round a fractional end to int64 before it counts",
    "aten::_log_softmax.out": "does not take rows of no elements as eager PyTorch does",
    "aten::upsample_bilinear2d.vec_out": "computes float64 with the precision of float32",
    "aten::_pdist_forward.out": "does not treat NaN in the 0-norm as eager PyTorch does",
    "aten::logit.out": "does not round its limits to 16 bits",
    "aten::gather.out": "does not take an empty source as eager PyTorch does",
    "aten::sign.out": "gives NaN for NaN, eager PyTorch 0",
    "aten::relu.out": CHANNELS_LAST,
    "aten::add.Scalar_out": "refuses to add a fraction to integers",
    "aten::add.out": CHANNELS_LAST,
    "aten::div.out_mode": "gives NaN for 1 // 0, eager PyTorch infinity",
    "aten::floor_divide.out": "gives NaN for 1 // 0, eager PyTorch infinity",
    "aten::remainder.Tensor_out": "gives integers the wrong sign",
    "aten::remainder.Scalar_out": "gives integers the wrong sign",
    "aten::pow.Tensor_Tensor_out": "converts integers to negative exponents from infinity",
    "aten::_softmax.out": CHANNELS_LAST,
    "aten::native_group_norm.out": "computes float64 with the precision of float32",
    "aten::_native_batch_norm_legit_no_training.out": CHANNELS_LAST,
    "aten::addmm.out": "multiplies what beta = 0 is to leave out, so that NaN stays",
    "aten::convolution.out": "refuses three dimensions, and channels-last tensors mixed with others",
    "aten::max_pool2d_with_indices.out": "loses NaN to minus infinity",
    "aten::_adaptive_avg_pool2d.out": CHANNELS_LAST,
    "aten::mean.out": CHANNELS_LAST,
    "aten::argmax.out": CHANNELS_LAST,
    "aten::argmin.out": CHANNELS_LAST,
    "aten::view_copy.out": CHANNELS_LAST,
    "aten::roll.out": "refuses to roll without dimensions",
    "aten::cat.out": "copies the bits of int32 to float32",
    "dim_order_ops::_to_dim_order_copy.out": "refuses to copy a vector of int32",
    "aten::constant_pad_nd.out": "refuses negative padding",
    "aten::linear.out": "refuses a vector of bfloat16 as input",
    "aten::_fft_r2c.out": "knows one-sided transforms only",
    "aten::_conj_physical.out": "refuses real numbers",
    "aten::_native_batch_norm_legit.out": "refuses training",
    "aten::_native_batch_norm_legit.no_stats_out": "computes float64 with the precision of float32",
    "aten::convolution_backward.out": "refuses one dimension, and transposed convolutions",
    "aten::index_put_": "refuses to accumulate",
    "et_copy::_h2d_copy.out": "wants tensors of two devices",
    "et_copy::_d2h_copy.out": "wants tensors of two devices",
    "quantized_decomposed::quantize_per_tensor.out": FLOAT_ONLY,
    "quantized_decomposed::dequantize_per_tensor.out": FLOAT_ONLY,
    "quantized_decomposed::quantize_per_channel.out": FLOAT_ONLY,
    "quantized_decomposed::dequantize_per_channel.out": FLOAT_ONLY,
    "quantized_decomposed::quantize_per_token.out": FLOAT_ONLY,
    "quantized_decomposed::choose_qparams.Tensor_out": "computes scales in float64, none below 6.1e-5",
    "quantized_decomposed::choose_qparams_per_token_asymmetric.out": "computes scales in float64",
    "quantized_decomposed::embedding_byte.dtype_out": "multiplies in float32 what PyTorch rounds to float16",
    "quantized_decomposed::embedding_4bit.dtype_out": "multiplies in float32 what PyTorch rounds to float16",
}
"""Where ExecuTorch's runtime does not give what eager PyTorch does, for a call of the tables, and why."""

NO_KERNEL = {
    "quantized_decomposed::choose_qparams_per_token.out",
    "quantized_decomposed::choose_qparams_symmetric.tensor_out",
    "quantized_decomposed::dequantize_per_channel_group.out",
    "quantized_decomposed::dequantize_per_tensor.tensor2_out",
    "quantized_decomposed::quantize_per_channel_group.out",
    "quantized_decomposed::quantize_per_tensor.tensor2_out",
}
"""Operators that ExecuTorch's runtime has not."""


class Variant(NamedTuple):
    """A call, and what eager PyTorch makes of it."""

    kind: str
    case: KernelCase
    is_refused: bool


@cache
def corpus() -> dict[str, list[Variant]]:
    """All calls by operator."""
    import kernel_case_quantized  # noqa: F401  adds to CASES
    import torch
    from kernel_case_recording import Call, Recorder, arguments, call
    from kernel_case_table import CASES
    from kernel_case_variants import REFUSALS, variants

    recorder = Recorder()
    described: list[tuple[str, bool, dict[str, Any]]] = []
    for index, base in enumerate(CASES):
        outs: list[torch.Tensor] = []
        for kind, each in variants(base):
            is_refused = False
            try:
                made = call(each, seed=index)
                outs = outs or made.outs
            except (RuntimeError, IndexError, ValueError, AssertionError):
                if kind not in REFUSALS:
                    continue
                made, is_refused = Call(arguments(each, index), outs), True
            described.append((kind, is_refused, recorder.describe(each.operator, made)))
    found = defaultdict(list)
    cases = parse_cases([each for _, _, each in described], recorder.arrays)
    for (kind, is_refused, _), case in zip(described, cases, strict=True):
        found[case.operator].append(Variant(kind, case, is_refused))
    return found


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_variant_gives_what_eager_pytorch_does(operator: str) -> None:
    problems = list(problems_of(operator))
    expected = {kind for name, kind in DIFFERENT_FROM_EAGER if name == operator}
    assert {kind for kind, _ in problems} == expected, "\n".join(f"{kind}: {why}" for kind, why in problems)


def problems_of(operator: str) -> Iterator[tuple[str, str]]:
    """The first word of a variant's name, and how it differs."""
    for kind, case, is_refused in corpus()[operator]:
        word = kind.split()[0]
        try:
            outputs = case.run(KERNELS[operator])
        except (ValueError, IndexError, KernelArgumentError) as error:
            if not is_refused:
                yield word, str(error)
            continue
        if is_refused:
            yield word, "PyTorch refuses it"
            continue
        try:
            for output, expected in zip(outputs, case.expected, strict=True):
                assert_close(output.array, expected)
        except AssertionError as error:
            yield word, str(error)


def test_the_corpus_is_as_large_as_it_should_be() -> None:
    assert sum(map(len, corpus().values())) > 3_500
    assert set(corpus()) == set(OPERATORS)


def test_programs_of_single_calls_give_what_executorch_does(tmp_path: Path) -> None:
    """Both run each call of the tables as a program; they agree unless NO_REFERENCE says why not."""
    import kernel_case_quantized  # noqa: F401  adds to CASES
    import torch
    from kernel_case_program import program_of
    from kernel_case_recording import call, overload
    from kernel_case_table import CASES

    programs = []
    for index, each in enumerate(CASES):
        kinds = [str(parameter.type) for parameter in overload(each.operator)._schema.arguments]
        programs.append(program_of(each.operator, kinds[: len(each.args)], call(each, seed=index)))
    torch.save(programs, tmp_path / "cases.pt")
    command = [sys.executable, TOOLS / "run_kernel_cases.py", tmp_path / "cases.pt", tmp_path / "results.pt"]
    subprocess.run(command, check=True, capture_output=True)
    results = torch.load(tmp_path / "results.pt")
    differing = {
        each.operator
        for each, (program, inputs), theirs in zip(CASES, programs, results, strict=True)
        if not agrees(program, inputs, theirs)
    }
    assert differing == set(NO_REFERENCE) | NO_KERNEL


def agrees(program: bytes, inputs: Sequence[Any], theirs: Any) -> bool:
    """Whether the runtime ran the program, and both gave the same outputs."""
    with etconfig.load_program(program) as loaded, loaded.load_method("forward") as method:
        ours = method.execute(as_arrays(inputs))
    if not isinstance(theirs, list):
        return False
    try:
        for mine, its in zip(ours, as_arrays(theirs), strict=True):
            assert_close(mine, its)
    except AssertionError:
        return False
    return True


def as_arrays(tensors: Sequence[Any]) -> list[np.ndarray]:
    """The tensors in their own layouts; numpy does not know torch's bfloat16."""
    import torch

    return [
        each.view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
        if each.dtype is torch.bfloat16
        else each.resolve_conj().numpy()
        for each in tensors
    ]


def test_the_list_of_upstream_operators_is_that_of_this_release() -> None:
    from list_upstream_operators import upstream_operators

    assert json.loads((DATA / "operators.json").read_text())["operators"] == upstream_operators()
