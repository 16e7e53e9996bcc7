"""Random tensors and dropout.

The numbers come from the Method's own generator, which starts at the same seed in every Method: runs
can be repeated, and Methods do not affect each other. They are not PyTorch's numbers; only shape,
dtype and distribution are the same.
"""

from __future__ import annotations

import numpy as np

from etconfig.kernel.checks import require, require_dtype, require_floating, require_same_dtype
from etconfig.kernel.memory import Array, Scratch
from etconfig.kernel.registry import Ints, KernelTable, Step, kernel
from etconfig.kernel.step_makers import DType, computation_dtype, constant, copy_step, in_sequence, ufunc_step
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.scalar_types import ScalarType


@kernel("aten::rand.out")
def rand(size: Ints, out: Tensor, *, scratch: Scratch) -> Step:
    """Draw uniform numbers in [0, 1). Dtypes: floating."""
    require_floating("out", out)
    out.resize(size)
    # more bits than the dtype has could round up to 1
    bits = np.finfo(np.float16).nmant if out.dtype == np.float16 else 7
    if out.dtype.itemsize < 4:
        return ArrayCall(_draw_fractions, scratch.generator, bits, out.array)
    return ArrayCall(_draw_uniform, scratch.generator, out.array)


def _draw_fractions(random: np.random.Generator, bits: int, out: Array) -> None:
    np.copyto(out, random.integers(0, 1 << bits, out.shape) / (1 << bits), casting="unsafe")


def _draw_uniform(random: np.random.Generator, out: Array) -> None:
    np.copyto(out, random.random(out.shape, out.dtype))


@kernel("aten::randn.out")
def randn(size: Ints, out: Tensor, *, scratch: Scratch) -> Step:
    """Draw normal numbers of mean 0 and variance 1. Dtypes: floating."""
    require_floating("out", out)
    out.resize(size)
    return ArrayCall(_draw_normal, scratch.generator, computation_dtype(out.dtype), out.array)


def _draw_normal(random: np.random.Generator, dtype: DType, out: Array) -> None:
    np.copyto(out, random.standard_normal(out.shape, dtype), casting="unsafe")


@kernel("aten::native_dropout.out")
def native_dropout(
    x: Tensor, p: float, train: bool | None, out: Tensor, mask: Tensor, *, scratch: Scratch
) -> Step:
    """Set each element to zero with probability p, and scale the others by 1 / (1 - p).

    Shapes: x, out and mask (*S). Dtypes: x and out floating, equal; mask bool, true where
    an element is kept. Without `train`, which None stands for too, all are kept as they are.
    """
    require_floating("input", x)
    require_same_dtype(input=x, out=out)
    require_dtype("mask", mask, {ScalarType.BOOL})
    require(0 <= p <= 1, "p must be from 0 to 1, not {}", p)
    out.resize(x.shape)
    mask.resize(x.shape)
    if train is False:
        return in_sequence(copy_step(out.array, x.array), ArrayCall(np.ndarray.fill, mask.array, True))
    dtype = computation_dtype(x.dtype)
    scale = constant(1 / (1 - p) if p < 1 else 0.0, dtype)
    return in_sequence(
        ArrayCall(_draw_kept, scratch.generator, p, mask.array),
        ufunc_step(np.multiply, (x.array, mask.array), out.array, dtype),
        ufunc_step(np.multiply, (out.array, scale), out.array, dtype),
    )


def _draw_kept(random: np.random.Generator, p: float, kept: Array) -> None:
    np.copyto(kept, random.random(kept.shape, np.float32) >= p)


KERNELS = KernelTable.of_module(globals())
