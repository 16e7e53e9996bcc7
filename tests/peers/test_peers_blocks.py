"""The blocks of tools/blocks: exported here, run on the numpy executor, compared with eager PyTorch."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest

import etconfig
from etconfig.kernels import builtin_kernels
from etconfig.program import open_program

if TYPE_CHECKING:
    from blocks import Block
    from torch import Tensor

# torch and executorch warn when they are imported
pytestmark = [pytest.mark.peers, pytest.mark.timeout(300), pytest.mark.filterwarnings("default")]

PARTS = 12
"""The tests that share the blocks: exporting all of them takes minutes."""

TOLERANCES = {2: 2e-2, 4: 1e-4}
"""By size of a floating-point number, of a whole block; 16-bit blocks round after each operator."""


@cache
def programs(part: int) -> dict[str, bytes]:
    """Export the blocks of one part."""
    from blocks import BLOCKS, export_block

    names = [*BLOCKS][part::PARTS]
    return {name: export_block(BLOCKS[name]) for name in names}


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


@pytest.mark.parametrize("part", range(PARTS))
def test_no_block_leaves_an_operator_without_a_kernel(part: int) -> None:
    kernels = {*builtin_kernels()}
    missing = {name: operators_of(each) - kernels for name, each in programs(part).items()}
    assert {name: operators for name, operators in missing.items() if operators} == {}


@pytest.mark.parametrize("part", range(PARTS))
def test_every_block_gives_the_outputs_of_eager_pytorch(part: int) -> None:
    from blocks import BLOCKS

    found = {name: difference(BLOCKS[name], program) for name, program in programs(part).items()}
    assert {name: problem for name, problem in found.items() if problem} == {}


def test_there_are_as_many_blocks_as_the_pages_say() -> None:
    from blocks import BLOCKS

    assert len(BLOCKS) >= 280
