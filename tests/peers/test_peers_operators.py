"""Every recorded operator call, in many variants, against eager PyTorch and ExecuTorch's runtime."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from kernel_cases import DATA, KernelCase, assert_close, case_ids, parse_cases

import etconfig
from etconfig.errors import KernelArgumentError
from etconfig.kernels import builtin_kernels

# torch and executorch warn when they are imported
pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

TOOLS = Path(__file__).parents[2] / "tools"
KERNELS = builtin_kernels()
OPERATORS = sorted({case["operator"] for case in json.loads((DATA / "cases.json").read_text())["cases"]})

FLOAT64_DECIDES = {
    "aten::gelu.out": {"special"},
    "aten::convolution.out": {"special", "torch.float16"},
    "aten::convolution_backward.out": {"torch.float16"},
    "aten::grid_sampler_2d.out": {"torch.float16", "torch.bfloat16"},
}
"""Kinds of variants of which PyTorch's own results depend on the way that it takes.

It sums some 16-bit floats in 16 bits, its vectorised gelu gives NaN for infinity, and of its convolutions
only some multiply the zeros of the padding. All are held to what it computes in float64 of the same numbers.
"""

NO_WINDOW = "a window without elements is refused; PyTorch gives a result without channels"
NO_CHANNELS = "PyTorch loses the output's channels if the input has none"
AT_THE_EDGE = "PyTorch adds 0 times the last element to itself: NaN where that is infinite"
AS_IT_IS = "PyTorch returns an input without elements as it is"

DIFFERENT_FROM_EAGER = {
    **{f"aten::convolution.out-{case} no 3": NO_WINDOW for case in (0, 1, 2, 8, 10, 13, 14)},
    "aten::convolution.out-9 no 2": NO_WINDOW,
    "aten::convolution.out-3 no 4": NO_CHANNELS,
    "aten::convolution.out-11 no 4": NO_CHANNELS,
    "aten::convolution_backward.out-0 no 3": NO_WINDOW,
    "aten::convolution_backward.out-3 no 3": NO_WINDOW,
    **{f"aten::pixel_unshuffle.out-0 no {size}": AS_IT_IS for size in (1, 2, 4, 6)},
    "aten::upsample_bilinear2d.vec_out-2 special": AT_THE_EDGE,
    "aten::upsample_bilinear2d.vec_out-3 special": AT_THE_EDGE,
    "aten::_cdist_forward.out-7 special": "products, subtracted, give NaN for infinite differences",
}
"""Variants in which the two differ on purpose, and why."""


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
    """A call, and what eager PyTorch makes of it.

    Attributes:
        name: The number of the case among those of its operator, and the kind of variant.
        case: The call. Its results are those of float64 where FLOAT64_DECIDES.
        is_refused: PyTorch refuses it.
        native: PyTorch's own results where those of float64 decide.
    """

    name: str
    case: KernelCase
    is_refused: bool
    native: KernelCase | None


@cache
def corpus() -> dict[str, list[Variant]]:
    """All calls by operator."""
    import kernel_case_quantized  # noqa: F401  adds to CASES
    from kernel_case_recording import Call, Recorder, arguments, call, call_in_float64
    from kernel_case_table import CASES
    from kernel_case_variants import REFUSALS, variants

    recorder = Recorder()
    names: list[tuple[str, bool]] = []
    described: list[dict[str, Any]] = []
    natives: dict[int, dict[str, Any]] = {}
    for index, (base, name) in enumerate(zip(CASES, case_ids(CASES), strict=True)):
        outs: list[Any] = []
        for kind, each in variants(base):
            is_refused = False
            try:
                made = call(each, seed=index)
                outs = outs or made.outs
            except (RuntimeError, IndexError, ValueError, AssertionError):
                if kind not in REFUSALS:
                    continue
                made, is_refused = Call(arguments(each, index), outs), True
            if kind in FLOAT64_DECIDES.get(each.operator, ()):
                natives[len(described)] = recorder.describe(each.operator, made)
                made = call_in_float64(each, seed=index)
            names.append((f"{name} {kind}", is_refused))
            described.append(recorder.describe(each.operator, made))
    cases = parse_cases(described, recorder.arrays)
    native_cases = dict(zip(natives, parse_cases(list(natives.values()), recorder.arrays), strict=True))
    found = defaultdict(list)
    for place, ((name, is_refused), case) in enumerate(zip(names, cases, strict=True)):
        found[case.operator].append(Variant(name, case, is_refused, native_cases.get(place)))
    return found


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_variant_gives_what_eager_pytorch_does(operator: str) -> None:
    problems = {each.name: problem for each in corpus()[operator] if (problem := problem_of(each))}
    names = {each.name for each in corpus()[operator]}
    assert problems.keys() == DIFFERENT_FROM_EAGER.keys() & names, problems


def problem_of(variant: Variant) -> str | None:
    """How it differs."""
    case = variant.case
    try:
        outputs = case.run(KERNELS[case.operator])
    except (ValueError, IndexError, KernelArgumentError) as error:
        return None if variant.is_refused else str(error)
    if variant.is_refused:
        return "PyTorch refuses it"
    return difference([each.array for each in outputs], case.expected)


def difference(given: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> str | None:
    """How arrays differ from those that they should be close to."""
    try:
        for one, other in zip(given, expected, strict=True):
            assert_close(one, other)
    except (AssertionError, ValueError) as error:
        return str(error)
    return None


@pytest.mark.parametrize("operator", FLOAT64_DECIDES)
def test_float64_decides_only_where_pytorch_is_further_from_it(operator: str) -> None:
    decided = {
        (each.name.split(" ", 1)[1], difference(each.native.expected, each.case.expected) is not None)
        for each in corpus()[operator]
        if each.native is not None
    }
    assert {kind for kind, is_off in decided if is_off} == FLOAT64_DECIDES[operator]


def test_the_corpus_is_as_large_as_it_should_be() -> None:
    names = [each.name for variants in corpus().values() for each in variants]
    assert len(names) > 3_500
    assert set(corpus()) == set(OPERATORS)
    assert DIFFERENT_FROM_EAGER.keys() <= set(names)


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
