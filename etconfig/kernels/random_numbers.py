"""Random tensors and dropout.

The numbers come from the Method's own generator, which starts at the same seed in every Method: runs
can be repeated, and Methods do not disturb each other. They are not PyTorch's numbers; only shape,
dtype and distribution are the same.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from etconfig.kernel.checks import require, require_dtype, require_floating, require_same_dtype
from etconfig.kernel.memory import Scratch
from etconfig.kernel.registry import Ints, KernelTable, Step, kernel
from etconfig.kernel.step_makers import computation_dtype, constant, copy_step, in_sequence, ufunc_step
from etconfig.kernel.tensor import Tensor
from etconfig.scalar_types import ScalarType


@kernel("aten::rand.out")
def rand(size: Ints, out: Tensor, *, scratch: Scratch) -> Step:
    """Uniform numbers in [0, 1). Dtypes: floating."""
    require_floating("out", out)
    out.resize(size)
    # Fewer bits than float32 has would round up to 1.
    bits = np.finfo(np.float16).nmant if out.dtype == np.float16 else 7
    random, target = scratch.generator, out.array
    if out.dtype.itemsize < 4:
        return lambda: np.copyto(
            target, random.integers(0, 1 << bits, target.shape) / (1 << bits), casting="unsafe"
        )
    return lambda: np.copyto(target, random.random(target.shape, out.dtype))


@kernel("aten::randn.out")
def randn(size: Ints, out: Tensor, *, scratch: Scratch) -> Step:
    """Normal numbers of mean 0 and variance 1. Dtypes: floating."""
    require_floating("out", out)
    out.resize(size)
    random, target, dtype = scratch.generator, out.array, computation_dtype(out.dtype)
    return lambda: np.copyto(target, random.standard_normal(target.shape, dtype), casting="unsafe")


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
        return in_sequence(copy_step(out.array, x.array), partial(mask.array.fill, True))
    dtype = computation_dtype(x.dtype)
    scale = constant(1 / (1 - p) if p < 1 else 0.0, dtype)
    random, kept = scratch.generator, mask.array
    return in_sequence(
        lambda: np.copyto(kept, random.random(kept.shape, np.float32) >= p),
        ufunc_step(np.multiply, (x.array, kept), out.array, dtype),
        ufunc_step(np.multiply, (out.array, scale), out.array, dtype),
    )


KERNELS = KernelTable.of_module(globals())
