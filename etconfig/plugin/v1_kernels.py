"""What the author of kernels may import beside `etconfig.plugin.v1`, which loads no numpy: version 1.

How a kernel is written stands in `etconfig.kernel.registry`. This module is the one door from plugins to
the executor; nothing of etconfig's own imports it.
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
