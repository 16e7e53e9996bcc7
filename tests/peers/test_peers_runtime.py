"""Our executor and reader compared with ExecuTorch's own runtime, on the committed programs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import etconfig
from etconfig.base.scalar_types import ScalarType

# torch and executorch warn when they are imported
pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
NOT_RUN = {
    "linear_external_constants": "its data file is not kept; see tests/data/exports",
    "linear_inline_constants": "ExecuTorch 1.5 no longer loads constants inside the flatbuffer",
    "symbolic_integer": "ExecuTorch 1.5 refuses any value for the symbolic input that it exported",
    "xnnpack": "no numpy backend is XNNPACK",
    "xnnpack_inline": "no numpy backend is XNNPACK",
    "xnnpack_two_methods": "no numpy backend is XNNPACK",
}
"""Programs of the corpus that one of the two cannot run, and why."""

PROGRAMS = [
    *(path for path in sorted((DATA / "programs").glob("*.pte")) if path.stem not in NOT_RUN),
    DATA / "digits" / "digits_portable.pte",
]

FLOAT_TOLERANCE = 1e-5
"""Largest absolute difference of float32 results; all values here are of the order of 1."""

EXECUTES = 3
"""More than one, to reveal the state of mutable buffers."""


def methods_of(path: Path) -> list[tuple[Path, str]]:
    with etconfig.load_program(path) as program:
        return [(path, name) for name in program.method_names]


CASES = [case for path in PROGRAMS for case in methods_of(path)]


def make_inputs(meta: Any, rng: np.random.Generator) -> list[Any]:
    """Random inputs of the largest sizes, in each tensor's dim order."""
    inputs: list[Any] = []
    for index in range(meta.num_inputs()):
        tag = meta.input_tag(index)
        if tag != "Tensor":
            pytest.fail(f"add a rule for inputs of kind {tag}")
        info = meta.input_tensor_meta(index)
        memory_shape = [info.sizes()[dim] for dim in info.dim_order()]
        if info.dtype() in (ScalarType.FLOAT, ScalarType.DOUBLE, ScalarType.HALF):
            values = rng.standard_normal(memory_shape).astype(info.dtype().dtype_name)
        else:
            values = rng.integers(0, 2, memory_shape).astype(info.dtype().dtype_name)
        inputs.append(values.transpose(np.argsort(info.dim_order())))
    return inputs


@pytest.mark.parametrize(("path", "method"), CASES, ids=lambda v: v if isinstance(v, str) else v.stem)
def test_both_give_the_same_outputs(path: Path, method: str) -> None:
    import torch
    from executorch.runtime import Runtime

    theirs = Runtime.get().load_program(path).load_method(method)
    with etconfig.load_program(path) as program, program.load_method(method) as ours:
        rng = np.random.default_rng(7)
        for _ in range(EXECUTES):
            inputs = make_inputs(ours.metadata, rng)
            expected = theirs.execute([torch.from_numpy(value) for value in inputs])
            compare(ours.execute(inputs), expected)


def compare(outputs: list[Any], expected: Any) -> None:
    assert len(outputs) == len(expected)
    for ours, theirs in zip(outputs, expected, strict=True):
        if not hasattr(theirs, "numpy"):
            assert ours == theirs
            continue
        assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
        # numpy has no bfloat16; float32 can represent all of its values
        is_bfloat16 = ours.dtype.name == "bfloat16"
        array = theirs.float().numpy() if is_bfloat16 else theirs.numpy()
        ours = ours.astype(np.float32) if is_bfloat16 else ours
        assert ours.shape == array.shape
        np.testing.assert_allclose(ours, array, rtol=0, atol=FLOAT_TOLERANCE)


def test_both_see_the_same_methods() -> None:
    from executorch.runtime import Runtime

    for path in PROGRAMS:
        with etconfig.load_program(path) as program:
            assert set(Runtime.get().load_program(path).method_names) == set(program.method_names)


@pytest.mark.weekly
def test_the_digits_can_be_exported_again(tmp_path: Path) -> None:
    """The committed programs come from the committed tool: a new export runs and is as accurate."""
    subprocess.run(
        [sys.executable, ROOT / "tools" / "build_models.py", "--only", "digits", "--out", tmp_path],
        check=True,
    )
    recorded = np.load(tmp_path / "digits" / "digits.npz")
    with (
        etconfig.load_program(tmp_path / "digits" / "digits.pte") as program,
        program.load_method("forward") as m,
    ):
        outputs = np.concatenate([m.execute([image[None]])[0] for image in recorded["images"]])
    np.testing.assert_allclose(outputs, recorded["forward"], rtol=0, atol=FLOAT_TOLERANCE)
