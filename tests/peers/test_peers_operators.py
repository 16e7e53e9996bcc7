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
from kernel_cases import DATA, KernelCase, assert_close, case_ids, flattened, parse_cases
from runtime_outcomes import RUNTIME_DIFFERS, outcome

import etconfig
from etconfig.errors import KernelArgumentError
from etconfig.kernels import builtin_kernels

# torch and executorch warn when they are imported
pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

TOOLS = Path(__file__).parents[2] / "tools"
KERNELS = builtin_kernels()
RECORDED = json.loads((DATA / "cases.json").read_text())
OPERATORS = sorted({case["operator"] for case in RECORDED["cases"]})

FLOAT64_DECIDES = {
    "aten::gelu.out": {"special"},
    "aten::convolution.out": {"special", "torch.float16", "torch.bfloat16"},
    "aten::convolution_backward.out": {"torch.float16", "torch.bfloat16"},
    "aten::grid_sampler_2d.out": {"torch.float16", "torch.bfloat16"},
    "aten::grid_sampler_3d.out": {"torch.float16", "torch.bfloat16"},
    "aten::_trilinear.out": {"torch.float16"},
}
"""Kinds of variants in which PyTorch's own results depend on its implementation.

It sums some 16-bit floats in 16 bits (which ones depends on the processor), its vectorized gelu gives NaN
for infinity, and only some of its convolutions multiply the zeros of the padding. All are compared with its
results in float64.
"""

NO_WINDOW = "a window without elements is refused; PyTorch gives a result without channels"
NO_CHANNELS = "PyTorch loses the output's channels if the input has none"
AT_THE_EDGE = "PyTorch adds 0 times the last element to itself: NaN where that is infinite"
AS_IT_IS = "PyTorch returns an input without elements as it is"
NOT_SORTED = "boundaries with NaN and infinities are not sorted, so that the search decides"
NAN_WHERE_IT_IS = (
    "PyTorch sorts with a comparison that is false for NaN, so that the result depends on its place"
)
NO_MEDIAN = "no integers have no median; PyTorch converts NaN to an integer"
PARTLY_FACTORED = "PyTorch leaves a factor of NaN or infinities as far as it got"
NO_SAMPLE = "NaN and infinities cannot be random samples; PyTorch converts them to integers"

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
    **{f"aten::bucketize.Tensor_out-{case} special": NOT_SORTED for case in (0, 2, 3, 5)},
    **{f"aten::bucketize.Scalar_out-{case} special": NOT_SORTED for case in (0, 1)},
    **{f"aten::searchsorted.Tensor_out-{case} special": NOT_SORTED for case in range(4)},
    **{f"aten::searchsorted.Scalar_out-{case} special": NOT_SORTED for case in (0, 1)},
    "aten::mode.values-1 special": NAN_WHERE_IT_IS,
    "aten::mode.values-3 special": NAN_WHERE_IT_IS,
    "aten::median.out-2 no 7": NO_MEDIAN,
    "aten::nanmedian.out-2 no 7": NO_MEDIAN,
    "aten::addmv.out-5 no 3": "PyTorch gives the shape of the addend if the matrix has no elements",
    "aten::addmv.out-5 no 4": "PyTorch gives the shape of the addend if the matrix has no elements",
    "aten::linalg_cholesky_ex.L-0 special": PARTLY_FACTORED,
    "aten::linalg_cholesky_ex.L-1 special": PARTLY_FACTORED,
    "aten::fractional_max_pool2d.output-0 special": NO_SAMPLE,
    "aten::fractional_max_pool2d.output-1 special": NO_SAMPLE,
    "aten::fractional_max_pool3d.output-0 special": NO_SAMPLE,
}
"""Variants in which the two differ on purpose, and why."""


class Variant(NamedTuple):
    """A call, and the results of eager PyTorch.

    Attributes:
        name: The number of the case among those of its operator, and the kind of variant.
        case: The call. For FLOAT64_DECIDES, its results are those in float64.
        is_refused: True if PyTorch refuses it.
        native: PyTorch's own results, if those in float64 decide.
    """

    name: str
    case: KernelCase
    is_refused: bool
    native: KernelCase | None


