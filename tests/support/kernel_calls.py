"""Single calls of kernels, and tensors for them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.memory import Scratch, allocate_zeroed
from etconfig.kernel.tensor import DTYPES, Tensor
from etconfig.kernels import builtin_kernels
from etconfig.numpy_executor.compiled_plan import Block, CompiledPlan
from etconfig.program.model import TensorShapeDynamism

KERNELS = builtin_kernels()


def tensor(
    *sizes: int, dtype: ScalarType = ScalarType.FLOAT, values: object = None, is_dynamic: bool = False
) -> Tensor:
    """Return a tensor in row-major order, with zeros or `values`."""
    dynamism = TensorShapeDynamism.DYNAMIC_BOUND if is_dynamic else TensorShapeDynamism.STATIC
    memory = allocate_zeroed(math.prod(sizes) * dtype.itemsize_bytes)
    made = Tensor(dtype, sizes, tuple(range(len(sizes))), memory, 0, dynamism)
    if values is not None:
        made.array[...] = values
    return made


def tensor_of(array: np.ndarray) -> Tensor:
    """Return a tensor that is a view of `array`, with its values and strides."""
    scalar_type = next(each for each, dtype in DTYPES.items() if dtype == array.dtype)
    made = Tensor(scalar_type, array.shape, tuple(range(array.ndim)), None)
    made.set_array(array)
    return made


def run(operator: str, *arguments: Any) -> None:
    """Bind and run a kernel, as a plan with one instruction does."""
    step = KERNELS[operator].bind(operator, Scratch(), arguments)
    with np.errstate(all="ignore"):
        CompiledPlan("forward", [[Block((step,), (operator,), 1, 1)]], 1).run()
