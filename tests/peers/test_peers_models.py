"""Fresh exports of well-known architectures: ours, ExecuTorch's portable kernels, XNNPACK, eager PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from model_cases import DATA, assert_model_close, recorded_calls

import etconfig
from etconfig.program.program import open_program

if TYPE_CHECKING:
    from torch import Tensor

# torch and executorch warn when they are imported
pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.filterwarnings("default")]

ARCHITECTURES = ("bert", "gpt2", "llama", "t5", "vit", "segformer", "resnet", "mobilenet_v2", "convnext")
ARCHITECTURES += ("unet", "whisper_encoder", "lstm")

VARIANTS = {
    "float16": ("bert", "unet"),
    "bfloat16": ("vit", "resnet"),
    "dynamic": ("gpt2", "unet", "whisper_encoder"),
    "channels_last": ("resnet",),
    "int8": ("bert",),
}
"""By form, architectures that are not committed in it; each costs seconds of exporting. What int8 makes of
ConvNeXt and SegFormer depends on the last bit before rounding, in ExecuTorch too; T5 it cannot quantize."""

WITH_XNNPACK = ("bert", "llama", "resnet", "mobilenet_v2", "whisper_encoder")
"""Architectures that are lowered a second time; XNNPACK's gelu of kind tanh is 300 epsilons from PyTorch's,
so that GPT-2 cannot be among them."""

NO_REFERENCE = {
    "unet_channels_last": "aten::cat.out joins channels as if channels-last tensors were row-major",
}
"""Committed programs for which ExecuTorch's runtime differs from eager PyTorch, and why."""

Calls = Sequence[Sequence[np.ndarray]]


def to_array(tensor: Tensor) -> np.ndarray:
    import torch

    if tensor.dtype is torch.bfloat16:
        return tensor.contiguous().view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def run_ours(program: bytes, calls: Sequence[Sequence[Tensor]]) -> Calls:
    with etconfig.load_program(program) as opened, opened.load_method("forward") as method:
        return [method.execute([to_array(each) for each in inputs]) for inputs in calls]


def run_theirs(program: bytes, calls: Sequence[Sequence[Tensor]]) -> Calls:
    from executorch.runtime import Runtime

    method = Runtime.get().load_program(program).load_method("forward")
    return [[to_array(each.clone()) for each in method.execute(inputs)] for inputs in calls]


def assert_all_close(ours: Calls, theirs: Calls) -> None:
    for actual, expected in zip(ours, theirs, strict=True):
        assert_model_close(actual, expected)


def agree(ours: Calls, theirs: Calls) -> bool:
    try:
        assert_all_close(ours, theirs)
    except AssertionError:
        return False
    return True


def plan_of(program: bytes) -> Any:
    """Return the plan of `forward`: its instructions and the places of its tensors, but not its constants."""
    with open_program(program) as opened:
        return opened.plan("forward")


def eager_outputs(example: Any) -> Calls:
    from architecture_programs import run_eager

    return [[to_array(each) for each in outputs] for outputs in run_eager(example)]


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_committed_programs_can_be_exported_again_and_agree_with_executorch(name: str) -> None:
    """Constants may differ in the last bit on another CPU: plans are equal, and outputs within tolerance."""
    from architecture_programs import Variant, lower, make_example
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    example = make_example(Variant(name))
    program = lower(example).buffer
    assert plan_of(program) == plan_of((DATA / f"{name}.pte").read_bytes())
    ours = run_ours(program, example.calls)
    assert_all_close(ours, [expected for _, expected in recorded_calls(name)])
    assert_all_close(ours, eager_outputs(example))
    assert_all_close(ours, run_theirs(program, example.calls))
    if name in WITH_XNNPACK:
        assert_all_close(ours, run_theirs(lower(example, [XnnpackPartitioner()]).buffer, example.calls))


@pytest.mark.parametrize(
    ("name", "form"), [(name, form) for form, names in VARIANTS.items() for name in names]
)
def test_variants_agree_with_pytorch_and_executorch(name: str, form: str) -> None:
    from architecture_programs import Variant, lower, make_example

    example = make_example(Variant(name, form))
    program = lower(example).buffer
    ours = run_ours(program, example.calls)
    assert_all_close(ours, eager_outputs(example))
    assert_all_close(ours, run_theirs(program, example.calls))


def test_the_committed_architectures_are_those_that_are_compared() -> None:
    from architecture_programs import COMMITTED
    from architectures import ARCHITECTURES as ALL

    assert set(ARCHITECTURES) == set(ALL) == {each.architecture for each in COMMITTED}


def test_executorch_runs_every_other_committed_variant_alike() -> None:
    from architecture_programs import COMMITTED, make_example

    different = set()
    for variant in COMMITTED:
        if variant.form != "float32":
            program = (DATA / f"{variant.name}.pte").read_bytes()
            calls = make_example(variant).calls
            ours, theirs = run_ours(program, calls), run_theirs(program, calls)
            if not agree(ours, theirs):
                different.add(variant.name)
    assert different == set(NO_REFERENCE)
