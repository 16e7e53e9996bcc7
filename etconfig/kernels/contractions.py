"""Products of three tensors, inverses and factors of matrices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from etconfig.base.scalar_types import MAX_RANK, ScalarType
from etconfig.kernel.checks import require, require_dtype, require_same_dtype
from etconfig.kernel.memory import Array, Shape
from etconfig.kernel.registry import Ints, KernelTable, Step, kernel
from etconfig.kernel.step_makers import computation_dtype, in_dtype
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor

FACTORED = frozenset({ScalarType.FLOAT, ScalarType.DOUBLE})


@kernel("aten::_trilinear.out")
def trilinear(
    i1: Tensor,
    i2: Tensor,
    i3: Tensor,
    expand1: Ints,
    expand2: Ints,
    expand3: Ints,
    sumdim: Ints,
    unroll_dim: int,
    out: Tensor,
) -> Step:
    """Multiply three tensors and sum over dimensions, as in a bilinear layer.

    A tensor gets a dimension of size 1 at each place of its `expand`; then all three broadcast. The
    dimensions of `sumdim` are summed and removed. Dtypes: equal.
    """
    require_same_dtype(i1=i1, i2=i2, i3=i3, out=out)
    rank = i1.array.ndim + len({*expand1})
    require(rank <= MAX_RANK, "the products have rank {}, allowed is {}", rank, MAX_RANK)
    pairs = ((i1, expand1), (i2, expand2), (i3, expand3))
    views = [_expanded(tensor.array, expand, rank) for tensor, expand in pairs]
    for each in (*sumdim, unroll_dim):
        require(0 <= each < rank, "dimension {} is out of range for rank {}", each, rank)
    try:
        shape = np.broadcast_shapes(*(each.shape for each in views))
    except ValueError:
        shapes = " and ".join(str(each.shape) for each in views)
        raise ValueError(f"shapes {shapes} do not broadcast") from None
    kept = [axis for axis in range(rank) if axis not in sumdim]
    out.resize(tuple(shape[axis] for axis in kept))

    def run(first: Array, second: Array, third: Array, out: Array) -> None:
        labels = list(range(rank))
        arrays = [np.broadcast_to(each, shape) for each in (first, second, third)]
        np.copyto(out, np.einsum(arrays[0], labels, arrays[1], labels, arrays[2], labels, kept))

    return in_dtype(computation_dtype(out.dtype), views, out.array, lambda *arrays: ArrayCall(run, *arrays))


def _expanded(array: Array, expand: Ints, rank: int) -> Array:
    places = {*expand}
    require(array.ndim + len(places) == rank, "{} with {} added has not rank {}", array.shape, expand, rank)
    require(
        all(0 <= each < rank for each in places), "dimensions {} are out of range for rank {}", expand, rank
    )
    return np.expand_dims(array, tuple(sorted(places)))


# --- matrices ------------------------------------------------------------------------------


@kernel("aten::linalg_inv_ex.inverse")
def linalg_inv_ex(self: Tensor, check_errors: bool, inverse: Tensor, info: Tensor) -> Step:
    """Invert matrices; `info` is the number of the first pivot that is 0, or 0, and the inverse NaN then.

    Shapes: self and inverse (*B, n, n), info (*B). Dtypes: self and inverse float32 or float64, info int32.
    """
    return _factor_step(np.linalg.inv, _zero_pivot, self, check_errors, inverse, info)


@kernel("aten::linalg_cholesky_ex.L")
def linalg_cholesky_ex(self: Tensor, upper: bool, check_errors: bool, factor: Tensor, info: Tensor) -> Step:
    """Compute the Cholesky factor of matrices, of which only the lower half, or the upper one, is read.

    `info` is the order of the first leading minor that is not positive, or 0; the factor is NaN then.
    Shapes: self and factor (*B, n, n), info (*B). Dtypes: self and factor float32 or float64, info int32.
    """

    def factored(matrix: Array) -> Array:
        lower: Array = np.linalg.cholesky(matrix.T if upper else matrix)
        return lower.T if upper else lower

    def failed_order(matrix: Array) -> int:
        return next(n for n in range(1, len(matrix) + 1) if _fails(factored, matrix[:n, :n]))

    return _factor_step(factored, failed_order, self, check_errors, factor, info)


def _factor_step(
    factor: Callable[[Array], Array],
    number_of: Callable[[Array], int],
    self: Tensor,
    check_errors: bool,
    result: Tensor,
    info: Tensor,
) -> Step:
    require_dtype("self", self, FACTORED)
    require_same_dtype(self=self, result=result)
    require_dtype("info", info, {ScalarType.INT})
    shape: Shape = self.shape
    require(len(shape) >= 2 and shape[-1] == shape[-2], "{} has no square matrices", shape)
    result.resize(shape)
    info.resize(shape[:-2])

    def run(x: Array, result: Array, info: Array) -> None:
        for place in np.ndindex(x.shape[:-2]):
            info[place] = 0
            try:
                result[place] = factor(x[place])
            except np.linalg.LinAlgError:
                info[place] = number_of(x[place])
                result[place] = np.nan
                require(not check_errors, "matrix {} cannot be factored", place)

    return ArrayCall(run, self.array, result.array, info.array)


def _fails(factor: Callable[[Array], Array], matrix: Array) -> bool:
    try:
        factor(matrix)
    except np.linalg.LinAlgError:
        return True
    return False


def _zero_pivot(matrix: Array) -> int:
    """Return the number, from 1, of the first pivot of Gaussian elimination that is 0."""
    rows = matrix.astype(np.float64)
    for step in range(len(rows)):
        best = step + int(np.abs(rows[step:, step]).argmax())  # type: ignore[call-overload]  # numpy 2.5
        if rows[best, step] == 0:
            return step + 1
        rows[[step, best]] = rows[[best, step]]
        rows[step + 1 :] -= np.outer(rows[step + 1 :, step] / rows[step, step], rows[step])
    return len(rows)


KERNELS = KernelTable.of_module(globals())
