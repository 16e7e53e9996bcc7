"""Products, extremes and logarithms of sums of all prefixes along a dimension. Shapes: out as self."""

from __future__ import annotations

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import dimension, require_dtype, require_floating, require_same_dtype
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import Kernel, KernelTable, Step, kernel
from etconfig.kernel.step_makers import computation_dtype, copy_step, in_dtype, in_sequence, is_empty
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.kernels.ordering import is_nan


@kernel("aten::cumprod.out")
def cumprod(self: Tensor, dim: int, dtype: int | None, out: Tensor) -> Step:
    """Compute the products of all prefixes in out's dtype, which is int64 for integers unless given."""
    return _accumulated(np.multiply, self, dim, out)


@kernel("aten::logcumsumexp.out", "aten::_logcumsumexp.out")
def logcumsumexp(self: Tensor, dim: int, out: Tensor) -> Step:
    """Compute the logarithms of the sums of exponentials of all prefixes. Dtypes: floating, equal."""
    require_floating("self", self)
    require_same_dtype(self=self, out=out)
    return _accumulated(np.logaddexp, self, dim, out)


def _accumulated(ufunc: np.ufunc, self: Tensor, dim: int, out: Tensor) -> Step:
    out.resize(self.shape)
    axis = dimension(dim, self.array.ndim)

    def passes(x: Array, out: Array) -> Step:
        return ArrayCall(ufunc.accumulate, x, axis, None, out) if x.ndim else copy_step(out, x)

    return in_dtype(computation_dtype(out.dtype), (self.array,), out.array, passes)


def _extremes(name: str, ufunc: np.ufunc) -> Kernel:
    """Return the kernel that finds the extreme of each prefix, and its last index; NaN wins."""

    def bind(self: Tensor, dim: int, values: Tensor, indices: Tensor) -> Step:
        require_same_dtype(self=self, values=values)
        require_dtype("indices", indices, {ScalarType.LONG})
        values.resize(self.shape)
        indices.resize(self.shape)
        axis = dimension(dim, self.array.ndim)
        if is_empty(self):
            return in_sequence()

        def run(x: Array, values: Array, indices: Array) -> None:
            wide = x.astype(computation_dtype(x.dtype), copy=False)
            found = ufunc.accumulate(wide, axis)
            places = np.arange(x.shape[axis]).reshape(-1, *(1 for _ in x.shape[axis + 1 :]))
            places = np.where((wide == found) | is_nan(wide), places, 0)
            np.copyto(indices, np.maximum.accumulate(places, axis))
            np.copyto(values, found, casting="unsafe")

        return ArrayCall(run, *map(np.atleast_1d, (self.array, values.array, indices.array)))

    return Kernel((name,), bind)


EXTREMES = (
    _extremes("aten::cummax.out", np.maximum),
    _extremes("aten::cummin.out", np.minimum),
)

KERNELS = KernelTable.of_module(globals())
