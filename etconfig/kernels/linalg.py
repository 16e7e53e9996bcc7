"""Products of matrices."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from etconfig.kernel.checks import broadcast_shape, require, require_rank, require_same_dtype
from etconfig.kernel.memory import Array, Scratch, Shape
from etconfig.kernel.registry import KernelTable, Scalar, Step, kernel
from etconfig.kernel.step_makers import (
    computation_dtype,
    constant,
    copy_step,
    in_dtype,
    in_sequence,
    packed,
    reshaped_copy_step,
)
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor

MAX_FEW_ROWS = 32
"""Up to this many rows, a product with a transposed matrix is computed as (b.T @ a.T).T."""

TURNED_BYTES = 256 << 10
"""The size of each part of such a product: copying it into order is much slower once it left the cache."""

MAX_SPLIT_ROWS = 16
"""Up to this many rows, a product is computed in parts that OpenBLAS treats as small."""

SMALL_PRODUCT = 1_000_000
"""The most multiplications for which OpenBLAS does not rearrange its operands first: for few rows, that takes
as long as the product itself. Source: kernel/x86_64/sgemm_small_kernel_permit_skylakex.c."""

MAX_SPREAD = 1024
"""Up to this many elements, a constant bias is repeated when it is bound."""


@kernel("aten::mm.out", takes_any_strides=True)
def mm(self: Tensor, mat2: Tensor, out: Tensor, *, scratch: Scratch) -> Step:
    """Compute self @ mat2. Shapes: self (M, K), mat2 (K, N), out (M, N). Dtypes: equal."""
    _prepare(self, mat2, out, rank=2)
    passes = partial(_product_step, scratch)
    return in_dtype(computation_dtype(out.dtype), (self.array, mat2.array), out.array, passes, scratch)


@kernel("aten::bmm.out", takes_any_strides=True)
def bmm(self: Tensor, mat2: Tensor, out: Tensor, *, scratch: Scratch) -> Step:
    """Compute self @ mat2. Shapes: self (B, M, K), mat2 (B, K, N), out (B, M, N). Dtypes: equal."""
    require_rank("self", self, 3)
    require_rank("mat2", mat2, 3)
    if self.shape[0] != mat2.shape[0]:
        raise ValueError(f"batches of {self.shape} and {mat2.shape} differ")
    _prepare(self, mat2, out, rank=3)
    passes = partial(matmul_step, scratch)
    return in_dtype(computation_dtype(out.dtype), (self.array, mat2.array), out.array, passes, scratch)


@kernel("aten::addmm.out", takes_any_strides=True)
def addmm(
    self: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    beta: Scalar,
    alpha: Scalar,
    out: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Compute beta * self + alpha * (mat1 @ mat2).

    Shapes: mat1 (M, K), mat2 (K, N), out (M, N), self broadcasts to it. Dtypes: equal.
    """
    require_same_dtype(self=self, out=out)
    _prepare(mat1, mat2, out, rank=2)
    if broadcast_shape(self.shape, out.shape) != out.shape:
        raise ValueError(f"{self.shape} does not broadcast to {out.shape}")
    dtype = computation_dtype(out.dtype)

    def passes(addend: Array, mat1: Array, mat2: Array, out: Array) -> Step:
        steps = [_product_step(scratch, mat1, mat2, out)]
        if alpha != 1:
            steps.append(ArrayCall(np.multiply, out, constant(alpha, dtype), out))
        if beta == 1:
            steps.append(ArrayCall(np.add, out, _spread(addend, out), out))
        elif beta != 0:  # with beta 0, PyTorch ignores self, even if it contains NaN
            scaled = np.empty(addend.shape, dtype)
            steps.append(ArrayCall(np.multiply, addend, constant(beta, dtype), scaled))
            steps.append(ArrayCall(np.add, out, scaled, out))
        return in_sequence(*steps)

    return in_dtype(dtype, (self.array, mat1.array, mat2.array), out.array, passes, scratch)