@cache
def corpus() -> dict[str, list[Variant]]:
    """All calls by operator."""
    import kernel_case_exports  # noqa: F401  adds to CASES
    from kernel_case_recording import Recorder, call_in_float64
    from kernel_case_table import CASES
    from kernel_case_variants import variant_calls

    recorder = Recorder()
    names: list[tuple[str, bool]] = []
    described: list[dict[str, Any]] = []
    natives: dict[int, dict[str, Any]] = {}
    case_names = case_ids(CASES)
    for index, kind, each, made, is_refused in variant_calls(CASES):
        if kind in FLOAT64_DECIDES.get(each.operator, ()):
            natives[len(described)] = recorder.describe(each.operator, made)
            made = call_in_float64(each, seed=index)
        names.append((f"{case_names[index]} {kind}", is_refused))
        described.append(recorder.describe(each.operator, made))
    cases = parse_cases(described, recorder.arrays)
    native_cases = dict(zip(natives, parse_cases(list(natives.values()), recorder.arrays), strict=True))
    found = defaultdict(list)
    for place, ((name, is_refused), case) in enumerate(zip(names, cases, strict=True)):
        found[case.operator].append(Variant(name, case, is_refused, native_cases.get(place)))
    return found


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_variant_gives_the_results_of_eager_pytorch(operator: str) -> None:
    problems = {each.name: problem for each in corpus()[operator] if (problem := problem_of(each))}
    names = {each.name for each in corpus()[operator]}
    assert problems.keys() == DIFFERENT_FROM_EAGER.keys() & names, problems


def problem_of(variant: Variant) -> str | None:
    """Describe the difference."""
    case = variant.case
    try:
        outputs = case.run(KERNELS[case.operator])
    except (ValueError, IndexError, KernelArgumentError) as error:
        return None if variant.is_refused else str(error)
    if variant.is_refused:
        return "PyTorch refuses it"
    return difference([each.array for each in outputs], case.expected)


def difference(given: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> str | None:
    """Describe how arrays differ from those that they should be close to."""
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
    # on some processors, such as those with AVX512-FP16, PyTorch is close enough in all of them
    assert {kind for kind, is_off in decided if is_off} <= FLOAT64_DECIDES[operator]
    assert {kind for kind, _ in decided} >= FLOAT64_DECIDES[operator]


def test_the_corpus_is_as_large_as_it_should_be() -> None:
    names = [each.name for variants in corpus().values() for each in variants]
    assert len(names) > 3_500
    assert {name: len(variants) for name, variants in corpus().items()} == RECORDED["variants"]
    assert DIFFERENT_FROM_EAGER.keys() <= set(names)


def test_programs_of_single_calls_give_the_results_of_executorch(tmp_path: Path) -> None:
    """Both run each call of the tables as a program, and give the results of eager PyTorch.

    If ExecuTorch's runtime differs, RUNTIME_DIFFERS describes the difference.
    """
    import kernel_case_exports  # noqa: F401  adds to CASES
    import torch
    from kernel_case_program import program_of
    from kernel_case_recording import call, overload
    from kernel_case_table import CASES

    calls = [call(each, seed=index) for index, each in enumerate(CASES)]
    programs = []
    for each, made in zip(CASES, calls, strict=True):
        kinds = [str(parameter.type) for parameter in overload(each.operator)._schema.arguments]
        programs.append(program_of(each.operator, kinds[: len(each.args)], made))
    torch.save(programs, tmp_path / "cases.pt")
    command = [sys.executable, TOOLS / "run_kernel_cases.py", tmp_path / "cases.pt", tmp_path / "results.pt"]
    subprocess.run(command, check=True, capture_output=True)
    results = torch.load(tmp_path / "results.pt")
    ours, outcomes = {}, {}
    for name, (program, inputs), made, theirs in zip(case_ids(CASES), programs, calls, results, strict=True):
        expected = as_arrays(
            [
                *flattened([tuple(out) if isinstance(out, list) else out for out in made.outs]),
                *made.changed.values(),
            ]
        )
        with etconfig.load_program(program) as loaded, loaded.load_method("forward") as method:
            ours[name] = difference(method.execute(as_arrays(inputs)), expected)
        outcomes[name] = outcome(as_arrays(theirs) if isinstance(theirs, list) else theirs, expected)
    assert {name: problem for name, problem in ours.items() if problem} == {}
    assert {name: each for name, each in outcomes.items() if each} == {
        name: each for cases in RUNTIME_DIFFERS.values() for name, each in cases.items()
    }


def as_arrays(tensors: Sequence[Any]) -> list[np.ndarray]:
    """Return the tensors in their own layouts; numpy does not know torch's bfloat16."""
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
