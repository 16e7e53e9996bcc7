"""The plugin API for kernels, version 1; apart from `etconfig.plugin.v1`, so that that does not import numpy.

The docstring of `etconfig.kernel.registry` explains how to write a kernel. Only plugins import this module;
etconfig itself does not.
"""

from etconfig.kernel.checks import (
    broadcast_shape,
    dimension,
    dimensions,
    promote,
    require,
    require_dtype,
    require_floating,
    require_rank,
    require_same_dtype,
)
from etconfig.kernel.memory import Array, Scratch, Shape
from etconfig.kernel.registry import (
    Bools,
    Floats,
    Ints,
    Kernel,
    KernelTable,
    OptionalTensors,
    Scalar,
    Step,
    TensorAlias,
    Tensors,
    Unread,
    kernel,
)
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Register, Tensor

__all__ = [
    "Array",
    "ArrayCall",
    "Bools",
    "Floats",
    "Ints",
    "Kernel",
    "KernelTable",
    "OptionalTensors",
    "Register",
    "Scalar",
    "Scratch",
    "Shape",
    "Step",
    "Tensor",
    "TensorAlias",
    "Tensors",
    "Unread",
    "broadcast_shape",
    "dimension",
    "dimensions",
    "kernel",
    "promote",
    "require",
    "require_dtype",
    "require_floating",
    "require_rank",
    "require_same_dtype",
]
