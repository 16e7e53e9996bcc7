"""The blocks of tools/blocks: exported here, run on the numpy executor, compared with eager PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest

import etconfig
from etconfig.kernels import builtin_kernels
from etconfig.program.program import open_program

if TYPE_CHECKING:
    from blocks import Block
    from torch import Tensor

# torch and executorch warn when they are imported
pytestmark = [pytest.mark.peers, pytest.mark.timeout(300), pytest.mark.filterwarnings("default")]

PARTS = 12
"""The tests that share the blocks, of which all but one are weekly: exporting all takes ten minutes."""

TOLERANCES = {2: 2e-2, 4: 1e-4}
"""By size of a floating-point number, of a whole block; 16-bit blocks round after each operator."""


def operators_of(program: bytes) -> set[str]:
    with open_program(program) as opened:
        plans = map(opened.plan, opened.method_names)
        return {operator.full_name for plan in plans for operator in plan.operators}


def to_array(tensor: Tensor) -> np.ndarray:
    import torch

    dense = tensor.detach().contiguous()
    if dense.dtype is torch.bfloat16:
        return dense.view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    return dense.numpy()


def difference(block: Block, program: bytes) -> str | None:
    """Run the calls of a block on both, and describe how they differ."""
    from torch.utils._pytree import tree_leaves

    module = block.module()
    try:
        with etconfig.load_program(program) as opened, opened.load_method("forward") as method:
            for inputs in block.calls():
                expected = tree_leaves(module(*(each.clone() for each in inputs)))
                outputs = method.execute([to_array(each) for each in inputs])
                for found, wanted in zip(outputs, expected, strict=True):
                    assert_close(found, to_array(wanted), block.is_random)
    except (AssertionError, etconfig.EtconfigError) as error:
        return str(error)
    return None


def assert_close(found: np.ndarray, expected: np.ndarray, is_random: bool) -> None:
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    if is_random:
        return
    if expected.dtype.kind not in "fV":
        np.testing.assert_array_equal(found, expected)
        return
    tolerance = TOLERANCES.get(expected.dtype.itemsize, 1e-9)
    wide: Any = np.float64
    np.testing.assert_allclose(found.astype(wide), expected.astype(wide), rtol=tolerance, atol=tolerance / 10)


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(each, marks=pytest.mark.weekly) for each in range(1, PARTS))]
)
def test_every_block_gives_the_outputs_of_eager_pytorch(part: int) -> None:
    from blocks import BLOCKS, export_block

    kernels = {*builtin_kernels()}
    problems = {}
    for name in [*BLOCKS][part::PARTS]:
        program = export_block(BLOCKS[name])
        if missing := operators_of(program) - kernels:
            problems[name] = f"no kernel for {sorted(missing)}"
        elif problem := difference(BLOCKS[name], program):
            problems[name] = problem
    assert problems == {}


def test_there_are_as_many_blocks_as_the_pages_say() -> None:
    from blocks import BLOCKS

    assert len(BLOCKS) >= 280