@kernel("aten::addmv.out")
def addmv(self: Tensor, mat: Tensor, vec: Tensor, beta: Scalar, alpha: Scalar, out: Tensor) -> Step:
    """Compute beta * self + alpha * (mat @ vec).

    Shapes: mat (M, K), vec (K,), out (M,), self broadcasts to it. Dtypes: equal.
    """
    require_rank("mat", mat, 2)
    require_rank("vec", vec, 1)
    require(mat.shape[1] == vec.shape[0], "{} cannot be multiplied by {}", mat.shape, vec.shape)
    return _added("ij,j->i", mat.shape[:1], (self, mat, vec), beta, alpha, out)


@kernel("aten::addbmm.out")
def addbmm(self: Tensor, batch1: Tensor, batch2: Tensor, beta: Scalar, alpha: Scalar, out: Tensor) -> Step:
    """Compute beta * self + alpha * the sum of batch1[i] @ batch2[i] over all i.

    Shapes: batch1 (B, M, K), batch2 (B, K, N), out (M, N), self broadcasts to it. Dtypes: equal.
    """
    require_rank("batch1", batch1, 3)
    require_rank("batch2", batch2, 3)
    fits = batch1.shape[0] == batch2.shape[0] and batch1.shape[2] == batch2.shape[1]
    require(fits, "{} cannot be multiplied by {}", batch1.shape, batch2.shape)
    shape = (batch1.shape[1], batch2.shape[2])
    return _added("bij,bjk->ik", shape, (self, batch1, batch2), beta, alpha, out)


def _added(
    products: str,
    shape: Shape,
    tensors: tuple[Tensor, Tensor, Tensor],
    beta: Scalar,
    alpha: Scalar,
    out: Tensor,
) -> Step:
    """Return the step of beta * self + alpha * products, which are written as for `einsum`."""
    addend, first, second = tensors
    require_same_dtype(self=addend, mat1=first, mat2=second, out=out)
    require(broadcast_shape(addend.shape, shape) == shape, "{} does not broadcast to {}", addend.shape, shape)
    out.resize(shape)

    def run(addend: Array, first: Array, second: Array, out: Array) -> None:
        total = np.einsum(products, first, second, optimize=True) * constant(alpha, first.dtype)
        # with beta 0, PyTorch ignores self, even if it contains NaN
        np.copyto(out, total + addend * constant(beta, addend.dtype) if beta != 0 else total)

    arrays = [each.array for each in tensors]
    return in_dtype(computation_dtype(out.dtype), arrays, out.array, partial(ArrayCall, run))


def _spread(addend: Array, out: Array) -> Array:
    """Return a constant in the shape of a small `out`: broadcasting it in each run takes twice as long."""
    if addend.flags.writeable or out.size > MAX_SPREAD:
        return addend
    repeated: Array = np.broadcast_to(addend, out.shape).copy()
    return repeated


@kernel("aten::linear.out")
def linear(x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, *, scratch: Scratch) -> Step:
    """Compute x @ weight.T + bias.

    Shapes: x (*B, K), weight (N, K), bias (N,), out (*B, N). Dtypes: equal.
    """
    require_same_dtype(input=x, weight=weight, bias=bias, out=out)
    require_rank("weight", weight, 2)
    if x.shape[-1:] != weight.shape[1:]:
        raise ValueError(f"rows of {x.shape} and {weight.shape} differ in length")
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ValueError(f"bias must have shape {weight.shape[:1]}")
    out.resize((*x.shape[:-1], weight.shape[0]))

    def passes(x: Array, weight: Array, *rest: Array) -> Step:
        *biases, out = rest
        rows, packing = packed(x, (math.prod(x.shape[:-1]), x.shape[-1]), scratch)
        target = out.reshape(len(rows), len(weight))  # a copy if `out` is channels-last
        steps = [*packing, _product_step(scratch, rows, weight.T, target)]
        steps += [ArrayCall(np.add, target, each, target) for each in biases]
        if not np.may_share_memory(target, out):
            steps.append(reshaped_copy_step(out, target))
        return in_sequence(*steps)

    inputs = [each.array for each in (x, weight, bias) if each is not None]
    return in_dtype(computation_dtype(out.dtype), inputs, out.array, passes, scratch)


def matmul_step(scratch: Scratch, a: Array, b: Array, out: Array) -> Step:
    """Return the step of out = a @ b; BLAS takes transposed operands as they are, others are packed first."""
    (left, left_packing), (right, right_packing) = (_for_blas(scratch, each) for each in (a, b))
    return in_sequence(*left_packing, *right_packing, ArrayCall(np.matmul, left, right, out))


def _product_step(scratch: Scratch, a: Array, b: Array, out: Array) -> Step:
    """Return the step of out = a @ b, for two matrices.

    For few rows and a transposed `b`, OpenBLAS takes up to twice as long as for b.T @ a.T; else up to twice
    as long as for parts of `b`.
    """
    if 1 < len(a) <= MAX_SPLIT_ROWS and _is_row_major(b):
        return _split_product(scratch, a, b, out)
    if 1 < len(a) <= MAX_FEW_ROWS and _is_row_major(b.T):
        return _turned_product(scratch, a, b, out)
    return matmul_step(scratch, a, b, out)


def _turned_product(scratch: Scratch, a: Array, b: Array, out: Array) -> Step:
    """Yield the steps of out = (b.T @ a.T).T, in parts that stay in the cache until they are copied."""
    width = max(1, TURNED_BYTES // (len(a) * out.itemsize))
    turned = scratch.array((min(width, b.shape[1]), len(a)), out.dtype)
    left, packing = _for_blas(scratch, a)
    steps: list[Step] = []
    for first in range(0, b.shape[1], width):
        part = out[:, first : first + width]
        product = turned[: part.shape[1]]
        steps.append(matmul_step(scratch, b[:, first : first + width].T, left.T, product))
        steps.append(copy_step(part, product.T))
    return in_sequence(*packing, *steps)


def _split_product(scratch: Scratch, a: Array, b: Array, out: Array) -> Step:
    """Yield the steps of out = a @ b for as few groups of columns of `b` as give small products."""
    count = max(1, -(-len(a) * b.size // SMALL_PRODUCT))
    width = max(1, -(-b.shape[1] // count))
    left, packing = _for_blas(scratch, a)
    parts = (slice(first, first + width) for first in range(0, b.shape[1], width))
    return in_sequence(*packing, *(matmul_step(scratch, left, b[:, part], out[:, part]) for part in parts))


def _for_blas(scratch: Scratch, x: Array) -> tuple[Array, list[Step]]:
    """Return the matrices, or a dense copy of them, and the steps that keep it up to date."""
    if _is_row_major(x) or _is_row_major(x.swapaxes(-2, -1)):
        return x, []
    if not x.flags.writeable:
        return scratch.kept(x, "dense", x.copy), []
    dense = x.copy()
    return dense, [copy_step(dense, x)]


def _is_row_major(x: Array) -> bool:
    """Return whether the rows of the matrices are contiguous and do not overlap."""
    down, across = x.strides[-2:]
    return across == x.itemsize and down >= x.shape[-1] * x.itemsize


def _prepare(a: Tensor, b: Tensor, out: Tensor, rank: int) -> None:
    require_same_dtype(self=a, mat2=b, out=out)
    require_rank("self", a, rank)
    require_rank("mat2", b, rank)
    left, right = a.shape, b.shape
    if left[-1] != right[-2]:
        raise ValueError(f"{left} and {right} cannot be multiplied")
    out.resize((*left[:-1], right[-1]))


KERNELS = KernelTable.of_module(globals())
